"""Side columns as features: what is learned, the values, and every way that rows come in."""

from __future__ import annotations

import csv
import json
import math
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import linnet
from linnet import TextClassifier, compare
from linnet.cli import linnet as command
from linnet.data import read, stream
from linnet.errors import DataError, LinnetError
from linnet.features import Column, Lengths, Words
from linnet.features.blocks import compute, describe, parse, scales
from linnet.features.buffers import text_buffers
from linnet.features.columns import FARTHEST, KINDS, MOST, Category, Date, Number
from linnet.features.showing import seen

RNG = np.random.default_rng(0)
WORDS = ["good", "bad", "book", "plot", "dull", "fun"]


def made(n: int = 120) -> list[dict]:
    """Rows whose columns tell the label, and whose texts tell little."""
    rows = []
    for k in range(n):
        good = k % 2 == 0
        rows.append(
            {
                "body": " ".join(RNG.choice(WORDS, 5)),
                "priority": str(RNG.choice(["low", "mid", "high"], p=[0.8, 0.1, 0.1] if good else [0.1, 0.1, 0.8])),
                "price": None if k % 11 == 0 else round(float(RNG.normal(20 if good else 10, 3)), 2),
                "created": f"2024-05-{(6 if good else 9) + k % 3:02}T{k % 24:02}:15:00",
                "label": "yes" if good else "no",
            }
        )
    return rows


ROWS = made()
LABELS = [row["label"] for row in ROWS]
NEEDS = ["priority", "price", "created"]
FEATURES = "words:1+column:priority+column:price+column:created"


def learned(column: str, cells: list, kind: str | None = None) -> Column:
    return Column(column, kind).learn(text_buffers([{"text": "a", column: c} for c in cells], [column]), None, {})


def values(block: Column, cells: list) -> np.ndarray:
    return block.values([{"text": "a", block.column: c} for c in cells])


# ---- blocks


def test_blocks_are_read_as_they_are_written():
    for text in ("column:priority", "words:1-2+column:price:number*0.5", "column:Created At:date", "column:a-b.c"):
        assert describe(parse(text)) == text
    assert parse("words:1 + column: a b :number * 2") == (Words(1, 1), Column("a b", "number", weight=2.0))
    assert Words(1, 1) + Column("x") == (Words(1, 1), Column("x"))
    assert eval(repr(Column("x", "date", weight=0.5))) == Column("x", "date", weight=0.5)
    assert learned("x", ["1", "2"]) == Column("x", "number", reading=Number(1.5, 0.5))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: parse("column"), "cannot read the feature block 'column'"),
        (lambda: parse("column:"), "cannot read"),
        (lambda: parse("column:x:numbr"), "unknown kind of column 'numbr'.*did you mean 'number'"),
        (lambda: Column("x", weight=0), "weight of a block must be above 0"),
        (lambda: Column("  "), "takes the name of a column"),
        (lambda: parse("column:x+column:x"), "given twice"),
        (lambda: Column("x").columns, "column:x has not been learned"),
        (lambda: learned("x", [None, " "]), "column 'x' is empty in all 2 training rows; leave out 'column:x'"),
        (lambda: learned("x", ["1", "x"], "number"), r"'x', training row 2: 'x' is no number; .*column:x:category"),
        (lambda: learned("x", ["2024-01-01", "soon"], "date"), "training row 2: 'soon' is no date"),
    ],
)
def test_blocks_that_cannot_be(make, message):
    with pytest.raises(LinnetError, match=message):
        make()


# ---- what is learned


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", None, "-3e2"], "number"),
        ([1, 2.5, None], "number"),
        (["1", "2", "n/a"], "category"),
        (["2024-05-01", "2024-05-01T12:30", None], "date"),
        (["Wed, 01 May 2024 12:30:00 +0200"], "date"),
        (["2024-05-01", "7"], "category"),
        (["true", "false"], "category"),
        ([True, False], "category"),
        (["nan", "1"], "category"),
        (["", "x"], "category"),
    ],
)
def test_the_kind_is_found(cells, kind):
    assert learned("x", cells).kind == kind


def test_only_training_rows_teach():
    pieces = text_buffers([{"text": "a", "x": v} for v in ("1", "3", "x", "100")], ["x"])
    block = Column("x").learn(pieces, np.array([0, 1]), {})
    assert block.reading == Number(2.0, 1.0)
    assert block.values_of(pieces[0]).tolist() == [[-1, 0], [1, 0], [0, 1], [FARTHEST, 0]]
    assert block.learn(pieces, None, {}) is block


