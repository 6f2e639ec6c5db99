"""The model file: what is written comes back, the same input gives the same bytes, and damage is always noticed."""

from __future__ import annotations

import errno
import functools
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.errors import LinnetError, ModelFileError
from linnet.model import file as store
from linnet.model.file import DTYPES, read, write

CARD = {"classes": ["neg", "pos", "新闻"], "scores": {"accuracy": 0.92}, "n": 3, "none": None, "odd": '\udc80 \n " \\'}


def arrays():
    rng = np.random.default_rng(0)
    kinds = {name: rng.integers(0, 100, (3, 5)).astype(dtype) for name, dtype in DTYPES.items()}
    extra = {"empty": np.zeros((0, 7), np.float32), "scalar": np.array(2.5), "tail": np.arange(3, dtype=np.uint8)}
    return kinds | extra | {"名": np.arange(9, dtype=np.uint16)}


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.linnet"
    write(path, arrays(), CARD)
    return path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def message(source, **options):
    with pytest.raises(ModelFileError) as caught:
        read(source, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


def edited(data, change):
    """The file with another header: `change` alters the decoded header in place."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    change(header)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return len(text).to_bytes(8, "little") + text + data[end:]


# ---- round trip


@pytest.mark.parametrize("how", ["path", "str", "bytes", "bytearray", "memoryview"])
def test_round_trip(model, how):
    raw = model.read_bytes()
    source = {"path": model, "str": str(model), "bytes": raw}.get(how)
    stored = read({"bytearray": bytearray, "memoryview": memoryview}[how](raw) if source is None else source)
    assert stored.card == CARD
    assert stored.nbytes == len(raw)
    assert set(stored.tensors) == set(arrays())
    for name, array in arrays().items():
        got = stored.tensors[name]
        np.testing.assert_array_equal(got, array)
        assert (got.dtype, got.shape) == (array.dtype, array.shape)
        assert not got.flags.writeable
        assert got.flags.aligned
        with pytest.raises(ValueError):
            got[...] = 0
    with pytest.raises(TypeError):
        stored.tensors["new"] = np.zeros(1)


def test_arrays_are_views_of_one_map_on_cache_lines(model):
    tensors = [array for array in read(model).tensors.values() if array.size]
    owners = set()
    for array in tensors:
        assert array.ctypes.data % 64 == 0
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        assert isinstance(owner, np.memmap)
        owners.add(id(owner))
    assert len(owners) == 1


def test_safetensors_reads_it(model):
    loaded = safetensors.numpy.load_file(model)
    for name, array in arrays().items():
        np.testing.assert_array_equal(loaded[name], array)
    assert all(name.startswith("_align.") and not loaded[name].any() for name in set(loaded) - set(arrays()))
    with safetensors.safe_open(model, framework="numpy") as file:
        metadata = file.metadata()
    assert list(metadata) != []
    assert metadata["format"] == "linnet"
    assert metadata["format_version"] == "1"
    assert json.loads(metadata["card"]) == CARD
    assert metadata["checksum"].startswith("sha256:")


def test_same_input_same_bytes(tmp_path):
    a, b = tmp_path / "a.linnet", tmp_path / "b.linnet"
    write(a, arrays(), CARD)
    write(b, dict(reversed(arrays().items())), dict(reversed(CARD.items())))
    assert a.read_bytes() == b.read_bytes()
    strange = {name: array.astype(array.dtype.newbyteorder(">"), order="F") for name, array in arrays().items()}
    write(b, strange, CARD)
    assert a.read_bytes() == b.read_bytes()
    assert a.stat().st_size >= sum(array.nbytes for array in arrays().values())


def test_nothing_and_views(tmp_path):
    path = tmp_path / "m.linnet"
    write(path, {}, {})
    assert (dict(read(path).tensors), read(path).card) == ({}, {})
    wide = np.arange(40.0).reshape(4, 10)
    write(path, {"part": wide[::2, 1:9:3]}, {"tuple": (1, np.int64(2)), "number": np.float32(0.5), "yes": np.True_})
    np.testing.assert_array_equal(read(path).tensors["part"], wide[::2, 1:9:3])
    assert read(path).card == {"tuple": [1, 2], "number": 0.5, "yes": True}


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="_"), min_size=1, max_size=5),
        st.tuples(st.sampled_from(list(DTYPES)), st.lists(st.integers(0, 4), max_size=4)),
        max_size=5,
    ),
    st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)),
)
def test_any_names_shapes_and_cards(tmp_path_factory, shapes, card):
    path = tmp_path_factory.mktemp("any") / "m.linnet"
    tensors = {name: np.ones(shape, DTYPES[kind]) for name, (kind, shape) in shapes.items()}
    write(path, tensors, card)
    stored = read(path)
    assert stored.card == card
    assert {name: array.tolist() for name, array in stored.tensors.items()} == {
        name: array.tolist() for name, array in tensors.items()
    }
    assert set(tensors) <= set(safetensors.numpy.load_file(path))


# ---- damage


@functools.cache
def small():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.linnet"
        write(path, {"W": np.arange(6, dtype=np.float32), "b": np.zeros(2)}, {"classes": ["a", "b"]})
        return path.read_bytes()


def test_every_single_cut_is_noticed():
    data = small()
    for length in range(len(data)):
        text = message(data[:length], verify=False)
        assert "truncated" in text or "empty" in text
    assert "follow its end" in message(data + b"\0")


def test_every_byte_counts():
    data = small()
    for place in range(len(data)):
        for bit in (1, 0x20, 0x80):
            changed = bytearray(data)
            changed[place] ^= bit
            message(bytes(changed), verify=True)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_flips_and_cuts(data):
    good = small()
    changed = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.none() | st.integers(0, len(good)))
    bad = bytes(changed[:cut])
    if bad != good:
        message(bad, verify=True)
        message(bad)
    try:
        stored = read(bad, verify=False)
    except ModelFileError:
        return
    for array in stored.tensors.values():
        array.sum()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**70) | st.floats() | st.sampled_from(["F32", "U8", "linnet", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["dtype", "shape", "x"]), inner),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_odd_headers(data):
    """Well-formed JSON with wrong contents is refused or harmless; nothing but a ModelFileError comes out."""

    def change(header):
        name = data.draw(st.sampled_from(sorted(header)))
        part = data.draw(st.none() | st.sampled_from(sorted(header[name])))
        if part is None:
            header[name] = data.draw(JSON)
        else:
            header[name][part] = data.draw(JSON | st.lists(st.integers(0, 2**64), max_size=4))

    try:
        stored = read(edited(small(), change), verify=False)
    except ModelFileError:
        return
    for array in stored.tensors.values():
        array.sum()


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(junk):
    message(junk)
    message(len(junk).to_bytes(8, "little") + b"{" + junk)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h: h["W"].update(data_offsets=[8, 32]), "altered: array 'W' starts at byte 8, not 0"),
        (lambda h: h["W"].update(data_offsets=[2**63, 2**63 + 24]), "starts at byte"),
        (lambda h: h["W"].update(data_offsets=[24, 0]), "has the shape"),
        (lambda h: h["W"].update(shape=[7]), "altered: array 'W' of shape [7] has 24 bytes"),
        (lambda h: h["W"].update(shape=[0, 2**62, 2**62], data_offsets=[0, 0]), "altered"),
        (lambda h: h["W"].update(shape=[-1]), "has the shape [-1]"),
        (lambda h: h["W"].update(shape=[True] * 3), "altered"),
        (lambda h: h["W"].update(shape=[6] + [1] * 70), "altered"),
        (lambda h: h["W"].update(dtype="F8_E4M3"), "unknown type 'F8_E4M3'"),
        (lambda h: h["W"].update(dtype=[]), "unknown type"),
        (lambda h: h["b"].update(data_offsets=[0, 16]), "starts at byte"),
        (lambda h: h.pop("_align.1"), "starts at byte 64, not 24"),
        (lambda h: h["W"].update(more=1), "malformed"),
        (lambda h: h.update(W=3), "malformed"),
        (lambda h: h["__metadata__"].update(card="[]"), "card cannot be read"),
        (lambda h: h["__metadata__"].update(card='{"a":NaN}'), "card cannot be read"),
        (lambda h: h["__metadata__"].update(card="[" * 100_000), "card cannot be read"),
        (lambda h: h["__metadata__"].update(card={}), "lack the checksum or the card"),
        (lambda h: h["__metadata__"].update(format_version="0"), "its format version reads '0'"),
        (lambda h: h["__metadata__"].update(format_version=1), "its format version reads 1"),
        (lambda h: h["__metadata__"].pop("format"), "a safetensors file, but not a linnet model"),
        (lambda h: h.update(__metadata__=[]), "header cannot be read"),
        (lambda h: h["__metadata__"].update(note="x"), None),
    ],
)
def test_what_is_wrong_with_a_header(change, words):
    data = edited(small(), change)
    if words is None:
        read(data, verify=False)
    else:
        assert words in message(data, verify=False)
    assert message(data, verify=True)


def test_a_key_twice_and_deep_nesting():
    for text in (b'{"__metadata__":{"format":"linnet"},"__metadata__":{}}', b'{"a":' + b"[" * 100_000, b'{"a":NaN}'):
        assert "cannot be read" in message(len(text).to_bytes(8, "little") + text)


def test_header_length_is_bounded():
    huge = (store.MAX_HEADER + 1).to_bytes(8, "little") + small()[8:]
    assert f"altered: a header of {store.MAX_HEADER + 1:,} bytes" in message(huge)
    assert "not a linnet model" in message((2**63).to_bytes(8, "little") + b"{}" * 10)


def test_alteration_and_when_it_is_looked_for(model):
    data = bytearray(model.read_bytes())
    data[-1] ^= 1
    model.write_bytes(data)
    for options in ({}, {"verify": True}):
        assert message(model, **options) == (
            f"cannot load '{model}': altered: its checksum does not match; copy or download it again, or train it again"
        )
    assert read(model, verify=False).card == CARD


def test_rewritten_by_another_program(model):
    with safetensors.safe_open(model, framework="numpy") as file:
        metadata = file.metadata()
    safetensors.numpy.save_file(safetensors.numpy.load_file(model), model, metadata)
    assert "altered" in message(model)


def test_newer(model):
    data = edited(model.read_bytes(), lambda h: h["__metadata__"].update(format_version="3", written_by="linnet 7.1"))
    model.write_bytes(data)
    text = message(model)
    assert "model format 3, written by linnet 7.1; this linnet reads up to format 2" in text
    assert "pip install --upgrade linnet" in text


def test_foreign_files(tmp_path):
    def check(name, data, words):
        path = tmp_path / name
        path.write_bytes(data)
        assert words in message(path)

    check("a.png", b"\x89PNG\r\n\x1a\n" + bytes(50), "a PNG image, not a linnet model")
    check("b.pkl", pickle.dumps({"a": 1}), "a pickle, which linnet never loads")
    check("c.csv", b"text,label\nlov\xc3\xa9 it,pos\n" * 300, "text, not a linnet model; are model and data swapped?")
    check("d.bin", bytes(range(255, 0, -1)), "not a linnet model")
    check("e.safetensors", safetensors.numpy.save({"a": np.zeros(3)}), "a safetensors file, but not a linnet model")
    check("f.linnet", b"", "empty")
    with zipfile.ZipFile(tmp_path / "g.zip", "w") as archive:
        archive.writestr("x", "y")
    assert "a zip archive" in message(tmp_path / "g.zip")
    assert "empty" in message(b"")


def test_not_there(model, tmp_path):
    assert message(tmp_path / "n.linnet") == f"no file '{tmp_path}/n.linnet'; did you mean '{model}'?"
    assert "Not a directory" in message(model / "below")
    assert "a folder" in message(tmp_path)
    assert "no regular file" in message("/dev/null")
    assert "cannot load" in message("a\0b")
    assert "cannot load" in message("x" * 5000)


# ---- writing


def failing(words, path, tensors=None, card=None):
    with pytest.raises(LinnetError) as caught:
        write(path, {"a": np.zeros(2)} if tensors is None else tensors, {} if card is None else card)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_stored(tmp_path):
    path = tmp_path / "m.linnet"
    failing("array 'x' is of type complex64; store one of: U64", path, {"x": np.zeros(1, np.complex64)})
    failing("is of type object", path, {"x": np.array(["a", None])})
    failing("is of type <U1", path, {"x": np.array(["a"])})
    failing("finite numbers", path, card={"a": [1, float("nan")]})
    failing("finite numbers", path, card={"a": {"b": np.float64("inf")}})
    failing("keys must be", path, card={(1, 2): 2})
    failing("is of type PosixPath", path, card={"when": tmp_path})
    failing("is of type ndarray", path, card={"W": np.zeros(2)})
    assert names(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path):
    failing("No such file or directory", tmp_path / "no" / "m.linnet")
    failing("it is a folder; add a file name", tmp_path)
    failing("not a regular file", "/dev/null")
    (tmp_path / "f").write_text("x")
    failing("Not a directory", tmp_path / "f" / "m.linnet")
    assert names(tmp_path) == ["f"]


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSPC, "No space left"), (errno.EACCES, "Permission denied"), (errno.EIO, "Input/")]
)
def test_failure_leaves_the_old_file_and_nothing_else(model, monkeypatch, number, words):
    before = model.read_bytes()

    def broken(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", broken)
    failing(words, model)
    assert model.read_bytes() == before
    assert names(model.parent) == ["m.linnet"]


def test_interrupt_leaves_the_old_file_and_nothing_else(model, monkeypatch):
    before = model.read_bytes()

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(model, arrays(), {})
    assert model.read_bytes() == before
    assert names(model.parent) == ["m.linnet"]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_disk_full_for_real(tmp_path):
    code = f"""
import resource, signal, numpy as np
from linnet.model import file as store
from linnet.errors import LinnetError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    store.write({str(tmp_path / "m.linnet")!r}, {{"a": np.zeros(100_000)}}, {{}})
except LinnetError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "File too large" in done.stdout
    assert names(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of POSIX")
def test_no_permission_for_real(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "m.linnet").write_bytes(small())
    folder.chmod(0o555)
    code = f"""
import os
from linnet.model import file as store
from linnet.errors import LinnetError
if os.geteuid() == 0:
    os.seteuid(65534)
for name in ("new.linnet", "m.linnet"):
    try:
        store.write({str(folder)!r} + "/" + name, {{}}, {{}})
    except LinnetError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("cannot write") == 2
    assert names(folder) == ["m.linnet"]
    folder.chmod(0o755)


def test_links_permissions_and_a_model_in_use(model):
    link = model.with_name("latest.linnet")
    link.symlink_to(model.name)
    model.chmod(0o640)
    in_use = read(link)
    write(link, dict(in_use.tensors) | {"U8": np.zeros(5, np.uint8)}, {"new": True})  # onto itself
    assert link.is_symlink()
    assert model.stat().st_mode & 0o777 == 0o640
    assert read(model).card == {"new": True}
    np.testing.assert_array_equal(read(model).tensors["F64"], arrays()["F64"])
    np.testing.assert_array_equal(in_use.tensors["U8"], arrays()["U8"])
    assert in_use.card == CARD
    fresh = model.with_name("fresh.linnet")
    write(fresh, {}, {})
    umask = os.umask(0)
    os.umask(umask)
    assert fresh.stat().st_mode & 0o777 == 0o666 & ~umask


def test_readers_never_see_half_a_file(model):
    """Read and write at once: every read is one of the two models."""
    problems = []

    def reader():
        for _ in range(60):
            try:
                problems.extend([] if read(model).card in (CARD, {"v": 2}) else ["other"])
            except ModelFileError as error:
                problems.append(str(error))

    threads = [threading.Thread(target=reader) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(40):
        write(model, arrays(), CARD if turn % 2 else {"v": 2})
    for thread in threads:
        thread.join()
    assert problems == []
    assert names(model.parent) == ["m.linnet"]
