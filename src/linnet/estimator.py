"""Settings in scikit-learn's way, without its import: what models, vectorisers and classifiers share.

Checks of a model's settings, made when it is fitted: which setting, what it must be, what was got.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np

from linnet.errors import DataError, check_choice, nearest


class Estimator:
    """Settings: every argument of the constructor, kept as given under its own name.

    A setting that has settings itself is reached by two underscores: ``set_params(model__C=1.0)``.
    """

    @classmethod
    def _settings(cls) -> dict[str, inspect.Parameter]:
        return dict(inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings given to the constructor; with deep, also those of a setting that has some itself."""
        found = {name: getattr(self, name) for name in self._settings()}
        if deep:
            for name, value in list(found.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    found |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Change settings; they are checked when the model is fitted."""
        known, inside = self._settings(), dict[str, dict[str, Any]]()
        for name in params:
            if name.partition("__")[0] not in known:
                raise DataError(nearest(f"setting of {type(self).__name__}", name, known))
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if inner:
                inside.setdefault(outer, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, values in inside.items():
            self._set_inside(name, values)
        return self

    def _set_inside(self, name: str, values: dict[str, Any]) -> None:
        """Change the settings of a setting."""
        value = getattr(self, name)
        if not hasattr(value, "set_params"):
            raise DataError(f"{name}={value!r} of {type(self).__name__} has no settings, so not {', '.join(values)}")
        value.set_params(**values)

    def changed_params(self) -> dict[str, Any]:
        """Return the settings that are not the default ones."""
        defaults = self._settings()
        found = self.get_params(deep=False)
        return {name: value for name, value in found.items() if repr(value) != repr(defaults[name].default)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.changed_params().items())})"


def sklearn_tags(
    kind: str, *, required: bool = True, poor_score: bool = False, preserves_dtype: Iterable[str] = (),
    requires_fit: bool = True, **rows: bool,
) -> Any:  # fmt: skip
    """Return the tags of a "classifier" or a "transformer"; rows are those of its input, as scikit-learn names them."""
    from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags, TransformerTags

    of_kind: dict[str, Any] = {"transformer_tags": TransformerTags(preserves_dtype=list(preserves_dtype))}
    if kind == "classifier":
        of_kind = {"classifier_tags": ClassifierTags(poor_score=poor_score)}
    target, given = TargetTags(required=required), InputTags(**rows)
    return Tags(estimator_type=kind, target_tags=target, input_tags=given, requires_fit=requires_fit, **of_kind)


def above_zero(name: str, value: Any) -> float:
    """Return a finite number above zero.

    >>> above_zero("C", -1)
    Traceback (most recent call last):
    linnet.errors.DataError: C must be a number above 0, got -1
    """
    return _number(name, value, "above 0", lambda x: 0 < x < np.inf)


def share_below_one(name: str, value: Any) -> float:
    """Return a number from 0 up to, and not including, 1.

    >>> share_below_one("dropout", 1.5)
    Traceback (most recent call last):
    linnet.errors.DataError: dropout must be a number from 0 and below 1, got 1.5
    """
    return _number(name, value, "from 0 and below 1", lambda x: 0 <= x < 1)


def not_negative(name: str, value: Any) -> float:
    """Return a finite number from zero."""
    return _number(name, value, "from 0", lambda x: 0 <= x < np.inf)


def share(name: str, value: Any, *, one: bool = False) -> float:
    """Return a part of a whole: above 0 and below 1; with one, 0 and 1 are parts too."""
    if one:
        return _number(name, value, "from 0 to 1", lambda x: 0 <= x <= 1)
    return _number(name, value, "between 0 and 1", lambda x: 0 < x < 1)


def _number(name: str, value: Any, words: str, holds: Callable[[float], bool]) -> float:
    if not isinstance(value, int | float | np.number) or isinstance(value, bool) or not holds(float(value)):
        raise DataError(f"{name} must be a number {words}, got {value!r}")
    return float(value)


def whole(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number, at least so large."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or int(value) < least:
        raise DataError(f"{name} must be a whole number from {least}, got {value!r}")
    return int(value)


def truth(name: str, value: Any) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise DataError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def one_of(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return one of some names."""
    known = list(choices)
    if not isinstance(value, str):
        raise DataError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
    check_choice(name, value, known)
    return value
