"""What `linnet check` should say of every set of LINNET_DATA, and of data with planted faults; a page of the docs shows it.

python tests/verdicts.py        write the table into docs/checking.md
"""

# ruff: noqa: E501 - a table

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(os.environ.get("LINNET_DATA", "/nowhere"))
PAGE = Path(__file__).parents[1] / "docs" / "checking.md"
BEGIN, END = "<!-- verdicts: written by tests/verdicts.py -->\n", "<!-- end of verdicts -->\n"


class Expected(NamedTuple):
    """The verdict, the level of the checks that decide it, checks that must find nothing worse than a note, and why that is right."""

    verdict: str
    because: dict[str, str]
    not_because: tuple[str, ...] = ()
    why: str = ""


SETS: dict[str, tuple[tuple[str, ...], Expected]] = {
    "rt_polarity": (("all.csv",), Expected("warning", {"encoding": "warning", "label-errors": "warning"}, ("loopholes", "duplicates"), "accents were read in the wrong encoding; a fifth of the sentences is hard")),
    "mpqa": (("all.csv",), Expected("warning", {"duplicates": "warning", "conflicts": "warning"}, ("loopholes",), "2,365 phrases repeat an earlier one, some with the other label")),
    "movie_reviews": (("all.csv",), Expected("warning", {"encoding": "warning"}, ("loopholes", "duplicates"), "control characters in eight texts; hard rows")),
    "imdb": (("train.parquet", "test.parquet"), Expected("warning", {"leaks": "warning"}, ("loopholes",), "123 test texts are in the training set")),
    "ag_news": (("train_subset.csv", "test.csv"), Expected("warning", {"near-leaks": "warning"}, ("loopholes", "leaks"), "one report in fifty of the test set is nearly one of training")),
    "20newsgroups": (("train.parquet", "test.parquet"), Expected("warning", {"loopholes": "warning"}, ("leaks",), "every text begins with header lines")),
    "trec": (("train.csv", "test.csv"), Expected("problem", {"leaks": "problem", "drift": "warning"}, ("loopholes",), "2 % of the test questions are in training, and they are other questions: 'is' in 58 %, not 30 %")),
    "sms_spam": (("all.csv",), Expected("warning", {"duplicates": "warning", "imbalance": "warning"}, ("loopholes",), "one message in fourteen is a copy; 87 % are ham")),
    "yelp_subset": (("train.csv", "test.csv"), Expected("note", {}, ("loopholes", "leaks", "duplicates", "drift"), "stars next to each other are hard to tell apart")),
    "dbpedia14_subset": (("train.csv", "test.csv"), Expected("warning", {"near-leaks": "warning"}, ("loopholes", "leaks"), "some articles follow one pattern")),
    "clinc150": (("train.csv", "dev.csv", "test.csv"), Expected("warning", {"leaks": "warning", "loopholes": "warning"}, ("duplicates", "drift"), "the same made-up numbers in a quarter of an intent ('1234', 'ab123'); '401k' is a fair reason")),
    "goemotions": (("train.csv", "dev.csv", "test.csv"), Expected("warning", {"imbalance": "warning", "leaks": "warning"}, ("loopholes",), "emotions of very different size; 80 comments of dev and test are in training")),
    "lid_lingua75": (("all.csv",), Expected("warning", {"encoding": "warning"}, (), "damaged characters; letters that only one language has are a fair reason")),
    "atis": (("train.csv", "test.csv"), Expected("problem", {"leaks": "problem", "drift": "warning", "imbalance": "warning"}, ("loopholes",), "1.5 % of the test texts are in training; other cities are asked for")),
    "r52": (("train.csv", "test.csv"), Expected("warning", {"leaks": "warning", "imbalance": "warning", "drift": "warning"}, ("loopholes",), "17 topics with fewer than ten rows; 'shr' is a fair reason for earnings")),
    "germeval18": (("train.csv", "test.csv"), Expected("warning", {"drift": "warning", "label-errors": "warning"}, ("loopholes", "leaks"), "the test tweets are of another time")),
}  # fmt: skip


# ---- planted faults: two topics, told apart by honest words, and one thing that is wrong

WORDS = {
    "cooking": ["flour", "butter", "oven", "simmer", "garlic", "whisk", "dough", "pepper", "onion", "bake", "soup", "pan"],
    "sailing": ["mast", "harbour", "tide", "anchor", "wind", "sail", "deck", "rope", "reef", "keel", "buoy", "knot"],
}  # fmt: skip
COMMON = ["morning", "friend", "small", "again", "never", "quite", "asked", "before", "little", "found", "about", "today",
          "bright", "early", "often", "carry", "window", "street", "second", "honest"]  # fmt: skip
