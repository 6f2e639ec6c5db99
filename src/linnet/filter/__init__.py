r"""Filter a corpus with a model: rows in, the rows worth keeping out, and an account that adds up.

>>> import linnet, tempfile, pathlib
>>> from linnet.filter import Rule, filter_corpus
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "pages.jsonl").write_text('{"id": 1, "text": "loved it"}\n{"id": 2, "text": "a dull bore"}\n')
>>> texts = ["loved it", "great fun", "loved the cast", "dull", "a dull bore", "awful"]
>>> clf = linnet.TextClassifier("nb", features="words:1").fit(texts, ["pos"] * 3 + ["neg"] * 3)
>>> clf.save(folder / "m.linnet")
>>> found = filter_corpus(folder / "m.linnet", [folder / "pages.jsonl"], folder / "out", Rule({"pos": 0.5}))
>>> found["rows"], found["kept"], found["dropped"], found["unusable"]
(2, 1, 1, 0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Rule", "Sketch", "filter_corpus"]

if TYPE_CHECKING:
    from linnet.filter.filtering import filter_corpus
    from linnet.filter.ranking import Sketch
    from linnet.filter.settings import Rule

_WHERE = {"Rule": "settings", "Sketch": "ranking", "filter_corpus": "filtering"}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
