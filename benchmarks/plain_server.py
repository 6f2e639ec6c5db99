"""The server that one would write first: FastAPI, pydantic, and scikit-learn's pipeline. The peer of benchmarks/serving.py.

python plain_server.py MODEL.joblib PORT
"""

from __future__ import annotations

import sys

import joblib
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

pipeline = joblib.load(sys.argv[1])
classes = pipeline.classes_.tolist()
app = FastAPI()


class One(BaseModel):
    text: str


class Many(BaseModel):
    texts: list[str]


class Result(BaseModel):
    label: str
    probability: float


class Results(BaseModel):
    results: list[Result]


def label(texts: list[str]) -> list[Result]:
    proba = pipeline.predict_proba(texts)
    best = proba.argmax(axis=1)
    return [Result(label=classes[k], probability=float(p[k])) for k, p in zip(best, proba, strict=True)]


@app.post("/one")
async def one(asked: One) -> Result:  # async: a thread a request, FastAPI's other way, is slower here
    return label([asked.text])[0]


@app.post("/many")
async def many(asked: Many) -> Results:
    return Results(results=label(asked.texts))


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), access_log=False, log_level="warning")