def test_dates():
    block = learned("day", ["2024-05-03", "2022-05-03T00:00:00", None])
    assert block.reading == Date(2023.0, 1.0, hours=False)
    assert len(block.columns) == 1 + 12 + 7 + 1
    on = [[n for n, v in zip(block.columns, row, strict=True) if v] for row in values(block, ["2024-12-29", None, "x"])]
    assert on == [["day year", "day month=12", "day weekday=Sunday"], ["day, no date"], ["day, no date"]]
    block = learned("day", ["2024-05-03T23:10:00-07:00"])
    on = [n for n, v in zip(block.columns, values(block, ["2024-05-03T23:10:00-07:00"])[0], strict=True) if v]
    assert on == ["day month=5", "day weekday=Friday", "day hour=23"]  # as the clock had it


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)))
def test_every_date_switches_on_its_parts(when):
    block = Column("d", "date", reading=Date(2000.0, 10.0, hours=True))
    row = dict(zip(block.columns, values(block, [when.isoformat()])[0].tolist(), strict=True))
    on = {name for name, value in row.items() if value == 1.0 and name != "d year"}
    day = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"][when.weekday()]
    assert on == {f"d month={when.month}", f"d weekday={day}", f"d hour={when.hour}"}
    assert row["d year"] == np.clip((when.year - 2000) / 10, -FARTHEST, FARTHEST)


def test_frequent_values_have_switches_of_their_own():
    cells = [f"v{k}" for k in range(MOST + 50) for _ in range(1 + (k < 70))] + ["(other)", "(other)", "(other)"]
    block = learned("x", cells)
    assert len(block.columns) == MOST + 2 == len(set(block.columns))
    assert block.columns[0] == "x=(other)"  # the value of that name
    assert block.columns[-2:] == ("x=((other))", "x=(missing)")
    assert block.reading.known[1:71] == tuple(sorted(f"v{k}" for k in range(70)))
    assert values(block, ["v149", None, "new"])[:, -2:].tolist() == [[1, 0], [0, 1], [1, 0]]


cells_of = st.lists(
    st.none() | st.text(max_size=6) | st.floats(allow_nan=True).map(str) | st.dates().map(str) | st.integers().map(str),
    min_size=1, max_size=12,
)  # fmt: skip


@given(cells_of, cells_of, st.sampled_from([None, *KINDS]))
def test_any_cells(train, later, kind):
    try:
        block = learned("x", train, kind)
    except DataError as error:
        assert "training row" in str(error) or "is empty in all" in str(error)  # noqa: PT017
        return
    found = values(block, [*train, *later])
    assert found.shape == (len(train) + len(later), len(block.columns))
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= FARTHEST
    if block.kind == "category":
        assert (found.sum(axis=1) == 1).all()
    alone = np.concatenate([values(block, [cell]) for cell in [*train, *later]])
    np.testing.assert_array_equal(found, alone)
    again = Column.from_dict(json.loads(json.dumps(block.to_dict())))
    assert again == block
    assert len(set(block.columns)) == len(block.columns)


def test_large_numbers_are_no_trouble():
    block = learned("x", ["1e308", "-1e308", "1e308"])
    found = values(block, ["1e308", "-1e308", "1e999"])
    assert np.isfinite(found).all()
    assert found[:, 1].tolist() == [0, 0, 1]
    assert learned("x", ["5", "5"]).reading == Number(5.0, 1.0)
    assert learned("x", ["0", "0"]).reading == Number(0.0, 1.0)
    assert learned("x", ["5e-324", "0"]).kind == "number"


# ---- oracles


def test_values_are_those_of_scikit_learn():
    pd = pytest.importorskip("pandas")
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = pd.DataFrame(ROWS)[["body", "priority", "price"]].dropna()
    blocks = tuple(Column(c).learn(text_buffers(frame, ["priority", "price"]), None, {}) for c in ("priority", "price"))
    ours = compute(blocks, text_buffers(frame, ["priority", "price"]))
    names = [name for block in blocks for name in block.columns]
    theirs = ColumnTransformer(
        [("category", OneHotEncoder(sparse_output=False), ["priority"]), ("number", StandardScaler(), ["price"])],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas").fit_transform(frame)  # fmt: skip
    for name in ("low", "mid", "high"):
        np.testing.assert_array_equal(ours[:, names.index(f"priority={name}")], theirs[f"priority_{name}"])
    np.testing.assert_allclose(ours[:, names.index("price, number")], theirs["price"], rtol=1e-6)
    others = [k for k, name in enumerate(names) if name.endswith((")", "no number"))]
    assert not ours[:, others].any()


@given(st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=40), st.lists(st.sampled_from("abxyz"), max_size=5))
def test_switches_are_those_of_one_hot_encoder(train, later):
    from sklearn.preprocessing import OneHotEncoder

    theirs = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(np.array(train)[:, None])
    made = Category.learn(train)
    order = [made.known.index(c) for c in theirs.categories_[0]]
    np.testing.assert_array_equal(
        made.values([*train, *later])[:, order], theirs.transform(np.array([*train, *later])[:, None])
    )


