"""The outcome of a search: the model, a leaderboard with intervals, how much too high the best score is, sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from linnet.draw.markup import paragraphs, safe, text_table
from linnet.draw.terminal import aligned
from linnet.evaluate import Evaluation
from linnet.evaluate.metrics import METRICS
from linnet.units import duration, size_text

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier
    from linnet.tuning.optimism import Optimism
    from linnet.tuning.results import CandidateResult, Results

__all__ = ["Tuning"]

SHOWN = 10


@dataclass(frozen=True, eq=False)
class Tuning:
    """What a search found. ``print`` it, show it in a notebook, or take ``model``, ``table``, ``words``, ``to_dict()``.

    ``model`` is fitted on all rows but those of the test; ``test`` holds its scores there, None without test rows.
    ``command`` makes the same model again. ``finished`` is False where Ctrl-C ended the search.
    """

    model: TextClassifier
    winner: CandidateResult
    results: Results = field(repr=False)
    optimism: Optimism
    test: Evaluation | None
    command: str
    source: str
    rows: int
    seconds: float
    budget: float
    size: int
    finished: bool = True
    resumed: int = 0
    notes: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """The name of the metric that was searched for."""
        return self.results.metric

    @property
    def default(self) -> CandidateResult | None:
        """The default recipe on the highest level that it was judged on; None where it was refused."""
        key = self.results.default
        return next((level[key] for level in reversed(self.results.at) if key in level), None) if key else None

    @property
    def expected(self) -> float:
        """What to expect of new rows: the score of the winner less the optimism of choosing."""
        return self.winner.score - self.optimism.optimism

    @property
    def gain(self) -> float | None:
        """The dev score of the winner less that of the default, on the highest level that both were judged on."""
        if self.results.default is None:
            return None
        pairs = (
            (level.get(self.winner.candidate.key), level.get(self.results.default))
            for level in reversed(self.results.at)
        )
        return next((a.score - b.score for a, b in pairs if a is not None and b is not None), None)

    @cached_property
    def table(self) -> list[dict[str, Any]]:
        """The candidates that reached the folds, the best first: a list of dicts."""
        best: dict[str, CandidateResult] = {}
        for level in self.results.at[self.results.base :]:
            best.update(level)
        won = self.winner.candidate.key
        ranked = sorted(best.values(), key=lambda r: (r.candidate.key != won, -r.score))
        return [self._row(r, rank) for rank, r in enumerate(ranked, 1)]

    def _row(self, r: CandidateResult, rank: int) -> dict[str, Any]:
        first = len(self.results.at[self.results.base][r.candidate.key].rows)
        rows = r.rows[:first] if self.results.levels[r.level].adds else r.rows  # draws of the same rows say no more
        truth, classes = self.results.y[rows].astype("int64"), tuple(range(self.results.n_classes))
        score, (low, high) = Evaluation(classes, truth, r.predicted[: len(rows)], None, {}).score(self.metric)
        shift, (least, most) = r.score - score, METRICS[self.metric].bounds
        return {
            "rank": rank, "model": r.candidate.model, "score": r.score, "low": max(least, low + shift),
            "high": min(most, high + shift), "judged_on": self.results.levels[r.level].name, "size_bytes": r.size,
            "seconds": r.seconds, "default": r.candidate.key == self.results.default, "settings": r.candidate.to_dict(),
        }  # fmt: skip

    @property
    def words(self) -> list[str]:
        """The outcome in sentences."""
        w, name = self.winner, self.metric
        lines = [f"Chosen: {w.candidate}."]
        if self.gain is None:
            lines.append("The default was not evaluated, so there is nothing to compare with.")
        elif w.candidate.key == self.results.default:
            lines.append("That is the default: nothing was better by more than the noise of these rows.")
        else:
            lines.append(f"Its dev {name} is {100 * self.gain:.1f} points above that of the default.")
        low, high = self.optimism.interval
        lines.append(
            f"Its dev {name} of {w.score:.4f} is the best of {self.optimism.candidates}, so it is too high by about "
            f"{self.optimism.optimism:.4f}: expect {self.expected:.4f} [{low:.4f}, {high:.4f}] on new rows."
        )
        if self.test is not None:
            score, (low, high) = self.test.score(name)
            lines.append(f"Test {name}, measured once: {score:.4f} [{low:.4f}, {high:.4f}] on {self.test.n:,} rows.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "source": self.source, "rows": self.rows, "metric": self.metric, "seed": self.results.seed,
            "budget_seconds": self.budget, "seconds": self.seconds, "finished": self.finished, "resumed": self.resumed,
            "candidates": self.results.candidates, "judged": self.results.judged,
            "levels": [{"name": level.name, "training_rows": level.rows} for level in self.results.levels],
            "winner": {**self.table[0], "expected": self.expected}, "gain_over_default": self.gain,
            "optimism": self.optimism.to_dict(), "leaderboard": self.table,
            "refused": [{"settings": c.to_dict(), "reason": why} for c, why in self.results.refused.values()],
            "size_bytes": self.size, "test": self.test.to_dict() if self.test else None, "command": self.command,
            "notes": list(self.notes), "words": self.words,
        }  # fmt: skip

    def cells(self, width: int = 120) -> list[list[str]]:
        """Return the leaderboard as rows of text, names first."""
        head = ["", self.metric, "95 %", "judged on", "size", "candidate"]
        room = max(24, width - 66)
        shown = self.table[:SHOWN]
        shown += [row for row in self.table[SHOWN:] if row["default"]]
        return [head, *(self._cells(row, room) for row in shown)]

    def _cells(self, row: dict[str, Any], room: int) -> list[str]:
        from linnet.tuning.candidate import Candidate

        name, mark = str(Candidate.from_dict(row["settings"])), " (default)" if row["default"] else ""
        room -= len(mark)
        name = (name if len(name) <= room else name[: room - 1] + "…") + mark
        return [
            str(row["rank"]), f"{row['score']:.4f}", f"{row['low']:.4f}-{row['high']:.4f}", row["judged_on"],
            size_text(row["size_bytes"]), name,
        ]  # fmt: skip

    def to_text(self, width: int = 120) -> str:
        """Return leaderboard, notes and words as plain text."""
        lines = aligned([[*row[-1:], *row[:-1]] for row in self.cells(width)], width)
        more = len(self.table) - SHOWN
        if more > 0:
            lines.append(f"and {more:,} more")
        spent = f"{self.results.candidates:,} candidates in {duration(self.seconds)} of {duration(self.budget)}"
        return "\n".join([*lines, "", spent, *(f"note: {n}" for n in self.notes), *self.words])

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Tuning: {self.winner.candidate}, {self.metric} {self.winner.score:.4f}>"

    def _repr_html_(self) -> str:
        return f"<div>{text_table(self.cells(400))}{paragraphs(map(safe, (*self.notes, *self.words)))}</div>"
