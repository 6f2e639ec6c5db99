"""A local mirror: a folder a data set, with files train, dev, test or all; LINNET_DATA points to it.

    LINNET_DATA/ag_news/train.csv, test.csv
    LINNET_DATA/trec/train.csv, test.csv
    LINNET_DATA/rt_polarity/all.csv

Any format that linnet reads will do. A file such as ``train_subset.csv`` is taken for train, and a note says that it is not
all of it. Where the folder has a file SHA256SUMS (as sha256sum writes it), files are checked against it.
"""

from __future__ import annotations

import os
from pathlib import Path

from linnet.datasets.catalogue import DatasetFiles
from linnet.errors import DataError
from linnet.files import digest, split_ending

__all__ = ["PARTS", "find", "part_of"]

PARTS = {"train": "train", "dev": "dev", "validation": "dev", "valid": "dev", "test": "test", "all": "train"}
ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".arrow")


def part_of(name: str) -> tuple[str, bool] | None:
    """Return the part that a file holds, and whether it is all of it; None for other files.

    >>> part_of("train.csv"), part_of("train_subset.csv.gz"), part_of("validation.parquet"), part_of("oos_train.csv")
    (('train', True), ('train', False), ('dev', True), None)
    """
    ending, _ = split_ending(name)
    if ending not in ENDINGS:
        return None
    first, _, rest = name.lower().partition(ending)[0].partition("_")
    return (PARTS[first], rest == "") if first in PARTS and rest in ("", "subset", "sample") else None


def find(folder: str) -> DatasetFiles | None:
    """Return the files of a data set under LINNET_DATA; None without the variable or the folder."""
    root = os.environ.get("LINNET_DATA")
    if not root:
        return None
    place = Path(root) / folder
    if not place.is_dir():
        return None
    files: dict[str, Path] = {}
    notes = []
    for path in sorted(place.iterdir()):
        part = part_of(path.name)
        if part is None:
            continue
        if part[0] in files:
            raise DataError(f"{place} has two files for {part[0]}: {files[part[0]].name} and {path.name}; keep one")
        files[part[0]] = path
        if not part[1]:
            notes.append(f"{path.name} is a part of {part[0]} only: never report it as the full data set")
    if not files:
        raise DataError(f"{place} holds no file train, dev, test or all ({', '.join(ENDINGS)})")
    _check(place, files)
    if folder.endswith("_subset"):
        notes.append(f"{folder} is a part of the data set only: never report it as the full one")
    said = sorted(p for p in place.iterdir() if p.stem.upper() in ("LICENSE", "LICENCE"))
    return DatasetFiles(files, f"see {said[0]}" if said else None, tuple(notes))


def _check(place: Path, files: dict[str, Path]) -> None:
    sums = place / "SHA256SUMS"
    if not sums.is_file():
        return
    lines = (line.split(maxsplit=1) for line in sums.read_text(encoding="utf-8").splitlines() if line.strip())
    expected = {name.strip().lstrip("*"): value.lower() for value, name in lines}
    for path in files.values():
        if path.name in expected and digest(path) != expected[path.name]:
            raise DataError(f"{path} is not what {sums} says: its checksum differs; fetch it again")
