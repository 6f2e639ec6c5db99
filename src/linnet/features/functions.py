"""Features that a user writes: functions from the tokens of a text to a number, with weights of their own name.

    def ends_in_s(tokens):
        return any(t.endswith("s") for t in tokens)

``Words(1, 1) + Functions(ends_in_s)`` adds a column ``ends_in_s`` to the words. For several labels the notes (000
section 8) write one long vector f(x, y) with a block for each label, all zero but that of y, and one weight vector theta;
theta . f(x, y) is then the score of y. Here theta is a table with one row a feature and one column a label, which is the
same numbers; ``joint`` writes the long vector out.

>>> def has_happy(tokens):
...     return "happy" in tokens
>>> Functions(word_count, has_happy).joint("Happy, happy day", "+", ["+", "-"]).tolist()
[4.0, 1.0, 1.0, 0.0, 0.0, 0.0]

A model file keeps the import path of each function (``module:name``), never its code. Nothing is imported because a file
names it: such a model is loaded with ``trust=True`` (``--trust``), or its functions are handed in with ``register_function``.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from linnet.array_types import Floats
from linnet.errors import DataError, LinnetError, nearest
from linnet.features.blocks import Computed, token_setting
from linnet.features.buffers import TextBuffer
from linnet.text.tokens import check_tokens, words_of

Function: TypeAlias = Callable[[list[str]], float]
_REMEDY = "write it with def at the top of a module that can be imported"


def word_count(tokens: list[str]) -> int:
    """Return the number of tokens, signs included.

    >>> word_count(["it", "rocks"])
    2
    """
    return len(tokens)


_REGISTERED: dict[str, Function] = {"linnet.features.functions:word_count": word_count}


def register_function(function: Function, name: str | None = None) -> None:
    """Let model files use a function of this program, without trusting them to import anything.

    ``name`` is what the file calls it, ``module:name``; by default the import path of the function.

    >>> def ends_in_s(tokens):
    ...     return any(t.endswith("s") for t in tokens)
    >>> register_function(ends_in_s, "mymodule:ends_in_s")
    >>> find("mymodule:ends_in_s")(["it", "rocks"])
    True
    """
    if not callable(function):
        raise LinnetError(f"register_function takes a function of a list of tokens, got {function!r:.60}")
    _REGISTERED[import_path(function) if name is None else name] = function


# ---- import paths


def _shown(f: Any) -> str:
    return f"{getattr(f, '__module__', '?')}.{getattr(f, '__qualname__', f)}"


def import_path(f: Any) -> str:
    """Return ``module:name``, where a saved model will look for the function.

    >>> import_path(word_count)
    'linnet.features.functions:word_count'
    >>> import_path(len)
    Traceback (most recent call last):
    linnet.errors.LinnetError: builtins.len is no function that a saved model could find by its name; write it with def at the top of \
