"""Small corpora and a model for the tests of `linnet filter`."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

GOOD, BAD, ODD, PLAIN = (
    ["good", "fine", "great", "lovely", "brilliant", "moving"], ["bad", "dull", "awful", "poor", "boring", "weak"],
    ["purple", "seven", "lamp", "fish"], ["the", "film", "a", "of", "and", "story", "plot", "was", "with", "it", "scene", "cast", "one"],
)  # fmt: skip


def make_model(path: Path, classes: int = 2) -> Path:
    from linnet import TextClassifier

    rng = random.Random(3)
    kinds = [("neg", BAD), ("pos", GOOD), ("odd", ODD)][:classes]
    texts, labels = [], []
    for k in range(300):
        label, words = kinds[k % classes]
        texts.append(text_of(rng, words))
        labels.append(label)
    TextClassifier("logistic", features="words:1", params={"C": 1.0}).fit(texts, labels).save(path)
    return path


def text_of(rng: random.Random, words: list[str]) -> str:
    own = [rng.choice(words) for _ in range(rng.randint(1, 3))]
    rest = [rng.choice(PLAIN) for _ in range(rng.randint(2, 25))]
    rest += [rng.choice(GOOD + BAD + ODD) for _ in range(rng.randint(0, 3))]
    every = own + rest
    rng.shuffle(every)
    return " ".join(every)


def rows_of(seed: int, rows: int, first: int = 0) -> list[dict]:
    rng = random.Random(seed)
    found = []
    for k in range(rows):
        text = text_of(rng, rng.choice([GOOD, BAD, BAD, ODD, PLAIN]))
        empty = rng.random()
        found.append({
            "id": first + k, "source": f"s{rng.randint(0, 4)}", "text": None if empty < 0.01 else " \n" if empty < 0.02 else text,
            "nested": {"a": k, "b": [k, None]},
        })  # fmt: skip
    return found


def make_parquet(folder: Path, shards: int, rows: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(shards):
        table = pa.Table.from_pylist(rows_of(k, rows, 10_000 * k)).replace_schema_metadata({"made": "by the test"})
        pq.write_table(table, folder / f"part-{k:03d}.parquet", row_group_size=64, compression="snappy")
    return folder


def make_jsonl(path: Path, rows: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_of(9, rows)))
    return path


def texts_and_ids(folder: Path) -> list[tuple[int, str]]:
    found = []
    for path in sorted(Path(folder).rglob("*.parquet")):
        table = pq.read_table(path, columns=["id", "text"])
        found += list(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True))
    return found


def folder_bytes(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob("*")) if p.is_file()}
