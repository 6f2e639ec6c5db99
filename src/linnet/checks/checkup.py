"""The verdict: all findings on one page, for a terminal, a notebook, or a program."""

from __future__ import annotations

import html
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linnet.checks.checked_data import CheckedData
from linnet.checks.finding import LEVELS, Finding, counted
from linnet.errors import DataError, nearest

__all__ = ["MARKS", "Checkup"]

#: A sign for each level that needs no colour.
MARKS = {"ok": "ok", "note": "note", "warning": "look", "problem": "MEND"}
_COLOURS = {"ok": "#4d4d4d", "note": "#0072b2", "warning": "#b35c00", "problem": "#a50026"}
_WORDS = {
    "ok": "nothing found: train on it",
    "note": "fit to train on; the notes are worth reading",
    "warning": "look at the warnings before you trust a score",
    "problem": "mend the problems first: scores on this data cannot be trusted",
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
        rows, classes, unusable = len(m), len(m.labels), len(m.data.unusable)
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
            lead = f"{MARKS[found.level]:<5} {found.check:<16} "
            out += textwrap.wrap(found.says, wide, initial_indent=lead, subsequent_indent=" " * len(lead))
            if found.level in ("warning", "problem"):
                for line in example_lines(found)[:5]:
                    out += textwrap.wrap(line, wide, initial_indent=" " * 23 + "- ", subsequent_indent=" " * 25)[:2]
            if found.advice and found.level != "ok":
                out += textwrap.wrap(f"-> {found.advice}", wide, initial_indent=" " * 23, subsequent_indent=" " * 26)
        return "\n".join(out)

    def _repr_html_(self) -> str:
        rows = []
        for found in self.ranked():
            examples = "".join(f"<li>{html.escape(line)}</li>" for line in example_lines(found)[:10])
            more = f"<details><summary>examples</summary><ul>{examples}</ul></details>" if examples else ""
            advice = f"<br><em>{html.escape(found.advice)}</em>" if found.advice and found.level != "ok" else ""
            rows.append(
                f'<tr><td style="color:{_COLOURS[found.level]};font-weight:bold">{MARKS[found.level]}</td>'
                f'<td>{html.escape(found.check)}</td><td style="text-align:left">{html.escape(found.says)}{advice}{more}</td></tr>'
            )
        verdict = f'<b style="color:{_COLOURS[self.level]}">{html.escape(self.words)}</b>'
        return f"<div><p>{html.escape(self.head())}<br>{verdict}</p><table>{''.join(rows)}</table></div>"


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
