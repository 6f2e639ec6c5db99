"""What a system is given (`Job`) and what it answers with (`System`: command lines)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

Command = list[str]
COPIES = 10


@dataclass(frozen=True)
class Dataset:
    """A data set with a fixed test part, and the one setting of a peer that is tuned per set."""

    title: str
    train: str
    test: str | None  # None: a tenth of the rows, drawn by seed 0
    fasttext_lr: float  # for IMDB and AG News the best of .1 .25 .5 on a held-out tenth of the training rows


DATASETS = {
    "imdb": Dataset("IMDB", "imdb/train.parquet", "imdb/test.parquet", fasttext_lr=0.5),
    "ag_news": Dataset(
        "AG News, 36 % of its training rows", "ag_news/train_subset.csv", "ag_news/test.csv", fasttext_lr=0.25
    ),
    "rt": Dataset("RT-s", "rt_polarity/all.csv", None, fasttext_lr=0.25),
    "20newsgroups": Dataset(
        "20 Newsgroups", "20newsgroups/train.parquet", "20newsgroups/test.parquet", fasttext_lr=0.5
    ),
    "clinc150": Dataset("CLINC150", "clinc150/train.csv", "clinc150/test.csv", fasttext_lr=0.5),
}


@dataclass(frozen=True)
class Job:
    """One data set on disk: the source files, and beside them what `prepare.py` made of them in `folder`."""

    name: str
    train: Path
    test: Path
    folder: Path
    threads: int
    n_classes: int
    test_bytes: int  # UTF-8 bytes of the raw test texts: the MB of every MB/s

    def file(self, name: str) -> str:
        return str(self.folder / name)

    @property
    def bulk(self) -> str:
        """Ten copies of the test rows, in the format of the source."""
        return self.file(f"bulk{self.test.suffix}")


class System(Protocol):
    """Command lines of one system; `None` where a measurement makes no sense for it."""

    name: str
    package: str  # on the registry: for its version
    module: str  # what must be importable
    settings: str

    def train(self, job: Job) -> Command: ...

    def model(self, job: Job) -> str:
        """The file that `train` leaves behind."""

    def memory(self, job: Job) -> Command | None:
        """Load, then predict the test set in memory; prints JSON with what `passes` returns and `accuracy`."""

    def bulk(self, job: Job) -> Command | None:
        """Whole process: predict ten copies of the test set into a file."""

    def bulk_accuracy(self, job: Job) -> Command | None:
        """Check what `bulk` wrote; prints JSON with `accuracy`. Not timed."""

    def one(self, job: Job) -> Command:
        """Cold start: a fresh process predicts one line."""


def inline(program: str, *arguments: object) -> Command:
    """The command that runs a program of a line or two, with nothing of the harness in its start-up time."""
    return [sys.executable, "-c", program, *map(str, arguments)]


def worker(module: str, *arguments: object) -> Command:
    """The command that runs a file of this folder in the interpreter of the harness."""
    return [sys.executable, "-m", f"systems.{module}", *map(str, arguments)]
