"""Run the checks over data and, where given, the sets that go with it."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from linnet.checks import row_checks
from linnet.checks.checked_data import LEVELS, CheckedData, Finding
from linnet.checks.label_errors import label_errors
from linnet.checks.loopholes import loopholes
from linnet.data import Dataset, read
from linnet.draw.terminal import count as counted
from linnet.errors import check_choice

# ---- The result of a check: all findings on one page, for a terminal, a notebook, or a program.


#: What each level is called on a page.
MARKS = {"ok": "ok", "note": "note", "warning": "warning", "problem": "PROBLEM"}
_WORDS = {
    "ok": "Ready to train: no problems found",
    "note": "Ready to train; read the notes",
    "warning": "Worth a look: read the warnings before you trust a score",
    "problem": "Problems to fix first: scores on this data cannot be trusted",
}


@dataclass(frozen=True, repr=False, eq=False)
class Checkup:
    """What the checks found; `found["duplicates"]` is one finding.

    `level` is the worst of them, `words` the verdict. Prints as one page, `to_dict` has stable keys for programs.
    """

    material: CheckedData
    findings: Sequence[Finding]
    left_out: Sequence[str] = ()

    def __repr__(self) -> str:
        return f"<Checkup: {self.head()}; {self.words}>"

    @property
    def level(self) -> str:
        """The worst level found."""
        return max((found.level for found in self.findings), key=LEVELS.index, default="ok")

    @property
    def words(self) -> str:
        """The verdict in one line."""
        return _WORDS[self.level]

    def __getitem__(self, name: str) -> Finding:
        found = {one.check: one for one in self.findings}
        check_choice("check", name, found)
        return found[name]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def ranked(self) -> list[Finding]:
        """The findings, the worst first."""
        return sorted(self.findings, key=lambda found: -LEVELS.index(found.level))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the keys are always the same."""
        from linnet import __version__

        m, others = self.material, [other.source for other in self.material.others]
        return {
            "linnet": __version__, "data": m.data.source, "rows": len(m), "classes": len(m.data.labels),
            "unusable": len(m.data.unusable), "others": others, "level": self.level, "verdict": self.words,
            "findings": [found.to_dict() for found in self.findings], "left_out": list(self.left_out),
        }  # fmt: skip

    def head(self) -> str:
        """What was checked, in one line."""
        m = self.material
        rest = f", beside {', '.join(other.source for other in m.others)}" if m.others else ""
        n = len(m.data.labels)
        classes = f", {counted(n, 'class', 'classes')}" if n else ", no labels"
        cut = f"; interrupted before {', '.join(self.left_out)}" if self.left_out else ""
        return f"{m.data.source}: {counted(len(m), 'row')}{classes}{rest}{cut}"

    def to_text(self, width: int | None = None) -> str:
        """Return the page as plain text."""
        wide = max(60, width or shutil.get_terminal_size((100, 24)).columns)
        out = [*textwrap.wrap(self.head(), wide), f"verdict: {self.words}", ""]
        for found in self.ranked():
            lead = f"{MARKS[found.level]:<7} {found.check:<16} "
            out += textwrap.wrap(found.says, wide, initial_indent=lead, subsequent_indent=" " * len(lead))
            if found.level in ("warning", "problem"):
                for line in example_lines(found)[:5]:
                    out += textwrap.wrap(line, wide, initial_indent=" " * 25 + "- ", subsequent_indent=" " * 27)[:2]
            if found.advice and found.level != "ok":
                out += textwrap.wrap(f"-> {found.advice}", wide, initial_indent=" " * 25, subsequent_indent=" " * 28)
        return "\n".join(out)

    __str__ = to_text

    def _repr_html_(self) -> str:
        from linnet.draw.markup import paragraphs, safe

        head = paragraphs([safe(self.head()), f"<b>{safe(self.words)}</b>"])
        return f'<div>{head}<ul class="findings">{"".join(map(finding_html, self.ranked()))}</ul></div>'


def finding_html(found: Finding) -> str:
    """Return a finding as an item of a list: its level, what it says, advice and examples."""
    from linnet.draw.markup import safe

    advice = f'<div class="advice">{safe(found.advice)}</div>' if found.advice and found.level != "ok" else ""
    lines = example_lines(found)[:10] if found.level != "ok" else []
    items = "".join(f"<li>{safe(line)}</li>" for line in lines)
    more = f"<details><summary>examples</summary><ul>{items}</ul></details>" if items else ""
    return (
        f'<li><span><span class="badge {found.level}">{MARKS[found.level]}</span></span>'
        f"<div><b>{safe(found.check)}</b>: {safe(found.says)}{advice}{more}</div></li>"
    )