def test_switches_are_not_scaled():
    block, lengths = learned("x", ["a"] * 9 + ["b"]), Lengths()
    found = compute((block, lengths), text_buffers([{"text": "so so", "x": v} for v in "aab"], ["x"]))
    scale = scales(found, (Column("x", reading=block.reading, kind="category", weight=0.5), lengths))
    assert scale[: len(block.columns)].tolist() == [0.5] * 4
    assert scale[len(block.columns)] == pytest.approx(1 / math.log(3))


# ---- every way in


def ways(rows: list[dict]) -> dict:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    table = pa.Table.from_pylist(rows)
    return {
        "dicts": rows, "tuple": tuple(rows), "arrow": table, "batch": table.to_batches()[0],
        "chunks": pa.concat_tables([table.slice(0, 50), table.slice(50, 1), table.slice(51)]),
        "pandas": pd.DataFrame(rows), "polars": pl.DataFrame(rows), "dataset": read(rows, text="body", also=NEEDS),
    }  # fmt: skip


def test_rows_of_any_kind_give_the_same():
    clf = TextClassifier("logistic", features=FEATURES).fit(ROWS, LABELS)
    assert clf.artefact.needs == tuple(NEEDS)
    expected = clf.decision_function(ROWS)
    for name, rows in ways(ROWS).items():
        np.testing.assert_array_equal(clf.decision_function(rows), expected, err_msg=name)
    np.testing.assert_array_equal(np.concatenate([clf.decision_function([row]) for row in ROWS]), expected)
    again = TextClassifier("logistic", features=FEATURES).fit(ways(ROWS)["pandas"], LABELS)
    np.testing.assert_array_equal(again.decision_function(ROWS), expected)


def test_the_columns_are_worth_it_and_threads_change_nothing(tmp_path):
    train, test = ways(ROWS[:90])["dataset"], ROWS[90:]
    both = TextClassifier(features=FEATURES).fit(train)
    words = TextClassifier(features="words:1").fit(train)
    assert both.score(test, LABELS[90:]) >= 0.9 > words.score(test, LABELS[90:])
    for threads in (1, 2):
        TextClassifier(features=FEATURES, n_jobs=threads).fit(train).save(tmp_path / f"{threads}.linnet")
    assert (tmp_path / "1.linnet").read_bytes() == (tmp_path / "2.linnet").read_bytes()
    assert both.card["settings"]["features"] == (
        "words:1+column:priority:category+column:price:number+column:created:date"
    )


@pytest.mark.parametrize("bits", [None, 10])
@pytest.mark.parametrize("model", ["svm", "logistic", "perceptron", "feed_forward"])
def test_saved_models_and_explanations(model, bits, tmp_path):
    from linnet.models import MODELS

    name = model if model in MODELS else next(m for m in MODELS if "net" in m or "feed" in m)
    clf = TextClassifier(name, features=FEATURES, hash_bits=bits).fit(ways(ROWS)["dataset"])
    clf.save(tmp_path / "m.linnet")
    again = linnet.load(tmp_path / "m.linnet")
    np.testing.assert_array_equal(again.decision_function(ROWS), clf.decision_function(ROWS))
    assert again.artefact.computed == clf.artefact.computed
    for row in ROWS[:4]:
        found = again.explain(row, "yes")
        assert found.text == row["body"]
        assert found.score == pytest.approx(float(again.decision_function([row])[0]), abs=1e-9)
        assert found.bias + sum(c.value for c in found.contributions) == pytest.approx(found.score, abs=1e-5)
        said = {c.shown for c in found.contributions if c.block == "column"}
        assert f"priority={row['priority']}" in said
        assert ("price is missing" if row["price"] is None else f"price={row['price']:g}") in said
        assert all(not c.spans for c in found.contributions if c.block == "column")
        assert f"priority={row['priority']}" in dict(found.by_word())
        assert f"priority={row['priority']}" in found.to_text(50)
        assert f"priority={row['priority']}" in found._repr_html_()


