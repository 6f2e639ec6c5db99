"""From the answers of every model on every fold to scores and tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.comparison.answers import ComparedRows, FoldAnswers
from linnet.comparison.comparison import ModelScores, Pair
from linnet.evaluate import PairedTest, corrected_t, evaluate, evaluate_multilabel, holm, mcnemar, paired_bootstrap
from linnet.evaluate.intervals import Interval
from linnet.evaluate.significance import paired_t

__all__ = ["score", "pairs_of"]


def score(name: str, answers: Sequence[FoldAnswers], rows: ComparedRows, folds: int) -> ModelScores:
    """Sum up one model: scores over all held-out rows of a repeat, then means over the repeats."""
    found: list[dict[str, tuple[float, Interval]]] = []
    losses = []
    for one in _batched(answers, folds):
        held, predicted = _joined(one)
        if rows.sets is not None:
            found.append(dict(evaluate_multilabel(rows.sets[held], predicted, rows.classes).scores))
        else:
            result = evaluate(rows.codes[held], predicted, range(len(rows.classes)))
            found.append({
                "accuracy": (result.accuracy, result.accuracy_interval),
                "macro_f1": (result.macro_f1, result.macro_f1_interval),
                **{key: (value, result.averages_intervals[key]) for key, value in result.averages.items()},
            })  # fmt: skip
        losses.append(-float(np.mean(np.concatenate([a.log_p for a in one]))))
    size = sum(float(rows.shared.sizes[a.held].sum()) for a in answers)
    chosen = Counter(repr(a.settings) for a in answers).most_common(1)[0][0]
    means = {key: (float(np.mean([e[key][0] for e in found])), _mean([e[key][1] for e in found])) for key in found[0]}
    return ModelScores(
        name,
        *means["accuracy" if rows.sets is None else "samples_f1"],
        *means["macro_f1"],
        float(np.mean(losses)),
        tuple(a.right / len(a.held) for a in answers),
        float(np.mean([a.train_seconds for a in answers])),
        float(np.mean([a.predict_seconds for a in answers])),
        size / 1e6 / max(1e-9, sum(a.predict_seconds for a in answers)),
        next((a.size for a in answers if a.size is not None), 0),
        next(a.settings for a in answers if repr(a.settings) == chosen),
        {key: value for key, value in means.items() if key != "accuracy"},
    )


def _batched(values: Sequence[FoldAnswers], n: int) -> list[Sequence[FoldAnswers]]:
    return [values[k : k + n] for k in range(0, len(values), n)]


def _joined(answers: Sequence[FoldAnswers]) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    return np.concatenate([a.held for a in answers]), np.concatenate([a.predicted for a in answers])


def _mean(intervals: list[tuple[float, float]]) -> tuple[float, float]:
    low, high = np.mean(intervals, axis=0)
    return float(low), float(high)


def pairs_of(
    models: Sequence[ModelScores], answers: Mapping[str, Sequence[FoldAnswers]], rows: ComparedRows, folds: int, repeats: int,
    seed: int,
) -> tuple[Pair, ...]:  # fmt: skip
    """Compare every two models; models come best first.

    One repeat: McNemar on the held-out rows, or where rows may have several labels the paired t-test on the F1 of each
    row. Several: rows are asked about more than once and are no longer
    independent, so the corrected repeated k-fold t-test decides. The best model is known only after looking, so all
    pairs count in Holm's correction, not just those with the best.
    """
    found = [
        _pair(a, b, answers[a.name], answers[b.name], rows, folds, repeats, seed, macro=k == 0)
        for k, a in enumerate(models)
        for b in models[k + 1 :]
    ]
    raised = holm([one["test"].p for one in found])
    return tuple(Pair(p=float(p), **one) for p, one in zip(raised, found, strict=True))


def _pair(
    a: ModelScores, b: ModelScores, answers_a: Sequence[FoldAnswers], answers_b: Sequence[FoldAnswers], rows: ComparedRows,
    folds: int, repeats: int, seed: int, *, macro: bool,
) -> dict[str, Any]:  # fmt: skip
    held, first = _joined(answers_a[:folds])
    _, second = _joined(answers_b[:folds])
    right_a, right_b = rows.scores(held, first), rows.scores(held, second)
    by_rows = mcnemar(right_a, right_b) if rows.sets is None else paired_t(right_a, right_b)
    by_fold = np.array(a.fold_accuracy) - np.array(b.fold_accuracy)
    sizes = [(x.train_rows, len(x.held)) for x in answers_a]
    fold_test: PairedTest | None = None
    if len(by_fold) > 1:
        n_train, n_held = np.mean(sizes, axis=0)
        fold_test = corrected_t(by_fold, n_train, n_held, repeats=repeats)
    return {
        "better": a.name,
        "other": b.name,
        "difference": a.accuracy - b.accuracy,
        "discordant": int(np.sum(right_a != right_b)),
        "test": fold_test if repeats > 1 and fold_test is not None else by_rows,
        "bootstrap": by_rows
        if rows.sets is not None
        else paired_bootstrap(np.ones(len(held), bool), right_a.astype(bool), right_b.astype(bool), seed=seed),
        "fold_test": fold_test,
        "macro_f1": paired_bootstrap(rows.codes[held], first, second, metric="macro-f1", draws=1000, seed=seed)
        if macro and rows.sets is None
        else None,
    }
