"""Models from word lists alone: which texts get a label, what is said, and what is refused."""

import numpy as np
import pytest
from click.testing import CliRunner

import linnet
from generated import topics
from linnet import TextClassifier
from linnet.cli import linnet as command
from linnet.errors import LinnetError
from linnet.pipeline.unlabelled import label_by_seeds

SEEDS = {"food": ["bread", "soup"], "tech": ["disk", "server"]}


def test_texts_without_a_seed_get_the_right_label_too():
    x, y = topics(400, 0)
    made = label_by_seeds(x, SEEDS, TextClassifier(unlabelled=x))
    assert len(made.rows) == 280
    without = [k for k, row in enumerate(made.rows) if not {*x[row].split()} & {"bread", "soup", "disk", "server"}]
    assert len(without) > 50
    assert np.mean([made.labels[k] == y[made.rows[k]] for k in without]) > 0.95
    again = label_by_seeds(x, SEEDS, TextClassifier(unlabelled=x))
    assert again.labels == made.labels


def test_the_command_says_that_nothing_was_judged(tmp_path):
    x, y = topics(400, 0)
    (tmp_path / "rows.csv").write_text("text,topic\n" + "".join(f"{a},{b}\n" for a, b in zip(x, y, strict=True)))
    (tmp_path / "seeds.csv").write_text("word,label\n" + "".join(f"{w},{c}\n" for c in SEEDS for w in SEEDS[c]))
    arguments = [
        "train",
        str(tmp_path / "rows.csv"),
        "--seeds",
        str(tmp_path / "seeds.csv"),
        "--out",
        str(tmp_path / "m.linnet"),
    ]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    assert "test accuracy" not in done.output
    assert "agreement with labels made from the word lists" in done.output
    assert "judged without labels" in done.output
    model = linnet.load(tmp_path / "m.linnet")
    assert model.card["data"]["labels_made_from"] == "seeds.csv"
    assert model.predict(["butter and cheese", "router, cable"]).tolist() == ["food", "tech"]
    judged = CliRunner().invoke(command, [*arguments, "--force", "--label", "topic"])
    assert judged.exit_code == 0, judged.output
    assert "on the 400 rows that have a label" in judged.output


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        ({"food": ["bread"]}, "two classes"),
        ({"food": ["bread"], "tech": ["zeppelin"]}, "no text has a word of 'tech'"),
        ({"bread": 1.0, "disk": -1.0}, "words of classes"),
    ],
)
def test_seeds_that_cannot_work_are_refused(seeds, said):
    x, _ = topics(40, 0)
    with pytest.raises(LinnetError, match=said):
        label_by_seeds(x, seeds, TextClassifier())