def test_other_values_are_named_as_they_are():
    clf = TextClassifier("logistic", features="words:1+column:priority").fit(ROWS, LABELS)
    said = [c.shown for c in clf.explain({"body": "fun", "priority": "urgent"}).contributions if c.block == "column"]
    assert said == ["priority=urgent (other)"]
    assert {name for name, _ in clf.top_features("yes", 99)} >= {"priority=low", "priority=(missing)", "fun"}


def test_columns_alone():
    clf = TextClassifier("logistic", features="column:priority").fit(ROWS, LABELS)
    assert clf.predict([{"body": "x", "priority": "low"}, {"body": "x", "priority": "high"}]).tolist() == ["yes", "no"]
    assert clf.classify({"body": "x", "priority": "high"}) == "no"


def test_naive_bayes_takes_categories_and_says_what_it_does_not_take():
    assert TextClassifier("nb", features="words:1+column:priority").fit(ROWS, LABELS).score(ROWS, LABELS) > 0.8
    with pytest.raises(DataError, match="no negative features"):
        TextClassifier("nb", features="words:1+column:price").fit(ROWS, LABELS)


def test_dev_rows_do_not_teach():
    dev = [{**row, "priority": "unheard of"} for row in ROWS[:20]]
    clf = TextClassifier("logistic", features="column:priority").fit(ROWS, LABELS, dev=(dev, LABELS[:20]))
    assert set(clf.artefact.computed[0].reading.known) == {"low", "mid", "high"}


def test_comparison():
    data = ways(ROWS)["dataset"]
    found = compare(data, models="logistic,logistic:features=words:1", features=FEATURES, folds=3)
    scores = {m.name: m.accuracy for m in found.models}
    assert scores["logistic"] > 0.9 > scores["logistic:features=words:1"]
    alone = compare(data, models="logistic", features=FEATURES, folds=3, share=False)
    assert alone.best.accuracy == scores["logistic"]


# ---- what is missing


def test_columns_that_are_not_there():
    clf = TextClassifier("logistic", features=FEATURES).fit(ROWS, LABELS)
    message = r"the column 'priority' is needed beside each text; give rows such as \{'text': ..., 'priority': ...\}"
    for call in (clf.predict, clf.predict_proba, lambda texts: clf.explain(texts[0])):
        with pytest.raises(DataError, match=message):
            call(["a text"])
    with pytest.raises(DataError, match=message):
        TextClassifier(features=FEATURES).fit(["a", "b"], ["x", "y"])
    with pytest.raises(DataError, match=r"unknown column 'created'; choose one of: .*body"):
        clf.predict([{k: v for k, v in ROWS[0].items() if k != "created"}])
    with pytest.raises(DataError, match=r"column 'priority' was not read; read it with also=\['priority'\]"):
        clf.predict(read(ROWS, text="body"))
    with pytest.raises(DataError, match=r"put it in a list: \[row\]"):
        clf.predict(ROWS[0])
    with pytest.raises(DataError, match="column 'label' holds the labels; leave it out"):
        TextClassifier(features="words:1+column:label").fit(read(ROWS, text="body", label="label", also=["label"]))


def test_names_are_found_whatever_their_case():
    data = read(ROWS, text="body", also=["Priority"])
    clf = TextClassifier("logistic", features="column:PRIORITY").fit(data)
    assert clf.predict([{"text": "x", "Priority": "high"}]).tolist() == ["no"]


def test_rows_without_columns_do_for_any_model():
    clf = TextClassifier("nb", features="words:1").fit(["good", "bad"] * 3, ["a", "b"] * 3)
    assert clf.predict([{"text": "good"}, {"text": None}]).tolist()[0] == "a"
    assert clf.predict(pa.table({"text": ["bad", "good"], "id": [1, 2]})).tolist() == ["b", "a"]


# ---- streams and commands


def test_streams_keep_columns():
    batches = list(stream(ROWS, text="body", also=["price", "priority"], batch_rows=50))
    assert [len(b) for b in batches] == [50, 50, 20]
    assert [v for b in batches for v in b.also["priority"].to_pylist()] == [row["priority"] for row in ROWS]
    data = read(ROWS, text="body", also=["price"])
    assert [b.also["price"].to_pylist() for b in stream(data, also=["price"])] == [data.column("price")]
    with pytest.raises(DataError, match="unknown column 'prise'"):
        list(stream(ROWS, also=["prise"]))


