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

from linnet.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
