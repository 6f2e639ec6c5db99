"""Which texts are out of scope? CLINC150: 150 intents, and questions that belong to none.

    python benchmarks/out_of_scope.py [--data DIR] [--json OUT]

Trained on the in-scope training rows; settings are chosen on the in-scope dev rows (of scikit-learn: C). AUROC of telling
the in-scope test rows from the out-of-scope test rows, and the accuracy on the former. linnet's score was designed on the dev rows
and the out-of-scope rows of train and dev.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from linnet import TextClassifier


def rows_of(folder: Path, name: str) -> tuple[list[str], list[str]]:
    """Return the texts and labels of a part."""
    table = pyarrow.csv.read_csv(folder / "clinc150" / f"{name}.csv")
    return table["text"].to_pylist(), [str(y) for y in table["label"].to_pylist()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "data"))
    parser.add_argument("--C", default="1,10,100", help="values of C that scikit-learn's model is tried with")
    parser.add_argument("--json")
    options = parser.parse_args()
    train, dev, test, out = (rows_of(Path(options.data), name) for name in ("train", "dev", "test", "oos_test"))
    inside = np.repeat([1, 0], [len(test[0]), len(out[0])])
    asked = test[0] + out[0]
    result: dict[str, Any] = {}

    def add(name: str, score: Any, accuracy: float) -> None:
        result[name] = {"auroc": float(roc_auc_score(inside, score)), "accuracy": accuracy}
        print(f"{name:45} AUROC {result[name]['auroc']:.4f}  in-scope accuracy {accuracy:.4f}", flush=True)

    clf = TextClassifier(refit=False).fit(*train, dev=dev)
    accuracy = clf.score(*test)
    add("linnet out_of_scope", -clf.out_of_scope(asked), accuracy)
    add("linnet maximum probability", clf.predict_proba(asked).max(axis=1), accuracy)
    add("linnet share of known features", clf.artefact.known_share(asked), accuracy)
    tried = []
    for C in map(float, options.C.split(",")):
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        tried.append((C, make_pipeline(words, LogisticRegression(C=C, max_iter=300)).fit(*train)))
    C, best = max(tried, key=lambda one: one[1].score(*dev))
    add(f"scikit-learn maximum probability, C={C:g}", best.predict_proba(asked).max(axis=1), best.score(*test))
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
