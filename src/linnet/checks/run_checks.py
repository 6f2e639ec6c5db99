"""Run the checks over data and, where given, the sets that go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from linnet.checks.checked_data import CheckedData
from linnet.checks.checkup import Checkup
from linnet.checks.finding import Finding
from linnet.checks.registry import CHECKS, applicable, chosen
from linnet.data import Dataset, read

__all__ = ["brief", "check"]


def check(
    data: Any,
    *others: Any,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    only: Iterable[str] | None = None,
    skip: Iterable[str] = (),
    random_state: int = 0,
    n_jobs: int | None = None,
    on_check: Callable[[str, int, int], None] | None = None,
) -> Checkup:
    """Look for what is wrong with labelled texts, and return a summary on one page.

    `data` is the training data: anything that `linnet.read` takes, or (texts, labels). Where rows have several labels,
    checks that take one label a row are left out, and say so. `others` are the sets that go
    with it, such as dev and test: they must not share texts with it, and its words must mean the same there. `only`
    and `skip` name checks (`linnet.checks.registry.CHECKS`). `on_check(name, done, total)` is called before each check.
    Ctrl-C keeps the checks that are done; `Checkup.left_out` names the others.

    >>> rows = [(f"a fine film number {k}", "pos") for k in range(30)] + [(f"dull, case {k}", "neg") for k in range(30)]
    >>> found = check(rows, only=["duplicates", "imbalance"])
    >>> found.level, found["imbalance"].details["baseline"]
    ('ok', 0.5)
    """
    wanted = chosen(only, skip)
    first, *rest = (_dataset(one, text, label, format) for one in (data, *others))
    inputs = CheckedData(first, tuple(rest), random_state, n_jobs)
    possible = applicable(wanted, inputs)
    findings: list[Finding] = []
    try:
        for done, (name, one) in enumerate(possible.items()):
            if on_check is not None:
                on_check(name, done, len(possible))
            findings.append(one.finding(name, inputs))
    except KeyboardInterrupt:
        if not findings:
            raise
    return Checkup.of(inputs, findings, list(possible)[len(findings) :])


def brief(data: Dataset, others: Iterable[Dataset] = ()) -> list[str]:
    """Return a line for each problem that the quick checks find, before training; none where all is well.

    >>> brief(Dataset.from_lists(["good", "bad", "good", "so bad"], ["pos", "neg", "neg", "neg"]))
    ['duplicates: 1 of 4 texts repeats an earlier one',
     'conflicts: 1 text has different labels (2 rows)',
     "imbalance: 2 classes, 3 rows of 'neg' to 1 of 'pos'; always predicting 'neg' gives 75 %; 2 classes have fewer than 10 rows"]
    """
    inputs = CheckedData(data, tuple(others))
    quick = applicable({name: one for name, one in CHECKS.items() if one.brief}, inputs)
    findings = [one.run(inputs) for one in quick.values()]
    return [f"{found.check}: {found.says}" for found in findings if found.level != "ok"]


def _dataset(source: Any, text: str | None, label: str | None, format: str | None) -> Dataset:
    if isinstance(source, Dataset):
        return source
    if isinstance(source, tuple) and len(source) == 2 and not isinstance(source[0], tuple | dict):
        return Dataset.from_lists(*source)
    return read(source, text=text, label=label, format=format)
