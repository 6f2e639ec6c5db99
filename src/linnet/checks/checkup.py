"""The result of a check: all findings on one page, for a terminal, a notebook, or a program."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linnet.checks.checked_data import CheckedData
from linnet.checks.finding import LEVELS, Finding, counted
from linnet.draw.markup import paragraphs, safe
from linnet.errors import DataError, nearest

__all__ = ["MARKS", "Checkup", "finding_html"]

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

    source: str
    rows: int
    classes: int
    unusable: int
    others: tuple[str, ...]
    findings: tuple[Finding, ...]
    left_out: tuple[str, ...]
    material: CheckedData

    @classmethod
    def of(cls, m: CheckedData, findings: Sequence[Finding], left_out: Sequence[str] = ()) -> Checkup:
        """Put findings together."""
        others = tuple(other.source for other in m.others)
        rows, classes, unusable = len(m), len(m.data.labels), len(m.data.unusable)
        return cls(m.data.source, rows, classes, unusable, others, tuple(findings), tuple(left_out), m)

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
        for found in self.findings:
            if found.check == name:
                return found
        raise DataError(nearest("check", name, [found.check for found in self.findings]))

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def ranked(self) -> list[Finding]:
        """The findings, the worst first."""
        return sorted(self.findings, key=lambda found: -LEVELS.index(found.level))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the keys are always the same."""
        from linnet import __version__

        return {
            "linnet": __version__, "data": self.source, "rows": self.rows, "classes": self.classes,
            "unusable": self.unusable, "others": list(self.others), "level": self.level, "verdict": self.words,
            "findings": [found.to_dict() for found in self.findings], "left_out": list(self.left_out),
        }  # fmt: skip

    def head(self) -> str:
        """What was checked, in one line."""
        rest = f", beside {', '.join(self.others)}" if self.others else ""
        classes = f", {counted(self.classes, 'class', 'classes')}" if self.classes else ", no labels"
        cut = f"; interrupted before {', '.join(self.left_out)}" if self.left_out else ""
        return f"{self.source}: {counted(self.rows, 'row')}{classes}{rest}{cut}"

    def __str__(self) -> str:
        return self.to_text()

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

    def _repr_html_(self) -> str:
        head = paragraphs([safe(self.head()), f"<b>{safe(self.words)}</b>"])
        return f'<div>{head}<ul class="findings">{"".join(map(finding_html, self.ranked()))}</ul></div>'


def finding_html(found: Finding) -> str:
    """Return a finding as an item of a list: its level, what it says, advice and examples."""
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
            out.append(
                f"row {one['row']:,}: {one['label']} -> {one['suggested']} {one['confidence']:.2f}{words} {one['text']}"
            )
        elif "word" in one:
            out.append(f"'{one['word']}' for {one['label']}: {one['why']}")
        else:
            about = [f"{key.replace('_', ' ')} {_plain(value)}" for key, value in one.items() if key != "text"]
            out.append(f'"{one["text"]}" ({", ".join(about)})' if "text" in one else ", ".join(about))
    return out
