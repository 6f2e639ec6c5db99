"""Columns and headers: found by name, by content, or refused in one line that says what to do."""

import pytest

from linnet.data import read, stream
from linnet.data.columns import by_name, has_header
from linnet.errors import DataError

PROSE = ["the film was good", "I would not see it again", "a dull evening", "great cast", "so so", "never again"]


@pytest.fixture
def write(tmp_path):
    def writer(text, name="x.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return writer


def csv_of(columns, header=True):
    rows = zip(*columns.values(), strict=True)
    head = [",".join(columns)] if header else []
    return "\n".join([*head, *(",".join(row) for row in rows)]) + "\n"


@pytest.mark.parametrize(
    ("names", "text", "label"),
    [
        (["label", "text"], "text", "label"),
        (["id", "Review", "Stars"], "Review", "Stars"),
        (["title", "body", "category"], "body", "category"),
        (["reviewText", "overall_rating", "id"], "reviewText", "overall_rating"),
        (["text", "label", "label_text"], "text", "label"),
        (["Comment Text", "TARGET"], "Comment Text", "TARGET"),
        (["sentence", "y"], "sentence", "y"),
        (["a", "b"], None, None),
        (["comment_count", "text_label"], None, "text_label"),
    ],
)
def test_by_name(names, text, label):
    choice = by_name(names)
    assert (choice.text, choice.label) == (text, label)


def test_another_candidate_is_mentioned():
    assert "'title' is another" in by_name(["title", "text", "label"]).how


class TestGiven:
    def test_names_are_honoured(self, write):
        data = read(write("a,text,label,b\n1,x,y,good one\n2,z,w,bad one\n"), text="b", label="a")
        assert data.text.to_pylist() == ["good one", "bad one"]
        assert data.how == "text column 'b' (as given), label column 'a' (as given)"

    def test_case_does_not_matter(self, write):
        data = read(write("Body,Kind\nx,y\nz,w\n"), text="body", label="KIND")
        assert (data.text_column, data.label_column) == ("Body", "Kind")

    @pytest.mark.parametrize("use", [read, stream])
    def test_unknown(self, write, use):
        path = write("text,label\nx,y\nz,w\n")
        with pytest.raises(
            DataError, match=r"x\.csv: unknown column 'lable'; choose one of: text, label \(did you mean"
        ):
            use(path, label="lable")

    def test_the_same_twice(self, write):
        with pytest.raises(DataError, match="cannot be both the text and the label"):
            read(write("text,label\nx,y\nz,w\n"), text="text", label="Text")

    def test_a_given_name_makes_the_first_row_a_header(self, write):
        path = write("A very long name for a column, as surveys have them?\nyes\nno\n".replace(", as", " as"))
        assert read(path, text="a very long name for a column as surveys have them?").text.to_pylist() == ["yes", "no"]


class TestByContent:
    def test_text_and_label(self, write):
        columns = {
            "link": [f"https://example.com/reviews/by/number/{i}" for i in range(6)],
            "n": [str(i) for i in range(6)],
            "where": PROSE,
            "kind": ["a", "b", "a", "b", "a", "c"],
            "flag": ["1", "0", "1", "0", "1", "1"],
        }
        data = read(write(csv_of(columns)))
        assert (data.text_column, data.label_column) == ("where", "flag")
        assert data.how == (
            "text column 'where' (longest texts, 14 characters on average), "
            "label column 'flag' (2 distinct values; 'kind' has 3)"
        )

    def test_label_by_content_beside_a_text_by_name(self, write):
        data = read(write(csv_of({"text": PROSE, "mood": ["a", "b", "a", "b", "a", "b"]})))
        assert data.how == "text column 'text' (by name), label column 'mood' (2 distinct values)"

    def test_no_label_is_guessed_where_labels_are_not_asked_for(self, write):
        path = write(csv_of({"text": PROSE, "mood": ["a", "b", "a", "b", "a", "b"]}))
        assert read(path, labelled=False).label is None
        assert next(stream(path)).label is None

    def test_the_only_other_column_if_labels_are_needed(self, write):
        data = read(write("text,mood\nx,a\ny,b\n"), labelled=True)
        assert "label column 'mood' (the only other column)" in data.how

    def test_unfit_columns_are_no_labels(self, write):
        path = write(csv_of({"text": PROSE, "id": list("abcdef"), "same": ["k"] * 6}))
        assert read(path).label is None
        with pytest.raises(
            DataError, match=r"no column looks like labels.*\(text, id, same\); name them: --text COL"
        ) as e:
            read(path, labelled=True)
        assert "\n" not in str(e.value)

    def test_numbers_are_no_texts(self, write):
        path = write(csv_of({"a": list("123456"), "b": list("232323")}))
        with pytest.raises(
            DataError, match=r"none of the columns \(a, b\) holds texts; name them: --text COL --label COL"
        ):
            read(path)

    def test_sorted_labels_are_found_on_all_rows(self, write):
        """The first block alone shows one label."""
        columns = {"a": [f"text number {i}" for i in range(4000)], "b": ["neg"] * 2000 + ["pos"] * 2000}
        assert read(write(csv_of(columns))).labels == ["neg", "pos"]

    def test_stream_chooses_from_the_first_block(self, write):
        (batch,) = stream(write(csv_of({"n": list("123456"), "what": PROSE})))
        assert batch.text.to_pylist() == PROSE
        assert batch.how.startswith("text column 'what' (longest texts")


class TestHeaderless:
    def test_ag_news_style(self, write):
        rows = [
            '3,"Wall St. Bears Claw Back","Short-sellers, Wall Street\'s band of cynics, are seeing green again."',
            '4,"New phone","A phone with two screens was shown today."',
            '3,"Oil prices soar","Prices rose again."',
            '4,"Chips","Faster, smaller."',
        ]
        data = read(write("\n".join(rows)))
        assert len(data) == 4
        assert data.how.startswith("no header row (columns are called column_1 to column_3); text column 'column_3'")
        assert data.label.to_pylist() == ["3", "4", "3", "4"]
        assert read(write("\n".join(rows)), text="column_2").text[1].as_py() == "New phone"

    def test_sms_style(self, write):
        data = read(write("ham\tok lar\nspam\tWin a prize\nham\tsee you\nham\tlater\n", "sms.tsv"))
        assert data.label.to_pylist() == ["ham", "spam", "ham", "ham"]

    def test_one_column(self, write):
        assert len(read(write("This is the first review.\nSecond\n"))) == 2

    @pytest.mark.parametrize(
        ("rows", "expected"),
        [
            ([["label", "text"], ["text", "label"]], True),
            ([["foo", "bar"], ["1", "x y"], ["2", "z"]], True),
            ([["0", "1"], ["some words", "pos"], ["others", "neg"]], True),
            ([["1", "some words"], ["2", "others"]], False),
            ([["a b", "pos"], ["c d", "neg"], ["e f", "pos"]], False),
            ([["text", "That was not so bad. I liked it!"], ["text", "x"]], False),
            ([["only"]], True),
            ([], False),
        ],
    )
    def test_header(self, rows, expected):
        assert has_header(rows) is expected


def test_commands_take_the_text_column_of_training(tmp_path):
    """predict and evaluate read the column that the model was trained on; where it is not there, they say so."""
    from click.testing import CliRunner

    import linnet
    from linnet.cli import linnet as command

    rows = [("good fun", "a"), ("bad work", "b")] * 10
    data, other = tmp_path / "d.csv", tmp_path / "o.csv"
    data.write_text("text,body,label\n" + "".join(f"noise here,{t},{y}\n" for t, y in rows), encoding="utf-8")
    other.write_text("id,text,label\n" + "".join(f"{k},{t},{y}\n" for k, (t, y) in enumerate(rows)), encoding="utf-8")
    train = linnet.read(data, text="body")
    linnet.TextClassifier("nb", features="words:1").fit(train).save(tmp_path / "m.linnet")
    for verb in ("predict", "evaluate"):
        done = CliRunner().invoke(command, [verb, str(tmp_path / "m.linnet"), str(data)])
        assert "text column 'body' (as in training)" in done.stderr
        assert ("a\nb\na" if verb == "predict" else "accuracy 1.0") in done.stdout
        done = CliRunner().invoke(command, [verb, str(tmp_path / "m.linnet"), str(other)])
        assert "text column 'text' (by name; the model was trained on 'body', which is not there)" in done.stderr
        done = CliRunner().invoke(command, [verb, str(tmp_path / "m.linnet"), str(data), "--text", "text"])
        assert "text column 'text' (as given" in done.stderr