def write(path, rows: list[dict]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def run(*arguments: str):
    done = CliRunner().invoke(command, list(arguments))
    return done.output if done.exception is None else str(done.exception)


def test_commands(tmp_path):
    data, model = write(tmp_path / "d.csv", ROWS), str(tmp_path / "m.linnet")
    without = write(tmp_path / "w.csv", [{"body": "x", "label": "yes", "priority": "low"}])
    out = run("train", data, "--text", "body", "--features", FEATURES, "--out", model, "--no-check", "-q")
    assert "saved" in out
    clf = linnet.load(model)
    labels = run("predict", model, data, "-q").split()
    assert labels == clf.predict(ROWS).tolist()
    assert "accuracy 0.9" in run("evaluate", model, data) or "accuracy 1.0" in run("evaluate", model, data)
    asked = ["--column", "priority=high", "--column", "price=11", "--column", "created=2024-05-09"]
    out = run("explain", model, "good fun", *asked)
    assert "priority=high" in out
    assert out.startswith("good fun")
    assert "the model reads the column 'priority' too; add --column priority=VALUE" in run("explain", model, "good fun")
    assert "--column takes NAME=VALUE" in run("explain", model, "good fun", "--column", "priority")
    for verb in (["predict", model, without, "-q"], ["evaluate", model, without]):
        assert "w.csv: unknown column 'price'; choose one of: body, label, priority" in run(*verb)
    out = run(
        "compare", data, "--models", "logistic", "--features", "column:priority", "--folds", "2", "-q", "--json", "-"
    )
    assert json.loads(out[out.index("{") :])["models"][0]["accuracy"] > 0.7
    assert "priority=low" in run("features", model, "x", "--column", "priority=low")
    assert "column 'created' of the data" in run("features", model, "x")
    listed = json.loads(run("features", "--json"))["blocks"]
    assert {"column", "lemmas", "pos"} <= {row["block"] for row in listed}


def test_words_of_another_column(tmp_path):
    """A namespace of a .vw file is a block with a weight; the words of two columns are different features."""
    lines = ["1 |title good film |body bad acting", "-1 |title bad film |body good acting"] * 12
    (tmp_path / "d.vw").write_text("\n".join(lines), encoding="utf-8")
    model = str(tmp_path / "m.linnet")
    features = "field:title:1*2+field:body:1-2:whitespace"
    assert "saved" in run(
        "train", str(tmp_path / "d.vw"), "--features", features, "--model", "nb", "--out", model, "--no-check", "-q"
    )
    clf = linnet.load(model)
    assert clf.artefact.needs == ("title", "body")
    rows = [{"text": "", "title": "good film", "body": "bad acting"}, {"text": "", "title": "bad film", "body": "good"}]
    assert clf.predict(rows).tolist() == ["1", "-1"]
    found = clf.explain(rows[0])
    assert found.bias + sum(c.value for c in found.contributions) == pytest.approx(found.score)
    assert {c.shown for c in found.contributions} == {"good", "film", "bad", "bad acting", "acting"}
    assert run("predict", model, str(tmp_path / "d.vw"), "-q").split() == ["1", "-1"] * 12
    with pytest.raises(linnet.DataError, match="the column 'title' is needed"):
        clf.predict(["good"])
    clf = linnet.TextClassifier("svm", features="words:1+field:title:1").fit(rows * 6, ["a", "b"] * 6)
    assert clf.predict(rows).tolist() == ["a", "b"]


def test_what_is_shown():
    block = learned("x", ["a", "b"])
    assert seen({"text": "hm", "x": "b"}, (block,))[0].values == (("x=b", 1.0),)
    assert seen("hm", (block,))[0].note == "column 'x' of the data, beside the text"
    assert seen({"text": "hm", "x": "b"}, "column:x")[0].note == "column 'x' is learned from the training rows"


def test_reports():
    clf = TextClassifier("logistic", features=FEATURES).fit(ways(ROWS)["dataset"])
    labels = ["yes"] * 30 + ["no"] * 30
    data = read(
        [{**row, "label": y} for row, y in zip(ROWS, labels, strict=False)], text="body", label="label", also=NEEDS
    )
    assert "<h2>Verdict</h2>" in linnet.Report(clf, data).html
