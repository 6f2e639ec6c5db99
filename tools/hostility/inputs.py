"""Bad inputs: files, folders and names that a command may be handed by mistake or on purpose."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import random
import socket
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

__all__ = ["GOOD_ROWS", "make_inputs"]

WORDS = [
    "warm", "funny", "dull", "awful", "superb", "tired", "cold", "lovely", "plot", "cast", "story", "ending", "book", "film", "page",
    "scene",
]  # fmt: skip
GOOD_ROWS = [
    (f"{'a superb and warm' if k % 2 else 'an awful and dull'} {WORDS[k % len(WORDS)]} number {k}", "np"[k % 2])
    for k in range(60)
]
CSV = ("text,label\n" + "".join(f"{text},{label}\n" for text, label in GOOD_ROWS)).encode()
LINES = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in GOOD_ROWS).encode()


packed_gzip = partial(gzip.compress, mtime=0)


def make_inputs(folder: Path, rng: random.Random, random_ones: int = 24) -> dict[str, Path]:
    """Write every bad input; return their paths by name. A missing one is a path that leads nowhere."""
    folder.mkdir(parents=True)
    found = {}
    for kind, entries in (("bytes", _contents(rng, random_ones)), ("places", _places(folder))):
        for name, content in entries:
            assert name not in found, name
            if kind == "places":
                found[name] = content
            else:
                found[name] = folder / name
                found[name].write_bytes(content)
    return found


def _contents(rng: random.Random, random_ones: int) -> Iterator[tuple[str, bytes]]:
    yield from _text_files(rng)
    yield from _delimited()
    yield from _labels(rng)
    yield from _json()
    yield from _compressed()
    yield from _columnar()
    yield from _other_formats()
    yield from _altered(rng, random_ones)


def _text_files(rng: random.Random) -> Iterator[tuple[str, bytes]]:
    text = CSV.decode()
    yield "empty.csv", b""
    yield "newline.csv", b"\n"
    yield "newlines.csv", b"\n" * 5000
    yield "spaces.txt", b"   \t  \n" * 20
    yield "bom-alone.csv", b"\xef\xbb\xbf"
    yield "bom.csv", b"\xef\xbb\xbf" + CSV
    yield "bom-twice.csv", b"\xef\xbb\xbf" * 2 + CSV
    yield "bom-inside.csv", CSV + b"\xef\xbb\xbf" + CSV
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "cp037", "punycode"):
        yield f"{encoding}.csv", text.encode(encoding)
    accents = text.replace("a superb", "ein süßes").replace("plot", "œuvre–“é”")
    yield "latin-1.csv", accents.encode("latin-1", "replace")
    yield "cp1252.csv", accents.encode("cp1252")
    yield "shift-jis.csv", text.replace("dull", "漢字かな").encode("shift_jis")
    yield "mixed-encodings.csv", accents.encode() + accents.encode("cp1252")
    yield "surrogates.csv", text.replace("dull", "\ud83d").encode("utf-8", "surrogatepass")
    yield "overlong.csv", CSV.replace(b"dull", b"\xc0\xaf\xf8\x88\x80\x80\x80")
    yield "last-character-cut.csv", accents.encode() + "né,n".encode()[:2]
    yield "nul.csv", CSV.replace(b"dull", b"du\0ll")
    yield "nul-in-header.csv", CSV.replace(b"text", b"te\0xt", 1)
    yield "nuls.csv", bytes(4096)
    yield "noise.csv", rng.randbytes(4096)
    yield "noise", rng.randbytes(100_000)
    yield "noise.parquet", rng.randbytes(4096)
    yield "png.csv", b"\x89PNG\r\n\x1a\n" + rng.randbytes(500)
    yield "elf.csv", b"\x7fELF" + rng.randbytes(500)
    yield "pdf.txt", b"%PDF-1.7\n" + rng.randbytes(500)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(zipfile.ZipInfo("a.csv"), CSV)  # without the time
    yield "archive.csv", archive.getvalue()
    yield "archive.zip", archive.getvalue()
    yield "control.csv", CSV.replace(b"dull", bytes(range(1, 9)) + bytes(range(14, 32)) + b"\x7f")
    yield "escapes.csv", CSV.replace(b"dull", b"\x1b[2J\x1b]0;owned\x07")
    yield "bidi.csv", text.replace("dull", "\u202edull\u2066").encode()
    yield "combining.csv", text.replace("dull", "e" + "\u0301" * 5000).encode()
    yield "noncharacters.csv", text.replace("dull", "\ufffe\uffff\U0010ffff").encode()
    yield "separators.csv", text.replace("dull", "\u2028\u2029\x85\x0b\x0c").encode()
    yield "one-character.txt", b"a"
    yield "no-newline-at-end.txt", b"a warm book\na dull one"


def _delimited() -> Iterator[tuple[str, bytes]]:
    yield "header-only.csv", b"text,label\n"
    yield "header-without-newline.csv", b"text,label"
    for n in (1, 2, 3, 4, 5, 9):
        yield f"{n}-rows.csv", b"".join(CSV.splitlines(keepends=True)[: n + 1])
    yield "unclosed-quote.csv", CSV.replace(b"a superb", b'"a superb', 1)
    yield "unclosed-last-quote.csv", CSV + b'"a superb book,n'
    yield "quote-inside.csv", CSV.replace(b"superb", b'sup"erb')
    yield "quotes.csv", b'"' * 1001
    yield "quote-after-quote.csv", b'text,label\n"a"b"c",n\n"d""e,n\n' * 10
    yield "huge-field.csv", CSV + b"x" * 3_000_000 + b",n\n"
    yield "huge-quoted-field.csv", CSV + b'"' + b"twenty characters, x\n" * 100_000 + b'",n\n'
    yield "huge-label.csv", CSV + b"a book," + b"y" * 1_000_000 + b"\n"
    yield "huge-header.csv", b"t" * 1_000_000 + b",label\na,b\n"
    yield "one-column.csv", b"text\n" + b"".join(line.split(b",")[0] + b"\n" for line in CSV.splitlines())
    yield "no-header.csv", CSV.split(b"\n", 1)[1]
    yield "many-columns.csv", b",".join(b"c%d" % k for k in range(3000)) + b"\n" + b",".join([b"x"] * 3000) + b"\n"
    yield "ragged.csv", b"text,label\na,b\na\na,b,c,d\n,,,,,\n\na,b\n" * 5
    yield "fewer-fields.csv", CSV + b"only one field\n" * 10
    yield "more-fields.csv", CSV + b"a,b,c,d,e,f\n" * 10
    yield "duplicate-headers.csv", CSV.replace(b"text,label", b"text,text", 1)
    yield "duplicate-labels-headers.csv", b"text,label,label\na b,x,y\nc d,y,x\n" * 8
    yield "empty-headers.csv", CSV.replace(b"text,label", b",", 1)
    yield "blank-headers.csv", CSV.replace(b"text,label", b" ,  ", 1)
    yield "odd-headers.csv", CSV.replace(b"text,label", b"\x07\x1b[31m,../../x", 1)
    yield "reserved-headers.csv", b"text,label,linnet_label,p_n,__metadata__\na b,n,1,2,3\nc d,p,1,2,3\n" * 9
    yield "other-headers.csv", CSV.replace(b"text,label", b"alpha,beta", 1)
    yield "swapped.csv", b"label,text\n" + b"".join(b"%s,%s\n" % (r[1].encode(), r[0].encode()) for r in GOOD_ROWS)
    yield "carriage-returns.csv", CSV.replace(b"\n", b"\r")
    yield "mixed-line-ends.csv", CSV.replace(b"\n", b"\r\n", 20).replace(b"dull", b"du\rll")
    for name, sign in (("semicolons", b";"), ("pipes", b"|"), ("tabs", b"\t"), ("blanks", b" "), ("bells", b"\x07")):
        yield f"{name}.csv", CSV.replace(b",", sign)
    yield "sep-line.csv", b"sep=,\n" + CSV
    yield "comments.csv", b"# a comment\n#another\n" + CSV
    yield "formulas.csv", CSV.replace(b"dull", b"=cmd|' /C calc'!A0").replace(b",n", b",@SUM(1)")


def _labels(rng: random.Random) -> Iterator[tuple[str, bytes]]:
    texts = [text for text, _ in GOOD_ROWS]

    def labelled(labels: list[str]) -> bytes:
        quoted = ['"' + label.replace('"', '""') + '"' for label in labels]
        rows = [f"{text},{label}\n" for text, label in zip(texts, quoted, strict=True)]
        return ("text,label\n" + "".join(rows)).encode("utf-8", "surrogateescape")

    n = len(texts)
    yield "labels-all-unique.csv", labelled([f"label {k}" for k in range(n)])
    yield "labels-one.csv", labelled(["n"] * n)
    yield "labels-one-but-one.csv", labelled(["p"] + ["n"] * (n - 1))
    yield "labels-empty.csv", labelled([""] * n)
    yield "labels-half-empty.csv", labelled(["", "p"] * (n // 2))
    yield "labels-blank.csv", labelled([" ", "  "] * (n // 2))
    yield "labels-control.csv", labelled(["a\x00b", "\x1b[31mred", "tab\there"] * (n // 3))
    yield "labels-newlines.csv", labelled(["a\nb", "c\r\nd"] * (n // 2))
    yield "labels-slashes.csv", labelled(["../../../tmp/x", "/etc/passwd", "con", "."] * (n // 4))
    yield "labels-markup.csv", labelled(["<script>alert(1)</script>", "&amp;", "[red]x[/red]"] * (n // 3))
    yield "labels-formats.csv", labelled(["%s%n", "{0}", "{{", "$HOME"] * (n // 4))
    yield "labels-numbers.csv", labelled([str(k % 3) for k in range(n)])
    yield "labels-floats.csv", labelled(["nan", "inf", "-inf", "1e400", "0.1", "-0"] * (n // 6))
    yield "labels-booleans.csv", labelled(["true", "False", "NULL", "None"] * (n // 4))
    yield "labels-case.csv", labelled(["Yes", "yes", "YES", " yes"] * (n // 4))
    yield "labels-not-utf8.csv", labelled(["\udcff", "\udc80n"] * (n // 2))
    yield "labels-unicode.csv", labelled(["\u202eabc", "é", "e\u0301", "\U0001f3f3\ufe0f", "\ufeff", "ß"] * (n // 6))
    yield "labels-long.csv", labelled(["x" * 3000, "x" * 3001] * (n // 2))
    yield "labels-2000.csv", b"text,label\n" + b"".join(b"word%d here,l%d\n" % (k, k // 2) for k in range(4000))
    yield "texts-empty.csv", b"text,label\n" + b"".join(b",%s\n" % b"np"[k % 2 : k % 2 + 1] for k in range(40))
    yield "texts-blank.csv", b"text,label\n" + b"   ,n\n\t,p\n" * 20
    yield "texts-same.csv", b"text,label\n" + b"the same,n\nthe same,p\n" * 30
    yield "texts-no-letters.csv", b"text,label\n" + b"!!!,n\n???,p\n" * 30
    yield "texts-one-word.csv", b"text,label\n" + b"a,n\nb,p\n" * 30
    yield "texts-long-word.csv", b"text,label\n" + (b"a" * 70_000 + b",n\n" + b"b" * 70_000 + b",p\n") * 6
    signs = [b"%d,%s\n" % (rng.randrange(10**9), b"np"[k % 2 : k % 2 + 1]) for k in range(40)]
    yield "texts-numbers.csv", b"text,label\n" + b"".join(signs)


def _json() -> Iterator[tuple[str, bytes]]:
    yield "deep-array.jsonl", b"[" * 100_000
    yield "deep-closed.jsonl", b'{"text":' + b"[" * 5000 + b"]" * 5000 + b',"label":"n"}\n'
    yield "deep-object.jsonl", b'{"text":' * 50_000 + b"1" + b"}" * 50_000
    yield "bad-line.jsonl", LINES + b"{not json}\n" + LINES
    yield "cut.jsonl", LINES[:-20]
    yield "cut-alone.jsonl", b'{"text": "a wa'
    yield "arrays.jsonl", b'["a","b"]\n' * 30
    yield "scalars.jsonl", b'1\n"two"\nnull\ntrue\n3.5\n'
    yield "nulls.jsonl", b'{"text": null, "label": null}\n' * 30
    yield "other-keys.jsonl", b'{"a": "x y"}\n{"b": "z"}\n' * 20
    yield "keys-twice.jsonl", b'{"text": "a", "text": "b", "label": "n", "label": "p"}\n' * 20
    yield "nan.jsonl", b'{"text": "a b", "label": NaN}\n{"text": Infinity, "label": "p"}\n' * 20
    yield "large-numbers.jsonl", b'{"text": "a b", "label": 1e999, "n": %s}\n' % (b"9" * 400) * 20
    yield "endless-number.jsonl", b'{"text": "a b", "label": ' + b"9" * 100_000 + b"}\n"
    yield "surrogates.jsonl", b'{"text": "\\ud800 a", "label": "\\udfff"}\n{"text": "b", "label": "p"}\n' * 20
    yield "nul-escapes.jsonl", b'{"text": "a\\u0000b", "label": "n\\u0000"}\n{"text": "b", "label": "p"}\n' * 20
    yield (
        "types.jsonl",
        b'{"text": "a", "label": 1}\n{"text": 2, "label": "x"}\n{"text": [1], "label": {"a": 1}}\n' * 12,
    )
    yield "lists.jsonl", b'{"text": ["a", "b"], "label": ["n", "p"]}\n' * 30
    yield "document.json", json.dumps([{"text": text, "label": label} for text, label in GOOD_ROWS], indent=1).encode()
    yield "object.json", b'{"data": [{"text": "a", "label": "n"}]}'
    yield "bom.jsonl", b"\xef\xbb\xbf" + LINES
    yield "utf-16.jsonl", LINES.decode().encode("utf-16")
    yield "nul.jsonl", LINES.replace(b"dull", b"du\0ll")
    yield "empty-objects.jsonl", b"{}\n" * 30
    yield "odd-keys.jsonl", b'{"": "a b", "\\u0000": "n", "\\ud800": "x"}\n' * 30
    yield "card.json", b'{"format": "linnet", "classes": []}'


def _compressed() -> Iterator[tuple[str, bytes]]:
    packed = packed_gzip(CSV)
    zstd = pa.Codec("zstd").compress(CSV, asbytes=True)
    yield "cut.csv.gz", packed[: len(packed) // 2]
    yield "cut-in-head.csv.gz", packed[:5]
    yield "cut-in-tail.csv.gz", packed[:-4]
    yield "empty.csv.gz", b""
    yield "of-nothing.csv.gz", packed_gzip(b"")
    yield "wrong-sum.csv.gz", packed[:-8] + b"\0" * 8
    yield "more-behind.csv.gz", packed + b"and more"
    yield "in-two-parts.csv.gz", packed + packed
    yield "twice.csv.gz", packed_gzip(packed)
    yield "plain.csv.gz", CSV
    yield "packed.csv", packed
    yield "zeros.csv.gz", packed_gzip(bytes(30_000_000))
    yield "long-line.csv.gz", packed_gzip(b"text,label\n" + b"a" * 20_000_000)
    yield "noise.csv.gz", b"\x1f\x8b\x08\x00" + bytes(range(256)) * 4
    yield "cut.csv.zst", zstd[: len(zstd) // 2]
    yield "cut-in-head.csv.zst", zstd[:6]
    yield "plain.csv.zst", CSV
    yield "noise.csv.zst", b"\x28\xb5\x2f\xfd" + bytes(range(256))
    yield "huge-window.csv.zst", b"\x28\xb5\x2f\xfd\x00\xff" + bytes(64)
    yield "cut.csv.bz2", bz2.compress(CSV)[:100]
    yield "noise.csv.bz2", b"BZh9" + bytes(range(256))
    yield "gzip-as.csv.zst", packed
    yield "cut.jsonl.gz", packed_gzip(LINES)[:200]


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def _arrow(table: pa.Table, open_: Callable[..., pa.ipc.RecordBatchStreamWriter] = pa.ipc.new_file) -> bytes:
    sink = pa.BufferOutputStream()
    with open_(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _columnar() -> Iterator[tuple[str, bytes]]:
    texts, labels = [text for text, _ in GOOD_ROWS], [label for _, label in GOOD_ROWS]
    n = len(texts)
    good = pa.table({"text": texts, "label": labels})
    data = _parquet(good)
    yield "cut.parquet", data[: len(data) // 2]
    yield "cut-foot.parquet", data[:-4]
    yield "magic-alone.parquet", b"PAR1"
    yield "magic-twice.parquet", b"PAR1PAR1"
    yield "foot-too-long.parquet", data[:-8] + struct.pack("<I", 2**31) + b"PAR1"
    yield "foot-of-zeros.parquet", data[:-200] + bytes(192) + data[-8:]
    yield "pages-of-zeros.parquet", data[:4] + bytes(400) + data[404:]
    yield "csv.parquet", CSV
    yield "no-rows.parquet", _parquet(good.slice(0, 0))
    yield "no-columns.parquet", _parquet(pa.table({}))
    yield "twice-the-name.parquet", _parquet(pa.Table.from_arrays([pa.array(texts)] * 2, names=["text", "text"]))
    yield "twice-the-name.arrow", _arrow(pa.Table.from_arrays([pa.array(texts)] * 2, names=["text", "text"]))
    arrow = _arrow(good)
    yield "cut.arrow", arrow[: len(arrow) // 2]
    yield "cut-foot.arrow", arrow[:-10]
    yield "magic-alone.arrow", b"ARROW1\0\0"
    yield "zeros.arrow", arrow[:200] + bytes(600) + arrow[800:]
    yield "foot-of-noise.arrow", arrow[:-60] + bytes(range(50)) + arrow[-10:]
    yield "stream.arrow", _arrow(good, pa.ipc.new_stream)
    yield "csv.arrow", CSV
    yield "no-rows.arrow", _arrow(good.slice(0, 0))
    odd = {
        "null": pa.nulls(n), "bool": pa.array([k % 2 == 0 for k in range(n)]), "int": pa.array(range(n)),
        "float": pa.array([float("nan"), float("inf"), 0.5] * (n // 3)),
        "binary": pa.array([b"\xff\xfe\0"] * n), "fixed": pa.array([b"abcd"] * n, pa.binary(4)),
        "large": pa.array(texts, pa.large_string()), "view": pa.array(texts, pa.string_view()),
        "dictionary": pa.array(labels).dictionary_encode(),
        "list": pa.array([["a", "b"]] * n), "fixed-list": pa.array([[1, 2]] * n, pa.list_(pa.int8(), 2)),
        "struct": pa.array([{"a": "x", "b": 1}] * n), "map": pa.array([[("k", "v")]] * n, pa.map_(pa.string(), pa.string())),
        "union": pa.UnionArray.from_dense(pa.array([0] * n, pa.int8()), pa.array(range(n), pa.int32()), [pa.array(texts)]),
        "timestamp": pa.array([k * 10**15 for k in range(n)], pa.timestamp("us")), "date": pa.array(range(n), pa.date32()),
        "time": pa.array(range(n), pa.time32("s")), "duration": pa.array(range(n), pa.duration("s")),
        "decimal": pa.array([1] * n, pa.decimal128(38, 2)), "half": pa.array([0.5] * n, pa.float16()),
        "interval": pa.array([(1, 2, 3)] * n, pa.month_day_nano_interval()),
        "runs": pa.RunEndEncodedArray.from_arrays([n], pa.array(["n"])),
        "nulls-inside": pa.array([None, "a b", "c"] * (n // 3)),
    }  # fmt: skip
    for name, column in odd.items():
        yield f"text-{name}.arrow", _arrow(pa.table({"text": column, "label": labels}))
        yield f"label-{name}.arrow", _arrow(pa.table({"text": texts, "label": column}))
        if name not in ("union", "interval", "runs", "view"):
            yield f"both-{name}.parquet", _parquet(pa.table({"text": column, "label": column}))
    small = _arrow(pa.table({"text": ["a", "b", "c"], "label": ["nn", "pp", "nn"]}))
    places = struct.pack("<4i", 0, 1, 2, 3)
    yield "offsets-outside.arrow", small.replace(places, struct.pack("<4i", 0, 1, 2, 2**30))
    yield "offsets-negative.arrow", small.replace(places, struct.pack("<4i", 0, -5, 2, 3))
    yield "offsets-falling.arrow", small.replace(places, struct.pack("<4i", 0, 3, 1, 3))
    not_utf8 = pa.StringArray.from_buffers(1, pa.py_buffer(struct.pack("<ii", 0, 3)), pa.py_buffer(b"\xff\xfe\xfd"))
    yield "not-utf8.arrow", _arrow(pa.table({"text": not_utf8, "label": ["n"]}))


def _other_formats() -> Iterator[tuple[str, bytes]]:
    yield "fasttext-labels-alone.txt", b"__label__n\n__label__p\n" * 20
    yield "fasttext-no-name.txt", b"__label__ a warm book\n" * 20
    yield "fasttext-mixed.txt", b"__label__n __label__p a book\nno label here\n" * 20
    yield "vw-odd.vw", b"1 |\n-1 | a:b:c\n|| x\n1 1e999 'tag|text a:inf b:nan\n" * 10
    yield "vw-cut.vw", b"1 |w a b\n2 |w c"
    head = b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://x.org/\r\n"
    yield "cut.warc", head
    for name, length in {
        "negative": b"-5",
        "huge": b"9" * 30,
        "text": b"ten",
        "long": b"1000000",
        "zero": b"0",
    }.items():
        yield f"{name}-length.warc", head + b"Content-Length: " + length + b"\r\n\r\na page\r\n\r\n"
    yield "no-length.warc", head + b"\r\na page\r\n\r\n"
    yield "magic-alone.warc", b"WARC/1.0\r\n"
    yield "no-lines.warc.gz", packed_gzip(head + b"Content-Length: 6\r\n\r\na page\r\n\r\n")[:40]
    yield "pickle.linnet", b"\x80\x04\x95\x10\0\0\0\0\0\0\0\x8c\x05posix\x94\x8c\x06system\x94\x93."
    yield "text.linnet", CSV
    yield "length.linnet", struct.pack("<Q", 2**63) + b"{}"
    yield "short.linnet", struct.pack("<Q", 2) + b"{}"
    yield "foreign.linnet", struct.pack("<Q", 36) + b'{"__metadata__":{"format":"pytorch"}}'
    yield "deep.linnet", struct.pack("<Q", 40_000) + b'{"a":' * 8000


def _altered(rng: random.Random, count: int) -> Iterator[tuple[str, bytes]]:
    """Good files with random bytes changed, taken out or doubled."""
    good = pa.table({"text": [text for text, _ in GOOD_ROWS], "label": [label for _, label in GOOD_ROWS]})
    kinds = {
        "csv": CSV, "jsonl": LINES, "parquet": _parquet(good), "arrow": _arrow(good), "csv.gz": packed_gzip(CSV),
        "csv.zst": pa.Codec("zstd").compress(CSV, asbytes=True),
    }  # fmt: skip
    for number in range(count):
        ending = list(kinds)[number % len(kinds)]
        data = bytearray(kinds[ending])
        for _ in range(rng.choice((1, 3, 20))):
            at, how = rng.randrange(len(data)), rng.randrange(3)
            if how == 0:
                data[at] ^= 1 << rng.randrange(8)
            elif how == 1:
                del data[at : at + rng.randrange(1, 30)]
            else:
                data[at:at] = data[at : at + rng.randrange(1, 30)]
        yield f"altered-{number}.{ending}", bytes(data)


def _places(folder: Path) -> Iterator[tuple[str, Path]]:
    """What is no ordinary file, and ordinary files with odd names."""
    yield "missing", folder / "no-such-file.csv"
    yield "missing-folder", folder / "no-such-folder" / "a.csv"
    yield "below-a-file", folder / "empty.csv" / "a.csv"
    yield "device", Path("/dev/null")
    made = folder / "folders"
    for name in (
        "nothing",
        "empty-classes/n",
        "empty-classes/p",
        "one-class/n",
        "classes/n",
        "classes/p",
        "binary/n",
        "binary/p",
        "nested/n/n",
    ):
        (made / name).mkdir(parents=True)
    for name, place in {
        "one-class/n": "a.txt",
        "classes/n": "a.txt",
        "classes/p": "b.txt",
        "nested/n/n": "c.txt",
    }.items():
        (made / name / place).write_bytes(b"a book")
    for place in ("n", "p"):
        (made / "binary" / place / "x").write_bytes(bytes(range(256)))
    (made / "loop").mkdir()
    (made / "loop" / "again").symlink_to("..")
    for name in ("nothing", "empty-classes", "one-class", "classes", "binary", "nested", "loop"):
        yield f"folder-{name}", made / name
    links = folder / "links"
    links.mkdir()
    (links / "nowhere.csv").symlink_to("gone.csv")
    (links / "itself.csv").symlink_to("itself.csv")
    yield "link-nowhere", links / "nowhere.csv"
    yield "link-to-itself", links / "itself.csv"
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(links)  # the names of sockets are short
        listening.bind("s.csv")
        os.chdir(here)
    yield "socket", links / "s.csv"
    names = folder / "names"
    names.mkdir()
    odd = {
        "not-utf8": b"\xff\xfe\x80.csv", "newline": b"a\nb.csv", "escape": b"\x1b[31m.csv", "blank": b" .csv", "quotes": b"'\".csv",
        "pattern": b"[a]*?.csv", "long": b"x" * 251 + b".csv", "dash": b"-rf.csv", "percent": b"%s%n{0}.csv", "hash": b"hub:.csv",
        "equals": b"a=b.csv", "dots": b"...csv", "brackets": b"[red]x[bold].csv",
    }  # fmt: skip
    for name, raw in odd.items():
        path = names / os.fsdecode(raw)
        path.write_bytes(CSV)
        yield f"name-{name}", path
