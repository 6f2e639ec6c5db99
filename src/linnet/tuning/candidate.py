"""A candidate: one way to make a classifier, with every setting fixed, so that its name says all of it.

>>> one = Candidate("svm", "words:1-2", ratio=0.5, params=(("C", 0.3),))
>>> str(one)
'svm words:1-2 ratio=0.5 C=0.3'
>>> one.command("reviews.csv")
'linnet train reviews.csv --model svm --features words:1-2 --ratio 0.5 --set C=0.3'
"""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass
from typing import Any

from linnet.classifier import TextClassifier
from linnet.errors import LinnetError
from linnet.models import MODELS

__all__ = ["Candidate"]

WEIGHTING = ("tf", "idf", "norm", "min_df", "max_features", "select", "class_weight")


@dataclass(frozen=True)
class Candidate:
    """A model, its features, their weighting and the model's own settings; None leaves a setting to the model's plan.

    Two candidates with the same settings are equal, whatever they came from.
    """

    model: str
    features: str
    ratio: float = 0.0
    tf: str | None = None
    idf: bool | None = None
    norm: str | None = None
    min_df: int | None = None
    max_features: int | None = None
    select: str | None = None
    class_weight: str | None = None
    params: tuple[tuple[str, Any], ...] = ()

    @property
    def key(self) -> str:
        """The candidate as one line of text; equal candidates have equal keys."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings that are set, as plain values."""
        given = {k: v for k, v in asdict(self).items() if v is not None and k != "params"}
        return {**given, "params": dict(self.params)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Candidate:
        """Read back what ``to_dict`` gave.

        >>> one = Candidate("svm", "words:1", params=(("C", 2.0),))
        >>> Candidate.from_dict(one.to_dict()) == one
        True
        """
        try:
            rest = {k: v for k, v in values.items() if k != "params"}
            return cls(**rest, params=tuple(sorted(values.get("params", {}).items())))
        except TypeError as error:
            raise LinnetError(f"these are not the settings of a candidate: {values!r:.200} ({error})") from None

    def make(self, seed: int, threads: int | None) -> TextClassifier:
        """Return the classifier, not fitted."""
        settings = {"tf": MODELS[self.model].plan.tf, **self.to_dict()}
        if self.norm == "none":
            settings["norm"] = None
        return TextClassifier(**settings, random_state=seed, n_jobs=threads)

    def __str__(self) -> str:
        shown = [self.model, self.features, f"ratio={self.ratio:g}"]
        shown += [f"{name}={getattr(self, name)}" for name in WEIGHTING if getattr(self, name) is not None]
        return " ".join([*shown, *(f"{name}={value}" for name, value in self.params)])

    def command(self, data: str, **files: Any) -> str:
        """Return the ``linnet train`` command that makes this model; files are further options and their values."""
        given = {**self.to_dict(), "ratio": f"{self.ratio:g}", **{k: v for k, v in files.items() if v is not None}}
        words = ["linnet", "train", data]
        for name, value in given.items():
            option = f"--{name.replace('_', '-')}"
            if name == "idf":
                words.append(option if value else "--no-idf")
            elif name == "params":
                for key, one in value.items():
                    words += ["--set", f"{key}={one if isinstance(one, str) else json.dumps(one)}"]
            else:
                words += [option] if value is True else [option, str(value)]
        return shlex.join(words)
