"""What every rule did: counts that add up to the input's documents and lines, with samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from linnet.draw.markup import page, safe, text_table
from linnet.draw.terminal import aligned

_SAMPLES = 5
_LONGEST = 160


@dataclass
class Tally:
    """The account of one rule. `level` is text (it changes characters), line, page or corpus (it removes)."""

    name: str
    level: str
    about: str
    documents: int = 0  # changed (text), or removed
    lines: int = 0  # removed, alone or with their document
    places: int = 0  # text: how many places were changed; spans: how many sentences were removed
    line_change: int = 0  # text: lines gained or lost
    samples: list[str] = field(default_factory=list)

    def sample(self, text: str) -> None:
        """Keep one of the first few things that the rule removed."""
        shown = " ".join(text.split())
        if len(self.samples) < _SAMPLES and shown and shown[:_LONGEST] not in self.samples:
            self.samples.append(shown[:_LONGEST])


class CleaningReport:
    """The account of a cleaning.

    Every input document is kept, or removed by exactly one rule. Every line (documents are cut at newlines) is kept,
    removed by exactly one line rule, or removed with its document; rules for characters may change the number of lines
    before that, and say by how much.
    """

    def __init__(self) -> None:
        self.documents = self.lines = self.kept_documents = self.kept_lines = self.characters = self.kept_characters = 0
        self.tallies: dict[str, Tally] = {}

    def tally(self, name: str, level: str = "page", about: str = "") -> Tally:
        """Return the account of a rule, opened when it is first asked for."""
        if name not in self.tallies:
            self.tallies[name] = Tally(name, level, about)
        return self.tallies[name]

    @property
    def removed_documents(self) -> dict[str, int]:
        """Documents removed, by rule."""
        return {t.name: t.documents for t in self.tallies.values() if t.level != "text" and t.documents}

    @property
    def removed_lines(self) -> dict[str, int]:
        """Lines removed, by rule."""
        return {t.name: t.lines for t in self.tallies.values() if t.lines}

    @property
    def adds_up(self) -> bool:
        """Whether kept and removed add up to the input, for documents and for lines."""
        changed = sum(t.line_change for t in self.tallies.values())
        return (
            self.documents == self.kept_documents + sum(self.removed_documents.values())
            and self.lines + changed == self.kept_lines + sum(self.removed_lines.values())
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with stable keys."""
        return {
            "documents": {"input": self.documents, "kept": self.kept_documents, "removed": self.removed_documents},
            "lines": {
                "input": self.lines,
                "changed": {t.name: t.line_change for t in self.tallies.values() if t.line_change},
                "kept": self.kept_lines,
                "removed": self.removed_lines,
            },
            "characters": {"input": self.characters, "kept": self.kept_characters},
            "adds_up": self.adds_up,
            "rules": [
                {"rule": t.name, **{k: v for k, v in vars(t).items() if k != "name"}} for t in self.tallies.values()
            ],
        }  # fmt: skip

    def rows(self) -> list[list[str]]:
        """Return the table: rule, documents, lines, places."""
        out = [["rule", "documents", "lines", "places"], ["input", f"{self.documents:,}", f"{self.lines:,}", ""]]
        for t in self.tallies.values():
            if t.level == "text":
                change = f"{t.line_change:+,}" if t.line_change else ""
                out.append([t.name, f"{t.documents:,} changed", change, f"{t.places:,}"])
        for t in self.tallies.values():
            if t.level != "text":
                documents = "" if t.level == "line" else f"-{t.documents:,}" if t.documents else "0"
                lines = f"-{t.lines:,}" if t.lines else "0"
                out.append([t.name, documents, lines, f"{t.places:,}" if t.places else ""])
        out.append(["kept", f"{self.kept_documents:,}", f"{self.kept_lines:,}", ""])
        return out

    def text(self, samples: int = 2, width: int = 100) -> str:
        """Return the table, and samples of what each rule took, for a terminal."""
        lines = aligned(self.rows(), width)
        for t in self.tallies.values():
            shown = [f"    {sample[: width - 4]}" for sample in t.samples[:samples]]
            lines += [f"{t.name}: {t.about}", *shown] if shown else []
        return "\n".join(lines)

    def html(self) -> str:
        """Return an HTML file: the table and the samples."""
        parts = [f"<h1>What cleaning removed</h1>{text_table(self.rows())}"]
        for t in self.tallies.values():
            items = "".join(f"<li>{safe(sample)}</li>" for sample in t.samples)
            parts.append(f"<h2>{safe(t.name)}</h2><p>{safe(t.about)}</p><ul>{items}</ul>")
        return page("What cleaning removed", "".join(parts))
