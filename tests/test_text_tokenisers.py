"""Every tokeniser: pieces point at their slices, the lossless ones give the text back, anything goes in."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from linnet import TextClassifier, load
from linnet.errors import DataError, LinnetError, MissingExtraError, ModelFileError
from linnet.features.blocks import describe, parse
from linnet.features.buffers import text_buffers
from linnet.features.language import Bpe, WordPiece
from linnet.features.plan import default_blocks, unspaced
from linnet.text import TOKENISERS, TOKENS, Subword, tokeniser, tokenize
from linnet.text.tokens import UNKNOWN, budget_of, shown

tokenizers = pytest.importorskip("tokenizers", reason="the extra subword is not installed")

LEARNED_FROM = ["the cat sat on the mat", "the dog sat on the cat", "naïve café, 3.14!", "Ünder İstanbul ΣΑΣ"] * 5
LEARNED = {kind: Subword.train(kind, LEARNED_FROM, 300) for kind in ("bpe", "wordpiece")}
texts = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=40),
    st.text("abcdnotherCAT'’.,-:3 \t\n\u00ad\u200d中ไ👍é", max_size=60),
)


def pieces(text: str, tokens: str) -> list[str]:
    return [t.text for t in tokenize(text, tokens)]


# ---- English


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("did didn't DIDN’T", ["did", "did", "n't", "did", "n't"]),
        ("The cat.", ["the", "cat", "."]),
        ("I can't, cannot, couldn't've", ["i", "ca", "n't", ",", "can", "not", ",", "could", "n't", "'ve"]),
        ("They'll say she's John's", ["they", "'ll", "say", "she", "'s", "john", "'s"]),
        ("gonna wanna gotta gimme lemme", ["gon", "na", "wan", "na", "got", "ta", "gim", "me", "lem", "me"]),
        ("Mr. Smith of the U.S. (e.g. him)...", ["mr.", "smith", "of", "the", "u.s.", "(", "e.g.", "him", ")", "..."]),
        ("1,000.50 at 3:45, and/or well-known", ["1,000.50", "at", "3:45", ",", "and/or", "well-known"]),
        ("'quoted' ''old'' -- $5%", ["'", "quoted", "'", "''", "old", "''", "--", "$", "5", "%"]),
        ("what?!!", ["what", "?", "!", "!"]),
        ("rock'n'roll o'clock", ["rock'n'roll", "o'clock"]),
    ],
)
def test_penn(text: str, wanted: list[str]) -> None:
    assert pieces(text, "penn") == wanted


@settings(max_examples=400, deadline=None)
@given(texts)
@example("x's-y 's. n't've' Mr... U.S.. can't")
def test_penn_cuts_its_own_pieces_the_same_way(text: str) -> None:
    """So that the name of an n-gram, which is written by cutting it again, holds its words."""
    found = tokenize(text, "penn", "keep")
    for k, token in enumerate(found):
        assert [t.text for t in tokenize(text[token.start : token.end], "penn", "keep")] == [token.text]
        pair = found[k : k + 2]
        assert [t.text for t in tokenize(text[pair[0].start : pair[-1].end], "penn", "keep")] == [t.text for t in pair]


def test_penn_agrees_with_the_words_elsewhere() -> None:
    text = "中文 и русский 👩\u200d💻 हिन्दी"
    assert pieces(text, "penn") == pieces(text, "words")


# ---- all of them


def test_the_list_is_complete() -> None:
    assert set(TOKENISERS) == set(TOKENS) | set(LEARNED)


@settings(max_examples=300, deadline=None)
@given(texts, st.sampled_from(list(TOKENISERS)))
def test_places_and_nothing_crashes(text: str, name: str) -> None:
    check_places(text, name)


def check_places(text: str, name: str) -> None:
    found = LEARNED[name].tokens(text) if name in LEARNED else tokenize(text, name, "keep")
    clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    last = 0
    for token in found:
        assert last <= token.start < token.end <= len(text)
        last = token.start if name in ("bytes", "bpe", "wordpiece") else token.end  # parts of one character
        source = clean[token.start : token.end]
        if name == "bytes":
            assert token.text.encode("latin-1") in source.encode()
        elif name == "wordpiece":
            assert token.text == UNKNOWN or token.text.removeprefix("##") in source.lower()
        elif name in ("characters", "whitespace", "pattern"):
            assert token.text == source
    if name in LEARNED:
        assert [t.text for t in found] == LEARNED[name].pieces(text)
    if name == "bpe":
        assert LEARNED["bpe"].decode(LEARNED["bpe"].encode(text)) == clean
    elif name in ("characters", "bytes", "bpe"):
        whole = "".join(t.text for t in found)
        assert (whole.encode("latin-1").decode() if name == "bytes" else whole) == clean


def test_bytes_and_characters_of_one_text() -> None:
    assert [(t.text, t.start, t.end) for t in tokenize("é!", "bytes", "keep")] == [
        ("Ã", 0, 1),
        ("©", 0, 1),
        ("!", 1, 2),
    ]
    assert [t.text for t in tokenize("É a", "bytes", "fold")] == ["Ã", "\x89", " ", "a"]  # only ASCII is folded
    assert pieces("A b\n", "characters") == ["a", " ", "b", "\n"]
    assert shown(tokenize("é", "bytes")[0], "bytes") == "<C3>"


# ---- learned ones


@pytest.mark.parametrize("kind", LEARNED)
def test_learned_tokenisers_keep_their_budget_and_their_bytes(kind: str, tmp_path: Path) -> None:
    learned = LEARNED[kind]
    assert 16 < learned.size <= 300
    assert len(learned.vocabulary()) == learned.size
    learned.save(tmp_path / "t.json")
    again = Subword.load(tmp_path / "t.json")
    assert again == learned
    assert tokeniser(str(tmp_path / "t.json"))("the cat") == learned.tokens("the cat")
    code = (
        "import sys, hashlib; from linnet.text import Subword; "
        f"print(hashlib.sha256(Subword.train({kind!r}, {LEARNED_FROM!r}, 300).data).hexdigest())"
    )
    seen = set()
    for threads in "13":
        env = {**os.environ, "RAYON_NUM_THREADS": threads, "PYTHONHASHSEED": threads}
        seen.add(
            subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
        )
    assert len(seen) == 1


def test_learned_tokenisers_refuse_what_they_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(DataError, match=r"no\.json: this is not a saved BPE"):
        tokeniser(str(tmp_path / "no.json"))
    with pytest.raises(DataError, match="cannot read the tokeniser"):
        tokeniser("missing.json")
    with pytest.raises(LinnetError, match="give a budget from 257"):
        Subword.train("bpe", ["a"], 100)
    with pytest.raises(LinnetError, match="learned from texts first"):
        tokeniser("bpe:500")
    with pytest.raises(LinnetError, match="did you mean 'penn'"):
        tokeniser("pen")
    with pytest.raises(LinnetError, match="write the budget as a number"):
        budget_of("bpe:many")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"linnet\[subword\]"):
        Subword.train("bpe", ["a"], 300)


# ---- blocks over learned pieces

SHORT = ["good fun film", "great good cast", "loved this film", "so good", "fun and great", "what a cast"]
BAD = ["bad dull film", "awful bad cast", "hated this film", "so bad", "dull and awful", "what a bore"]


def fitted(features: str, **settings: object) -> TextClassifier:
    return TextClassifier(features=features, **settings).fit(SHORT * 2 + BAD * 2, ["p"] * 12 + ["n"] * 12)


def test_blocks_are_read_as_they_are_written() -> None:
    for text in ("bpe:8000:1-2", "wordpiece:500:2*0.5", "words:1-2+bpe:300:1"):
        assert describe(parse(text)) == text
    assert parse("bpe") == (Bpe(1, 1),)
    assert parse("wordpiece:1-2") == (WordPiece(1, 2),)
    with pytest.raises(LinnetError, match="cannot read the feature block 'bpe:x'"):
        parse("bpe:x")
    from linnet.features import Vectorizer

    with pytest.raises(LinnetError, match="counts n-grams of the text itself"):
        Vectorizer("bpe:300").fit(["a"])


@pytest.mark.parametrize(
    "features",
    ["bpe:300:1-2", "wordpiece:60:1-2", "words:1-2+bpe:300:1*0.5", "bpe:290:1+chars:2-3+wordpiece:50:1+bpe:290:2"],
)
@pytest.mark.parametrize("hash_bits", [None, 10])
def test_models_over_pieces(features: str, hash_bits: int | None, tmp_path: Path) -> None:
    clf = fitted(features, hash_bits=hash_bits, n_jobs=1)
    clf.save(tmp_path / "a.linnet")
    fitted(features, hash_bits=hash_bits, n_jobs=3).save(tmp_path / "b.linnet")
    assert (tmp_path / "a.linnet").read_bytes() == (tmp_path / "b.linnet").read_bytes()
    again = load(tmp_path / "a.linnet")
    odd = ["", "good", "Bad   naïve 中文 👍!", "\ud800"]
    assert (again.artefact.scores(odd) == clf.artefact.scores(odd)).all()
    for text in odd:  # one by one as together
        assert (again.artefact.scores([text]) == again.artefact.scores(odd)[[odd.index(text)]]).all()
    assert clf.score(SHORT + BAD, ["p"] * 6 + ["n"] * 6) >= 0.9
    text = "a Good, baddish film"
    found = again.explain(text)
    assert found.score == pytest.approx(found.bias + sum(c.value for c in found.contributions), abs=1e-9)
    for c in found.contributions:
        for start, end in c.spans[: 1 if hash_bits else None]:  # features that share a column are one
            written = text[start:end].casefold().replace(" ", "")
            name = c.feature.replace("##", "").replace("Ġ", "").replace("▁", "").replace(" ", "").casefold()
            assert name == written or UNKNOWN in c.feature


def test_pieces_equal_words_where_the_tokeniser_knows_every_word() -> None:
    """A WordPiece model that holds all words whole scores as a model over its words does."""
    data, labels = SHORT * 4 + BAD * 4, ["p"] * 24 + ["n"] * 24
    whole = TextClassifier("nb", features="wordpiece:4000:1-2").fit(data, labels)
    words = TextClassifier("nb", features="words:1-2:whitespace").fit(data, labels)
    new = ["good film and cast", "what a dull bore"]
    assert whole.decision_function(new) == pytest.approx(words.decision_function(new), rel=1e-5)


def test_a_comparison_learns_the_tokeniser_in_each_training_part() -> None:
    from linnet.comparison import compare

    names = (
        [f"{a} {b}" for a in ("good", "great", "fun") for b in SHORT],
        [f"{a} {b}" for a in ("bad", "dull") for b in BAD],
    )
    data, labels = names[0] + names[1], ["p"] * 18 + ["n"] * 12
    found = compare(data, labels, models=["nb"], features="bpe:290:1", folds=3)
    assert found is not None


def test_a_model_with_an_altered_tokeniser_is_refused(tmp_path: Path) -> None:
    from linnet.model import file as store

    clf = fitted("bpe:300")
    clf.save(tmp_path / "m.linnet")
    stored = store.read(tmp_path / "m.linnet")
    tensors = {**stored.tensors, "tokeniser.0": stored.tensors["tokeniser.0"][:50]}
    store.write(tmp_path / "n.linnet", tensors, stored.card)
    with pytest.raises(ModelFileError, match="not a saved BPE"):
        load(tmp_path / "n.linnet")


# ---- more than English


def test_scripts_without_blanks_get_characters_across_words() -> None:
    chinese, english = ["这部电影很好看", "一点也不好看，别去"], ["a good film", "не очень"]
    assert describe(default_blocks(text_buffers(chinese))) == "chars:1-5:whitespace"
    assert describe(default_blocks(text_buffers(english))).startswith("words:1-3")
    assert not unspaced(text_buffers([]))
    assert not unspaced(text_buffers(["", "한국어 영화", "中"[:0]]))
    heard: list[str] = []
    TextClassifier("nb").fit(chinese * 3, ["p", "n"] * 3, on_event=lambda e: heard.append(e.text))
    assert "counting features chars:1-5:whitespace: most texts have no blanks between words" in heard


def languages() -> dict[str, list[str]]:
    path = Path(os.environ.get("LINNET_DATA", "/nowhere")) / "lid_lingua75" / "all.csv"
    if not path.exists():
        pytest.skip("LINNET_DATA/lid_lingua75 is not there")
    found: dict[str, list[str]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["label"], []).append(row["text"])
    return found


@pytest.mark.slow
def test_real_languages_choose_their_blocks() -> None:
    for label, lines in languages().items():
        assert unspaced(text_buffers(lines)) == (label in ("ja", "th", "zh")), label
    mixed = [text for lines in languages().values() for text in lines]
    assert not unspaced(text_buffers(mixed))


@pytest.mark.slow
@pytest.mark.parametrize("name", TOKENISERS)
def test_real_languages_round_trip(name: str) -> None:
    """75 languages, right to left and accents and all; with emoji put in and cased the Turkish way."""
    for lines in languages().values():
        for text in lines[:40]:
            check_places(text, name)
            check_places(text.replace(" ", " 👩\u200d💻\u200f", 2).replace("i", "İ").replace("I", "ı"), name)
