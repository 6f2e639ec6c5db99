"""`check`: run the checks over data and, where given, the sets that go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from linnet.checks.checkup import Checkup
from linnet.checks.finding import Finding
from linnet.checks.material import Material
from linnet.checks.registry import applicable, chosen
from linnet.data import Dataset, read

__all__ = ["check"]


def check(
    data: Any,
    *others: Any,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    only: Iterable[str] | None = None,
    skip: Iterable[str] = (),
    seed: int = 0,
    threads: int | None = None,
    on_check: Callable[[str, int, int], None] | None = None,
) -> Checkup:
    """Look for what is wrong with labelled texts, and return a one-page verdict.

    `data` is what would be trained on: anything that `linnet.read` takes, or (texts, labels). `others` are the sets that
    go with it, such as dev and test: they must not share texts with it, and its words must mean the same there. `only`
    and `skip` name checks (`linnet.checks.registry.CHECKS`). `on_check(name, done, total)` is told what comes next.
    Ctrl-C keeps the checks that are done; `Checkup.left_out` names the others.

    >>> rows = [(f"a fine film number {k}", "pos") for k in range(30)] + [(f"dull, case {k}", "neg") for k in range(30)]
    >>> found = check(rows, only=["duplicates", "imbalance"])
    >>> found.level, found["imbalance"].details["baseline"]
    ('ok', 0.5)
    """
    wanted = chosen(only, skip)
    whole, *rest = (_dataset(one, text, label, format) for one in (data, *others))
    material = Material(whole, tuple(rest), seed, threads)
    ready = applicable(wanted, material)
    findings: list[Finding] = []
    try:
        for done, (name, one) in enumerate(ready.items()):
            if on_check is not None:
                on_check(name, done, len(ready))
            findings.append(one.run(material))
    except KeyboardInterrupt:
        if not findings:
            raise
    return Checkup.of(material, findings, [name for name in ready if name not in {found.check for found in findings}])


def _dataset(source: Any, text: str | None, label: str | None, format: str | None) -> Dataset:
    if isinstance(source, Dataset):
        return source
    if isinstance(source, tuple) and len(source) == 2 and not isinstance(source[0], tuple | dict):
        return Dataset.from_lists(*source)
    return read(source, text=text, label=label, format=format)