Row = tuple[str, str]


def rows(n: int, seed: int = 0) -> list[Row]:
    """Make honest rows: a few words of the topic among many others."""
    rng, out = random.Random(seed), []
    for k in range(n):
        label = ("cooking", "sailing")[k % 2]
        words = [*rng.choices(WORDS[label], k=3), *rng.choices(COMMON, k=9)]
        rng.shuffle(words)
        out.append((" ".join(words), label))
    return out


def changed(some: list[Row], change: object) -> list[Row]:
    """Give every row to a function of its number, text and label."""
    return [change(k, *row) for k, row in enumerate(some)]  # type: ignore[operator]


def planted() -> dict[str, tuple[list[list[Row]], Expected]]:
    """Return data with one fault each."""
    rng = random.Random(1)
    honest, new = rows(600), rows(200, 1)
    turned = {"cooking": "sailing", "sailing": "cooking"}
    day = {"cooking": "monday", "sailing": "friday"}
    return {
        "nothing planted": ([honest, new], Expected("ok", {}, (), "nothing to find")),
        "a tenth of the test rows in training": ([[*honest, *new[:20]], new], Expected("problem", {"leaks": "problem"}, ("loopholes",), "the score on them is of texts that were learned")),
        "the same with a word changed": ([[*honest, *((f"{t} indeed", y) for t, y in new[:20])], new], Expected("warning", {"near-leaks": "warning"}, ("leaks",), "the same")),
        "a third of the rows twice": ([[*honest, *honest[:200]]], Expected("warning", {"duplicates": "warning"}, ("loopholes",), "copies would be on both sides of a split")),
        "half of the rows nearly twice": ([[*honest, *((f"{t} indeed", y) for t, y in honest[:300])]], Expected("warning", {"near-duplicates": "warning"}, ("duplicates",), "the same")),
        "an id for each label": ([changed(honest, lambda _, t, y: (f"{t} {'src81a' if y == 'cooking' else 'src44b'}", y))], Expected("warning", {"loopholes": "warning"}, (), "an id is no reason")),
        "an id in an eighth of one label": ([changed(honest, lambda k, t, y: (f"{t} ref88x" if k % 16 == 0 else t, y))], Expected("warning", {"loopholes": "warning"}, (), "the same")),
        "a weekday for each label, not in new rows": ([changed(honest, lambda _, t, y: (f"{t} {day[y]}", y)), changed(new, lambda _, t, y: (f"{t} {rng.choice(list(day.values()))}", y))], Expected("problem", {"loopholes": "problem"}, (), "new rows prove that the day says nothing")),
        "header lines": ([changed(honest, lambda _, t, y: (f"From: {t.split()[0]}\nSubject: {t.split()[1]}\n\n{t}", y))], Expected("warning", {"loopholes": "warning"}, (), "a model learns the sender")),
        "a tenth of the labels turned": ([changed(honest, lambda k, t, y: (t, turned[y] if k % 10 == 0 else y))], Expected("warning", {"label-errors": "warning"}, ("loopholes",), "a model that did not see them finds them")),
        "labels drawn at random": ([changed(honest, lambda _, t, __: (t, rng.choice(["mail", "phone"])))], Expected("warning", {"label-errors": "warning"}, ("loopholes",), "a column of the wrong kind was taken for the label")),
        "one label": ([changed(honest, lambda _, t, __: (t, "cooking"))], Expected("problem", {"imbalance": "problem"}, (), "nothing to tell apart")),
        "twelve to one": ([[row for k, row in enumerate(honest) if k % 24 or row[1] == "sailing"][:0] + [row for k, row in enumerate(rows(1200)) if row[1] == "cooking" or k % 24 == 1]], Expected("warning", {"imbalance": "warning"}, ("loopholes",), "always giving the larger label looks good")),
        "new rows of another time": ([honest, changed(new, lambda _, t, y: (f"{t} pandemic", y))], Expected("warning", {"drift": "warning"}, ("leaks", "loopholes"), "a word that no training row has is in all of them")),
    }  # fmt: skip


def table() -> str:
    """Return the expected verdicts as a table of Markdown."""
    head = "| data | verdict | because of | why that is right |\n|---|---|---|---|\n"
    every = {**{name: one for name, (_, one) in SETS.items()}, **{name: one for name, (_, one) in planted().items()}}
    lines = [
        f"| {name} | {one.verdict} | {', '.join(f'`{check}`' for check in one.because) or '-'} | {one.why} |\n"
        for name, one in every.items()
    ]
    return head + "".join(lines)


def written(page: str) -> str:
    """Return the page with the table as it should be."""
    start, rest = page.split(BEGIN)
    return start + BEGIN + table() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
