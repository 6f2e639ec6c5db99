"""Formats with one document a line: plain text, fastText's `__label__` lines, and Vowpal Wabbit's; folders with one a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.arrays import binaries, by_distinct, printable, strings
from linnet.data.input_file import InputFile, Malformed, RawBatch, ReadOptions, RecordReader, grouped, line_pieces
from linnet.errors import DataError
from linnet.files import foreign, looks_binary, split_ending
from linnet.values import is_number


def open_text(file: InputFile, options: ReadOptions) -> RecordReader:
    """Plain text, one document a line, no labels."""
    return line_reader(file, options, ["text"], lambda lines, _: {"text": lines}, "one document a line")


def open_fasttext(file: InputFile, options: ReadOptions) -> RecordReader:
    """Lines as fastText has them: `__label__pos a good film`; a line may have several labels."""
    return line_reader(file, options, ["label", "text"], _parse_fasttext, "one '__label__' line a document")


def _parse_fasttext(lines: pa.Array, _: Any) -> dict[str, Any]:
    import pyarrow.compute as pc

    parts = pc.extract_regex(lines, r"(?s)^(?P<label>(?:[ \t]*__label__\S+)*)[ \t]*(?P<text>.*)$")
    labels = by_distinct(pa.chunked_array([parts.field("label")]), _fasttext_label)
    return {"label": several(labels, "|"), "text": parts.field("text")}


def several(labels: pa.ChunkedArray, mark: str) -> pa.ChunkedArray:
    """Return lists where a row has several labels."""
    import pyarrow.compute as pc

    return pc.split_pattern(labels, mark) if pc.any(pc.match_substring(labels, mark)).as_py() else labels


def _fasttext_label(raw: bytes) -> str | None:
    """The labels at the start of a line, joined.

    >>> _fasttext_label(b"__label__joy __label__love")
    'joy|love'
    """
    return "|".join((printable(part) or "").removeprefix("__label__") for part in raw.split()) or None


def line_reader(
    file: InputFile, options: ReadOptions, names: list[str], parse: Callable[..., dict[str, Any]], how: str
) -> RecordReader:  # fmt: skip
    """Read a format that has one row a line; `parse` turns a binary array of lines into columns, all or those named."""

    def batches(wanted: Sequence[str] | None) -> Iterator[RawBatch]:
        first = 1
        for data in line_pieces(file, options):
            lines = split_lines(data)
            found = parse(lines, wanted)
            columns = {name: pa.chunked_array([c]) if isinstance(c, pa.Array) else c for name, c in found.items()}
            yield RawBatch(columns, len(lines), lines=range(first, first + len(lines)))
            first += len(lines)

    return RecordReader(names, batches, how=how)


def split_lines(data: bytes) -> pa.Array:
    r"""Bytes to a binary array of lines, without their `\n` or `\r\n`.

    >>> split_lines(b"one\r\n\ntwo\nthree").to_pylist()
    [b'one', b'', b'two', b'three']
    """
    data = data if data.endswith(b"\n") else data + b"\n"
    raw = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(raw == 10)
    dropped = np.arange(1, len(ends) + 1)  # bytes left out up to the end of each line
    if b"\r\n" in data:
        dropped += np.cumsum(raw[ends - 1] == 13)  # before a newline at 0 comes the last byte, a newline
    stops = np.zeros(len(ends) + 1, dtype=np.int32)
    stops[1:] = ends + 1 - dropped
    kept = data.replace(b"\r\n", b"").replace(b"\n", b"")
    return pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(stops), pa.py_buffer(kept)])


# ---- Vowpal Wabbit's text format: `label importance 'tag |namespace word:3 word |other word`, one document a line.
#
# The label is what the line says, a number or a name; several have commas between them. The text is the namespace called
# `text`, or else the words of all namespaces in their order. A word stands in it as often as its value says, rounded; a value of
# 0 leaves it out. Importance (1 where there is none) and tag are the columns `weight` and `id`, and each namespace is a column of
# its own: its words, or the number where it is `|name name:value`.


COLUMNS = ("label", "text", "weight", "id")
MOST = 100  # times that a word is written for its value
_NUMBERED = re.compile(rb"\s*[-+]?\d[\d.,]*\s+(?:[\d.]+\s+)?(?:'\S*\s*)?\|\S*\s")
_SPACE = re.compile(rb"\|([^\s:|]+)")


def sniff_vw(head: bytes) -> bool:
    """The first line begins with a numeric label and has a namespace."""
    return _NUMBERED.match(head) is not None


def open_vw(file: InputFile, options: ReadOptions) -> RecordReader:
    """Lines as Vowpal Wabbit has them; a line that begins with a bar has no label. The first lines name the namespaces."""
    head = file.peek()
    known = dict.fromkeys(printable(name) or "" for name in _SPACE.findall(head[: head.rfind(b"\n")] or head))
    spaces = [name for name in known if name not in COLUMNS]
    parse = partial(_parse, spaces, "text" in known)
    return line_reader(file, options, [*COLUMNS, *spaces], parse, "one Vowpal Wabbit line a document")


def _parse(spaces: list[str], has_text: bool, lines: pa.Array, names: Any) -> dict[str, Any]:
    r"""Return the columns; a line without a bar has no text.

    >>> from linnet.data.arrays import binaries
    >>> line = b"1 2 'x |f good:2 film |len len:9"
    >>> {name: c.to_pylist() for name, c in _parse(["f", "len"], False, binaries([line]), None).items()}
    {'label': ['1'], 'weight': ['2'], 'id': ['x'], 'text': ['good good film'], 'f': ['good good film'], 'len': ['9']}
    """
    import pyarrow.compute as pc

    parts = pc.extract_regex(lines, r"(?s)^(?P<head>[^|]*)(?P<words>\|.*)$")
    heads, words = pa.chunked_array([parts.field("head")]), parts.field("words")
    out = {name: by_distinct(heads, partial(_head, k)) for k, name in enumerate(("label", "weight", "id"))}
    out["label"] = several(out["label"], ",")
    wanted = [name for name in spaces if names is None or name in names]
    if not wanted and not has_text and not pc.any(pc.match_substring(words, ":")).as_py():
        words = pc.replace_substring_regex(pc.replace_substring_regex(words, r"\|\S*", " "), r"\s+", " ")
        return {**out, "text": pc.replace_substring_regex(words, r"^ | $", "")}
    rows = [_namespaces(printable(line) or "") for line in words.to_pylist()]
    texts = [[cell for name, cell, number in row if not number and (name == "text" or not has_text)] for row in rows]
    out["text"] = strings([" ".join(filter(None, cells)) for cells in texts])
    for name in wanted:
        out[name] = strings([next((cell for known, cell, _ in row if known == name), None) for row in rows])
    return out


def _namespaces(line: str) -> list[tuple[str, str, bool]]:
    """Return the name of each namespace, its words or its number, and whether it is a number."""
    found = []
    for part in line.split("|")[1:]:
        title, *words = part.split() if part[:1].strip() else ["", *part.split()]
        name = title.partition(":")[0]
        number = words[0].removeprefix(f"{name}:") if len(words) == 1 and name else ""
        if is_number(number) and number != words[0]:
            found.append((name, number, True))
        else:
            found.append((name, " ".join(word for one in words for word in _repeated(*one.split(":", 1))), False))
    return found


def _repeated(word: str, value: str = "") -> list[str]:
    """Return a word as often as its value says: once for what is no number, below 1 or below 0.

    >>> _repeated("good", "2.6"), _repeated("good", "0.1"), _repeated("good", "0")
    (['good', 'good', 'good'], ['good'], [])
    """
    times = float(value) if is_number(value) else 1.0
    return [word] * (0 if times == 0 else int(min(MOST, max(1.0, times + 0.5))))


def _head(which: int, head: bytes | None) -> str | None:
    """Return the label, the importance or the tag before the first bar; a word that touches the bar, or begins with ', is a tag.

    >>> [_head(k, b"1 0.5 'x ") for k in range(3)], _head(0, b"spam x"), _head(0, b"x")
    (['1', '0.5', 'x'], 'spam', None)
    """
    label, importance, tag = b"", b"1", b""
    words = (head or b"").split()
    if words and (words[-1].startswith(b"'") or not (head or b"")[-1:].isspace()):
        tag = words.pop().removeprefix(b"'")
    label, importance = [*words, *(label, importance)[len(words) :]][:2]
    return printable((label, importance, tag)[which]) or None


# ---- A folder of class folders: `reviews/pos/1.txt`, `reviews/neg/2.txt`: the folder is the label, a file is a text.


def open_folder(folder: Path, options: ReadOptions) -> RecordReader:
    """Class folders in the order of their names, and their files likewise.

    Files that end in .txt (or .txt.gz, .txt.zst) are read; in a class folder without such files, all of them.
    """
    found = [(path, label.name) for label in sorted(folder.iterdir()) if _is_class(label) for path in _texts(label)]
    if not found:
        raise DataError(f"{folder} is a folder without class folders (folder/LABEL/*.txt)")

    def batches(names: Sequence[str] | None) -> Iterator[RawBatch]:
        read = ((path, label, _content(path)) for path, label in found)
        for files in grouped(((item, len(item[2])) for item in read), options):
            yield _folder_batch(folder, files)

    how = "one file a document, its folder is the label"
    return RecordReader(["label", "text"], batches, how=how, source=str(folder), format="folder")


def _is_class(folder: Path) -> bool:
    return folder.is_dir() and not folder.name.startswith(".")


def _texts(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    return [path for path in files if split_ending(path)[0] == ".txt"] or files


def _content(path: Path) -> bytes:
    with InputFile(path) as file:
        return file.read_all()


def _folder_batch(folder: Path, found: list[tuple[Path, str, bytes]]) -> RawBatch:
    malformed = {}
    texts: list[bytes] = []
    files = [str(path.relative_to(folder)) for path, _, _ in found]
    for row, (_, _, data) in enumerate(found):
        what = foreign(data) or ("not text" if looks_binary(data[:4096]) else None)
        if what:
            malformed[row] = Malformed("not a text file", what, files[row])
        texts.append(b"" if what else data)
    columns = {"label": strings(label for _, label, _ in found), "text": binaries(texts)}
    chunked = {name: pa.chunked_array([column]) for name, column in columns.items()}
    return RawBatch(chunked, len(found), malformed, files=files)