def _plain(value: Any) -> str:
    """Write a list or a count by name without its brackets."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {count}" for key, count in value.items())
    return ", ".join(f"{row:,}" for row in value) if isinstance(value, list) else str(value)


def example_lines(found: Finding) -> list[str]:
    """Return the examples of a finding, a line each."""
    out = []
    for one in found.examples:
        if "suggested" in one:
            words = f" (words: {', '.join(one['words'])})" if one["words"] else ""
            other = f"{one['label']} -> {one['suggested']} {one['confidence']:.2f}"
            out.append(f"row {one['row']:,}: {other}{words} {one['text']}")
        elif "what" in one:
            out.append(f"{one['what']}: {one['before']} here, {one['now']} in {one['source']}")
        elif "word" in one:
            out.append(f"'{one['word']}' for {one['label']}: {one['why']}")
        else:
            about = [f"{key.replace('_', ' ')} {_plain(value)}" for key, value in one.items() if key != "text"]
            out.append(f'"{one["text"]}" ({", ".join(about)})' if "text" in one else ", ".join(about))
    return out


# ---- The checks, in the order of the output: one row each.


class Check(NamedTuple):
    """One check: its function, what it needs, and whether it is cheap enough to run before every training."""

    run: Callable[[CheckedData], Finding]
    what: str
    labels: bool = False
    others: bool = False
    brief: bool = False


CHECKS: dict[str, Check] = {
    "leaks": Check(row_checks.leaks, "texts of the other sets that are in the data", others=True, brief=True),
    "near-leaks": Check(partial(row_checks.leaks, near=True), "the same for nearly the same texts", others=True),
    "duplicates": Check(row_checks.duplicates, "the same text twice", brief=True),
    "near-duplicates": Check(row_checks.near_duplicates, "nearly the same text twice"),
    "conflicts": Check(row_checks.conflicts, "the same text under different labels", labels=True, brief=True),
    "loopholes": Check(loopholes, "words that give a label away", labels=True),
    "drift": Check(row_checks.drift, "labels and words that are more or less frequent in the other sets", others=True),
    "label-errors": Check(label_errors, "labels a model disagrees with", labels=True),
    "imbalance": Check(row_checks.imbalance, "classes of very different size", labels=True, brief=True),
    "tiny": Check(row_checks.tiny, "empty and tiny texts", brief=True),
    "encoding": Check(row_checks.encoding, "damaged characters and left-over markup"),
}


def applicable(checks: Mapping[str, Check], m: CheckedData) -> dict[str, Check]:
    """Return the checks whose needs are met: labels, other sets."""
    labelled, others = m.data.label is not None, bool(m.others)
    return {name: one for name, one in checks.items() if labelled >= one.labels and others >= one.others}


def chosen(only: Iterable[str] | None = None, skip: Iterable[str] = ()) -> dict[str, Check]:
    """Return the checks of the given names, all but `skip` if none are given.

    >>> list(chosen(only=["tiny", "leaks"]))
    ['leaks', 'tiny']
    """
    wanted = list(CHECKS) if only is None else list(only)
    for name in [*wanted, *skip]:
        check_choice("check", name, CHECKS)
    return {name: check for name, check in CHECKS.items() if name in wanted and name not in set(skip)}


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

    `data` is the training data: anything that `linnet.read` takes, or (texts, labels). `others` are the sets that go
    with it, such as dev and test: they must not share texts with it, and its words must mean the same there. `only`
    and `skip` name checks (`linnet.checks.run_checks.CHECKS`). `on_check(name, done, total)` is called before each check.
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
            findings.append(one.run(inputs))
    except KeyboardInterrupt:
        if not findings:
            raise
    return Checkup(inputs, tuple(findings), tuple(possible)[len(findings) :])


def brief(data: Dataset, others: Iterable[Dataset] = ()) -> list[str]:
    """Return a line for each problem that the quick checks find, before training; none where all is well.

    >>> brief(Dataset.from_lists(["good", "bad", "good", "so bad"], ["pos", "neg", "neg", "neg"]))
    ['duplicates: 1 of 4 texts repeats an earlier one',
     'conflicts: 1 text has different labels (2 rows)',
     "imbalance: 2 classes, 3 rows of 'neg' to 1 of 'pos'; always predicting 'neg' gives 75 %; 2 classes have fewer than 10 rows"]
    """
    found = check(data, *others, only=[name for name, one in CHECKS.items() if one.brief])
    return [f"{one.check}: {one.says}" for one in found if one.level != "ok"]


def _dataset(source: Any, text: str | None, label: str | None, format: str | None) -> Dataset:
    if isinstance(source, Dataset):
        return source
    if isinstance(source, tuple) and len(source) == 2 and not isinstance(source[0], tuple | dict):
        return Dataset.from_lists(*source)
    return read(source, text=text, label=label, format=format)
