"""Vocabularies against plain counting, text to integers and back, coverage, Zipf's law, and the two commands."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import running
from linnet.errors import DataError, MissingExtraError
from linnet.text import TOKENS, Vocabulary, Zipf, tokenize

some_texts = st.lists(st.text("abAB .!中é\n", max_size=20), max_size=8)
TEXTS = ["The cat sat.", "the dog", "a cat; THE cat", ""]


@settings(max_examples=200, deadline=None)
@given(some_texts, st.sampled_from(list(TOKENS)), st.integers(1, 3), st.none() | st.integers(1, 5))
def test_counts_are_those_of_plain_counting(texts: list[str], tokens: str, min_df: int, size: int | None) -> None:
    found = Vocabulary.of(texts, tokens=tokens, min_df=min_df, size=size)
    cut = [[t.text for t in tokenize(text, tokens)] for text in texts]
    counts, held = Counter(w for c in cut for w in c), Counter(w for c in cut for w in set(c))
    kept = sorted((w for w in counts if held[w] >= min_df), key=lambda w: (-counts[w], w))[:size]
    assert found.words == kept
    assert found.counts.tolist() == [counts[w] for w in kept]
    assert found.document_frequency.tolist() == [held[w] for w in kept]
    assert (found.n_documents, found.n_tokens) == (len(texts), sum(counts.values()))


@settings(max_examples=200, deadline=None)
@given(some_texts, st.text("abAB .!中é\n", max_size=20), st.sampled_from(list(TOKENS)))
def test_text_to_numbers_and_back(texts: list[str], text: str, tokens: str) -> None:
    v = Vocabulary.of(texts, tokens=tokens)
    numbers, words = v.encode(text), [t.text for t in tokenize(text, tokens)]
    assert numbers == [v.words.index(w) + 1 if w in v else 0 for w in words]
    glue = "" if tokens in ("characters", "bytes") else " "
    assert v.decode(numbers) == glue.join(w if w in v else "<oov>" for w in words)


def test_the_document_of_the_notes() -> None:
    """Document [4, 2, 2, 1, 2] over 8 words: ones at 1, 2 and 4."""
    v = Vocabulary([f"w{k}" for k in range(1, 9)], np.ones(8, np.int64), np.ones(8, np.int64), 1, 8)
    numbers = v.encode("w4 w2 w2 w1 w2")
    assert numbers == [4, 2, 2, 1, 2]
    assert v.decode(numbers) == "w4 w2 w2 w1 w2"
    assert sorted(set(numbers)) == [1, 2, 4]


def test_decode_refuses_numbers_that_are_not_there() -> None:
    v = Vocabulary.of(TEXTS)
    with pytest.raises(DataError, match="there is no word number 99; the vocabulary has 0"):
        v.decode([1, 99])
    with pytest.raises(DataError, match="no word number -1"):
        v.decode([-1])
    with pytest.raises(DataError, match="did you mean 'words'"):
        Vocabulary.of(TEXTS, tokens="word")
    with pytest.raises(DataError, match="cut-offs must be 1 or more"):
        v.cut(min_df=0)


def test_cut_offs_and_coverage() -> None:
    v = Vocabulary.of(TEXTS)
    assert v.words[:2] == ["cat", "the"]
    assert v.cut_offs([1, 2, 3]) == [
        {"min_df": 1, "words": 7, "coverage": 1.0},
        {"min_df": 2, "words": 2, "coverage": 6 / 11},
        {"min_df": 3, "words": 1, "coverage": 3 / 11},
    ]
    found = v.cut(min_df=2).coverage(["The cat and the bird and I", "bird"], top=2)
    assert (found.texts, found.tokens, found.known_tokens, found.types, found.known_types) == (2, 8, 3, 5, 2)
    assert found.unknown == (("and", 2), ("bird", 2))
    assert found.oov_rate == pytest.approx(5 / 8)
    assert Vocabulary.of([]).coverage([]).coverage == 1.0


def test_files(tmp_path: Path) -> None:
    v = Vocabulary.of([*TEXTS, "naïve 中 \u2028"], tokens="characters", min_df=2)
    v.save(tmp_path / "v.json")
    again = Vocabulary.load(tmp_path / "v.json")
    assert again.words == v.words
    assert again.encode("the cat") == v.encode("the cat")
    assert again.counts.tolist() == v.counts.tolist()
    assert (again.n_documents, again.n_tokens, again.tokens) == (v.n_documents, v.n_tokens, "characters")
    (tmp_path / "no.json").write_text('{"linnet": "vocabulary", "version": 1, "words": ["a"]}')
    for name in ("no.json", "v.json.gone"):
        with pytest.raises(DataError, match="vocabulary"):
            Vocabulary.load(tmp_path / name)


# ---- Zipf


@pytest.mark.parametrize("s", [0.7, 1.0, 1.3])
def test_the_exponent_is_found_again(s: float) -> None:
    exact = 1e9 * np.arange(1, 2001) ** -s
    law = Zipf.fit(np.round(exact).astype(np.int64))
    assert law.exponent == pytest.approx(s, abs=1e-4)
    assert law.expected([1, 10]) == pytest.approx(exact[[0, 9]], rel=1e-3)
    drawn = np.bincount(np.random.default_rng(0).choice(2000, 200_000, p=exact / exact.sum()))
    assert Zipf.fit(drawn).exponent == pytest.approx(s, abs=0.02)


def test_the_fit_is_the_maximum_of_the_likelihood() -> None:
    from scipy.optimize import minimize_scalar

    counts = np.sort(np.random.default_rng(1).integers(1, 500, 80))[::-1]
    logs = np.log(np.arange(1, 81))

    def loss(s: float) -> float:
        return float(s * (counts @ logs) + counts.sum() * np.log(np.exp(-s * logs).sum()))

    assert Zipf.fit(counts).exponent == pytest.approx(
        minimize_scalar(loss, bounds=(-5, 5), method="bounded").x, abs=1e-4
    )


def test_halving_is_not_the_law() -> None:
    """Each rank half the one before: the fit says so by an exponent far from 1, and the drawing by its distance."""
    law = Zipf.fit([2**k for k in range(20)])
    assert law.exponent > 1.5
    assert law.expected(10) > 2 * law.counts[9]


def test_drawings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import xml.etree.ElementTree as ET

    law = Vocabulary.of(["a a a a b b c d"] * 9).zipf()
    law.save(tmp_path / "z.svg")
    root = ET.parse(tmp_path / "z.svg").getroot()
    assert len(root.findall("{http://www.w3.org/2000/svg}circle")) == 4
    assert f"rank^{law.exponent:.3f}" in "".join(root.itertext())
    drawn = law.to_text().splitlines()
    assert drawn[0].startswith("36 |o")
    assert sum(line.count("o") for line in drawn[:16]) == 4
    with pytest.raises(DataError, match=r"end the name in \.svg or \.png"):
        law.save(tmp_path / "z.gif")
    with pytest.raises(DataError, match="cannot write"):
        law.save(tmp_path / "none" / "z.svg")
    with pytest.raises(DataError, match="at least two"):
        Zipf.fit([3])
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match=r"linnet\[report\]"):
        law.save(tmp_path / "z.png")


def test_png(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    Vocabulary.of(["a a a a b b c d"] * 9).zipf().save(tmp_path / "z.png")
    assert (tmp_path / "z.png").read_bytes().startswith(b"\x89PNG")


# ---- the commands


def run(*arguments: str, cwd: Path, stdin: bytes = b"") -> tuple[int, str, str]:
    done = running.run(*arguments, cwd=cwd, stdin=stdin)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_linnet_vocab(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat sat\nthe dog\nthe cat\n")
    (tmp_path / "b.txt").write_text("the bird sat\n")
    code, out, err = run(
        "vocab", "a.txt", "--other", "b.txt", "--min-df", "2", "--json", "--plot", "z.svg", cwd=tmp_path
    )
    assert code == 0, err
    found = json.loads(out)
    assert (found["texts"], found["tokens"], found["types"], found["kept"], found["seen_once"]) == (3, 7, 4, 2, 2)
    assert found["top"][0] == {"word": "the", "count": 3, "texts": 3}
    assert found["other"]["oov_rate"] == pytest.approx(2 / 3)
    assert found["zipf"]["exponent"] > 0
    assert "plot written to z.svg" in err
    assert (tmp_path / "z.svg").exists()
    code, out, err = run("vocab", "a.txt", "--other", "b.txt", "--save", "v.json", "--max-features", "3", cwd=tmp_path)
    assert "3 texts, 7 tokens, 4 different, 2 of them seen once" in out
    assert "OOV rate 66.67%" in out
    assert Vocabulary.load(tmp_path / "v.json").words == ["the", "cat", "dog"]
    assert run("vocab", "missing.txt", cwd=tmp_path)[0] == 2


def test_linnet_tokenize(tmp_path: Path) -> None:
    code, out, _ = run("tokenize", "The cat didn't.", "--tokens", "penn", cwd=tmp_path)
    assert code == 0
    assert out.splitlines()[0] == "the | cat | did | n't | ."
    assert "8-11" in out
    assert "5 pieces of 15 characters" in out
    code, out, _ = run("tokenize", "a [b] [red]c :smile:", "--json", "--tokens", "whitespace", cwd=tmp_path)
    assert json.loads(out) == {
        "text": "a [b] [red]c :smile:",
        "pieces": ["a", "[b]", "[red]c", ":smile:"],
        "offsets": [[0, 1], [2, 5], [6, 12], [13, 20]],
    }
    assert (
        "a | [b] | [red]c | :smile:"
        in run("tokenize", "a [b] [red]c :smile:", "--tokens", "whitespace", cwd=tmp_path)[1]
    )
    code, out, _ = run("tokenize", "-", cwd=tmp_path, stdin="né a\nb\n".encode())
    assert [json.loads(line)["pieces"] for line in out.splitlines()] == [["né", "a"], ["b"]]
    code, out, _ = run("tokenize", "--list", "--json", cwd=tmp_path)
    assert {row["tokens"] for row in json.loads(out)["tokenisers"]} > set(TOKENS)
    code, _, err = run("tokenize", cwd=tmp_path)
    assert (code, err.count("\n")) == (2, 1)


def test_linnet_tokenize_learns(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="the extra subword is not installed")
    (tmp_path / "a.txt").write_text("the cat sat\nthe dog\nthe cat\n" * 5)
    code, out, err = run(
        "tokenize", "the cat", "--tokens", "bpe:270", "--train", "a.txt", "--save", "b.json", cwd=tmp_path
    )
    assert code == 0, err
    assert out.splitlines()[0] == "the | Ġcat"
    code, out, _ = run("tokenize", "a.txt", "--tokens", "b.json", cwd=tmp_path)
    assert json.loads(out.splitlines()[0])["offsets"][:2] == [[0, 3], [3, 7]]
    assert run("tokenize", "x", "--save", "c.json", cwd=tmp_path)[0] == 2


def test_linnet_vocab_with_a_learned_tokeniser(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="the extra subword is not installed")
    from click.testing import CliRunner

    from linnet.cli.vocab import vocab
    from linnet.text import Subword

    data, other, learned = (str(tmp_path / name) for name in ("a.txt", "b.txt", "bpe.json"))
    Path(data).write_text("the cats sat\nthe dogs sat\nthe cat\n" * 5)
    Path(other).write_text("the dog sat\nthe cat\n")
    Subword.train("bpe", Path(data).read_text().splitlines(), 264).save(learned)
    given = ["--tokens", learned, "--other", other]
    done = CliRunner().invoke(vocab, [data, *given])
    assert done.exit_code == 0, done.output
    assert f"unknown before and after {learned}: 20.00% of the words, 0.00% of the pieces" in done.output
    found = json.loads(CliRunner().invoke(vocab, [data, *given, "--json"]).output)
    assert (found["other"]["word_oov_rate"], found["other"]["oov_rate"]) == (pytest.approx(0.2), 0.0)
    kept = Vocabulary.of(Path(data).read_text().splitlines(), tokens=learned)
    kept.save(tmp_path / "v.json")
    assert Vocabulary.load(tmp_path / "v.json").encode("the cat") == kept.encode("the cat")
