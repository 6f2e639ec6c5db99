"""Workers of scale.py, each in a process of its own: make the corpus, and fastText called as datatrove calls it.

python -m systems.corpus make DATA OUT BYTES | lines OUT SHARD... | labelled_lines DATA PART OUT | datatrove MODEL OUT SHARD...
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

SHARD = 64 * 1024 * 1024  # bytes of text a shard
GROUP = 5000  # rows a row group


def make(data: str, out: str, size: str) -> None:
    """IMDB's 50,000 reviews again and again, each time in another order, in Parquet shards (snappy)."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    reviews = pa.concat_tables([pq.read_table(Path(data, "imdb", f"{part}.parquet")) for part in ("train", "test")])
    texts = reviews.column("text").combine_chunks()
    lengths = np.array([len(text.as_py().encode()) for text in texts])
    rng, at, shard, left = np.random.default_rng(0), 0, 0, int(float(size))
    Path(out).mkdir(parents=True, exist_ok=True)
    order = rng.permutation(len(texts))
    while left > 0:
        ends = np.cumsum(lengths[order[at:]])
        n = int(np.searchsorted(ends, min(SHARD, left))) + 1
        rows = order[at : at + n]
        while len(rows) < n:
            rows = np.append(rows, rng.integers(len(texts)))
        columns = {
            "id": pa.array(np.arange(len(rows)) + 1_000_000 * shard), "source": pa.array([f"s{k % 97}" for k in rows.tolist()]),
            "text": texts.take(pa.array(rows)),
        }  # fmt: skip
        pq.write_table(
            pa.table(columns), Path(out, f"part-{shard:04d}.parquet"), row_group_size=GROUP, compression="snappy"
        )
        left -= int(lengths[rows].sum())
        at += n
        if at >= len(order) - 1:
            at, order = 0, rng.permutation(len(texts))
        shard += 1
    print(json.dumps({"shards": shard}))


def lines(out: str, *shards: str) -> None:
    """Texts of some shards as fastText's program reads them: one a line."""
    import pyarrow.parquet as pq

    size = rows = 0
    with Path(out).open("w", encoding="utf-8") as file:
        for shard in shards:
            for text in pq.read_table(shard, columns=["text"]).column("text").to_pylist():
                size += len(text.encode())
                rows += 1
                file.write(" ".join(text.split()) + "\n")
    print(json.dumps({"bytes": size, "rows": rows}))


def labelled_lines(data: str, part: str, out: str) -> None:
    """IMDB's training or test set in fastText's form, shuffled."""
    import random

    import pyarrow.parquet as pq

    table = pq.read_table(Path(data, "imdb", f"{part}.parquet"))
    rows = list(zip(table.column("label").to_pylist(), table.column("text").to_pylist(), strict=True))
    random.Random(0).shuffle(rows)
    with Path(out).open("w", encoding="utf-8") as file:
        file.writelines(f"__label__{label} {' '.join(text.split())}\n" for label, text in rows)


def datatrove(model: str, out: str, *shards: str) -> None:
    """One predict a document, kept rows to Parquet: what datatrove's FastTextClassifierFilter does to Parquet."""
    import fasttext
    import pyarrow as pa
    import pyarrow.parquet as pq

    loaded = fasttext.load_model(model)
    kept = 0
    Path(out).mkdir(parents=True, exist_ok=True)
    for shard in shards:
        writer = None
        for batch in pq.ParquetFile(shard).iter_batches(1000):
            keep, scores = [], []
            for k, row in enumerate(batch.to_pylist()):
                labels, probabilities = loaded.predict([row["text"].replace("\n", " ")], k=-1)  # a list: numpy 2
                score = dict(zip(labels[0], probabilities[0].tolist(), strict=True)).get("__label__pos", 0.0)
                if score >= 0.99:
                    keep.append(k)
                    scores.append(score)
            part = (
                pa.Table.from_batches([batch])
                .take(pa.array(keep, pa.int64()))
                .append_column("score", pa.array(scores, pa.float64()))
            )
            writer = writer or pq.ParquetWriter(Path(out, Path(shard).name), part.schema)
            writer.write_table(part)
            kept += len(keep)
        if writer is not None:
            writer.close()
    print(json.dumps({"kept": kept}))


VERBS = {"make": make, "lines": lines, "labelled_lines": labelled_lines, "datatrove": datatrove}

if __name__ == "__main__":
    VERBS[sys.argv[1]](*sys.argv[2:])