a module that can be imported
    """
    if not inspect.isfunction(f) or "<" in f.__qualname__:
        raise LinnetError(f"{_shown(f)} is no function that a saved model could find by its name; {_REMEDY}")
    _refuse_python(f.__module__)
    return f"{f.__module__}:{f.__qualname__}"


def _lasting_path(f: Any) -> str:
    """Return the import path, if it leads back to this function from any program."""
    path = import_path(f)
    if f.__module__ == "__main__":
        raise LinnetError(
            f"the function {f.__name__} was written in the program that is running, where a saved model cannot find it "
            "later; move it into a module (a file mymodule.py) and import it from there"
        )
    if find(path) is not f:
        raise LinnetError(f"{path} is another function by now; import {f.__name__} afresh and train again")
    return path


def _refuse_python(path: str) -> None:
    """Refuse functions of Python itself: they are named by mistake. (What protects from model files is ``wanted``.)"""
    if re.split("[.:]", path)[0] in sys.stdlib_module_names - {"__main__"}:
        raise LinnetError(f"{path} belongs to Python itself, which is not called for features; {_REMEDY}")


def find(path: str) -> Function:
    """Import ``module:name``, as written in a model file, or ``module.name``, as typed.

    >>> find("linnet.features.functions:word_count")(["a", "b"])
    2
    >>> find("reviews_features:ends_in_s")
    Traceback (most recent call last):
    linnet.errors.LinnetError: the feature function reviews_features:ends_in_s cannot be imported (ModuleNotFoundError: No module named \
'reviews_features'); write module.name, put the folder of the module on the Python path (PYTHONPATH=folder), or mend it
    """
    if path in _REGISTERED:
        return _REGISTERED[path]
    _refuse_python(path)
    try:
        found: Any = resolve_name(path)
    except Exception as error:
        raise LinnetError(
            f"the feature function {path} cannot be imported ({type(error).__name__}: {error}); write module.name, put the "
            "folder of the module on the Python path (PYTHONPATH=folder), or mend it"
        ) from error
    if not inspect.isfunction(found) or _shown(found) != path.replace(":", "."):
        raise LinnetError(f"the feature function {path} is no function written in that module: {found!r:.60}")
    return found


def _stand_in(path: str) -> Function:
    """Return a function of that name, without importing anything; it refuses to be called."""

    def refuse(tokens: list[str]) -> float:
        raise LinnetError("this model was opened to look at, without its functions; load it with trust=True to use it")

    refuse.__module__, _, refuse.__qualname__ = path.partition(":")
    refuse.__name__ = refuse.__qualname__.rpartition(".")[2]
    return refuse


@dataclass(init=False, unsafe_hash=True)
class Functions(Computed):
    """A block of feature functions: each gets the list of tokens of a text and returns a number or a truth value.

    Functions are given themselves or by name ("mymodule.ends_in_s"). tokens and case say how texts are cut and folded,
    as in the other blocks. On the command line: ``functions:mymodule.ends_in_s,mymodule.word_count``.
    """

    name: ClassVar[str] = "functions"

    functions: tuple[Function, ...] = field(repr=False)
    weight: float = 1.0
    tokens: str = "words"
    case: str = "fold"

    def __init__(
        self, *functions: Function | str, weight: float = 1.0, tokens: str = "words", case: str = "fold"
    ) -> None:
        if not functions:
            raise LinnetError("Functions needs at least one function")
        self.functions = tuple(find(f) if isinstance(f, str) else f for f in functions)
        self.weight, self.tokens, self.case = weight, tokens, case
        for f in self.functions:
            if not callable(f):
                raise LinnetError(f"Functions takes functions of a list of tokens, got {f!r:.60}")
        if len(set(self.columns)) < len(self.columns):
            raise LinnetError(f"two functions have the same name: {', '.join(self.columns)}; rename one")
        check_tokens(tokens, case, LinnetError)
        self._check_weight()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the functions."""
        return tuple(str(getattr(f, "__name__", f)) for f in self.functions)

    @property
    def paths(self) -> tuple[str, ...]:
        """Where the functions are, as a model file has it: ``module:name``."""
        return tuple(f"{f.__module__}:{f.__qualname__}" for f in self.functions)

    def values_of(self, piece: TextBuffer, first: int = 0) -> Floats:
        """Return what each function says of each text, (n_texts, n_functions)."""
        texts = [piece.text(d) for d in range(len(piece))]
        out = np.empty((len(texts), len(self.functions)))
        for row, tokens in enumerate(words_of(texts, self.tokens, self.case)):
            for column, f in enumerate(self.functions):
                out[row, column] = _call(f, tokens, first + row, texts[row])
        return out

    def vector(self, text: str) -> Floats:
        """Return x, what the functions say of one text, (n_functions,)."""
        return np.asarray(self.values([text])[0])

    def joint(self, text: str, label: Any, labels: Iterable[Any], bias: bool = True) -> Floats:
        """Return f(x, y) of the notes for one text; see the function ``joint``."""
        return joint(self.vector(text), label, labels, bias)

    # ---- names

    def check(self) -> None:
        """Refuse functions that no import path leads to."""
        for f in self.functions:
            import_path(f)

    def to_dict(self) -> dict[str, Any]:
        """Return the import paths; refuses functions that another program could not find."""
        return {**super().to_dict(), "functions": [_lasting_path(f) for f in self.functions]}

    @classmethod
    def wanted(cls, values: dict[str, Any]) -> list[str]:
        """Return the functions that are not registered in this program."""
        return [str(path) for path in values["functions"] if str(path) not in _REGISTERED]

    @classmethod
    def named(cls, values: dict[str, Any]) -> Functions:
        """Keep the names of the functions; they cannot be called."""
        return cls.from_dict(values, _stand_in)

    @classmethod
    def from_dict(cls, values: dict[str, Any], find: Callable[[str], Function] = find) -> Functions:
        """Find the functions again: those that are not registered are imported, so ask ``wanted`` first."""
        found = [find(str(path)) for path in values["functions"]]
        return cls(*found, weight=values["weight"], tokens=values["tokens"], case=values["case"])

    @classmethod
    def read(cls, written: str, **settings: Any) -> Functions | None:
        """Read ``module.name,module.name``, with optional ``:whitespace`` and ``:keep``."""
        names, *extras = written.replace(" ", "").split(":")
        for extra in filter(None, extras):
            settings |= token_setting(extra)
        return cls(*filter(None, names.split(",")), **settings) if names else None

    def written(self) -> list[str]:
        """Return the functions, then the tokens and the case where they are not the usual ones."""
        return [",".join(map(_shown, self.functions)), *self._cutting()]


def _call(f: Function, tokens: list[str], number: int, text: str) -> float:
    try:
        value = f(list(tokens))  # a function may change its list, but not that of the next
    except Exception as error:
        raise DataError(
            f"the feature function {_shown(f)} failed on text number {number + 1} ({text!r:.40}) with {type(error).__name__}: {error}; "
            "it must return a number for every list of tokens, also for an empty one"
        ) from error
    if not isinstance(value, bool | int | float | np.number | np.bool_):
        raise DataError(
            f"the feature function {_shown(f)} returned {value!r:.40} for text number {number + 1} ({text!r:.40}); "
            "it must return a number, or True or False"
        )
    return float(value)


def joint(x: npt.ArrayLike, label: Any, labels: Iterable[Any], bias: bool = True) -> Floats:
    """Return the block layout f(x, y): x in the block of the label, zeros in those of the other labels.

    With bias every block ends in a feature that is always on. The dot product with theta, the weights of all blocks
    behind one another, is the score of the label.

    >>> joint([2, 1, 0], "+", ["+", "-", "0"]).astype(int).tolist()
    [2, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    """
    known = list(labels)
    if label not in known:
        raise LinnetError(nearest("label", str(label), map(str, known)))
    if len(set(known)) < len(known):
        raise LinnetError(f"labels holds one twice: {known}")
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1:
        raise LinnetError(f"x must be one row of numbers, got shape {values.shape}")
    block = np.append(values, 1.0) if bias else values
    out = np.zeros((len(known), len(block)))
    out[known.index(label)] = block
    return out.ravel()
