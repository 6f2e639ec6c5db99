"""The figures by name: what each shows, and what a reader can change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from linnet.figures.figure import Figure
from linnet.figures.functions import descent, losses, naive_bayes, probabilities
from linnet.figures.planes import APART, CROSSED, NOISY, Dots, exclusive_or, lines, overfitting
from linnet.figures.updates import RULES, sentence, update, walk


class Setting(NamedTuple):
    """What a reader can change: a "slider" or a "choice" over values, a "text", or "steps", a count that a button raises."""

    kind: str
    label: str
    value: Any
    values: Sequence[Any] = ()


@dataclass(frozen=True)
class Exhibit:
    """A figure with what it shows in words; draw takes the values of the controls, and points where they can be moved."""

    title: str
    words: str
    draw: Callable[..., Figure]
    controls: Mapping[str, Setting] = field(default_factory=dict)
    points: Dots = ()


def draw(name: str, **values: Any) -> Figure:
    """Draw a figure by its name; values that are not given are the first that a reader would see.

    >>> draw("update", steps=1).tables[0][1][1:]
    [['1', '1.3', '6.3'], ['2', '1.8', '-3.2'], ['3', '-12', '-12']]
    """
    exhibit = EXHIBITS[name]
    first: dict[str, Any] = {key: control.value for key, control in exhibit.controls.items()}
    if exhibit.points:
        first["points"] = exhibit.points
    return exhibit.draw(**{**first, **values})


RATES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
STEPS = Setting("steps", "Step", 0)
RULE = Setting("choice", "Update", "perceptron", tuple(RULES))
EXHIBITS: dict[str, Exhibit] = {  # in the order in which to read them
    "lines": Exhibit(
        "Five lines", "Drag a point, or press Tab and the arrow keys. The line is where both classes score the same; dashed lines go "
        "through the nearest points, or are the margin of the SVM; rings are the points that hold the line.",
        lines, {"C": Setting("slider", "C: less penalty to the right", 10.0, PENALTIES)}, APART,
    ),
    "update": Exhibit(
        "One update, three classes", "More like the right answer, less like the wrong ones. Class 1 is right, and class 2 scores best.",
        update, {"rule": RULE, "rate": Setting("slider", "Learning rate", 1.0, RATES), "steps": STEPS},
    ),
    "walk": Exhibit(
        "One update, points", "Each step looks at one point. A perceptron moves only where the point is wrong.",
        walk, {"rule": RULE, "rate": Setting("slider", "Learning rate", 1.0, RATES), "steps": STEPS}, APART,
    ),
    "sentence": Exhibit(
        "One update, a sentence", "A model of four short reviews learns your sentence, word by word.",
        sentence, {
            "text": Setting("text", "Sentence", "not a great film"), "label": Setting("choice", "Right label", "bad", ("bad", "good")),
            "model": Setting("choice", "Model", "perceptron", ("perceptron", "svm", "logistic", "nb")), "steps": STEPS,
        },
    ),
    "losses": Exhibit(
        "Losses", "What one row costs. Right of 0 the answer is right; the perceptron asks no more, the SVM asks for a margin of 1.",
        losses, {"z": Setting("slider", "Margin", 0.5, tuple((np.arange(-20, 31) / 10).tolist()))},
    ),
    "descent": Exhibit(
        "Ways down", "A small rate is slow, a large one jumps over the valley. Newton needs no rate.",
        descent, {
            "rate": Setting("slider", "Learning rate", 0.3, RATES),
            "steps": Setting("slider", "Steps", 30, (1, 2, 3, 5, 10, 20, 30, 60, 100)),
        },
    ),
    "probabilities": Exhibit(
        "Scores to probabilities", "The sigmoid turns one score into a probability, the softmax several. The log-likelihood of a coin is "
        "highest at the share of heads.",
        probabilities, {
            "z": Setting("slider", "Score z", 1.0, tuple((np.arange(-12, 13) / 2).tolist())),
            "heads": Setting("slider", "Heads", 3, tuple(range(11))), "tails": Setting("slider", "Tails", 1, tuple(range(11))),
        },
    ),
    "xor": Exhibit(
        "Exclusive-or", "No line has all four points right. Products of features, a kernel and a small net do. Drag the points.",
        exclusive_or, points=CROSSED,
    ),
    "naive-bayes": Exhibit(
        "Naive Bayes", "Two ways to count the same eight reviews. Without smoothing an unseen word makes a class impossible.",
        naive_bayes, {
            "alpha": Setting("slider", "Smoothing", 1.0, (0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0)),
            "text": Setting("text", "Text", "it was great"),
        },
    ),
    "overfitting": Exhibit(
        "Overfitting", "Fourteen products of x1 and x2 fit every point, and miss new ones. A penalty keeps the weights small.",
        overfitting, {"C": Setting("slider", "C: less penalty to the right", 0.1, PENALTIES)}, NOISY,
    ),
}  # fmt: skip
