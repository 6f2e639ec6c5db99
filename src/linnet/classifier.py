"""The front door: text in, label out.

``TextClassifier`` counts features once, chooses settings on held-out rows, fits the model on everything, calibrates, and
ends as one :class:`~linnet.model.model.Model` that predicts, explains and saves.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linnet import explain as explanations
from linnet.errors import DataError, LinnetError, not_fitted
from linnet.estimator import Estimator, sklearn_tags
from linnet.model.decision import Decision
from linnet.model.model import Model
from linnet.pipeline.events import Event, Log, OnEvent, OnFound
from linnet.solvers.callbacks import History
from linnet.values import label_number, plain_list

if TYPE_CHECKING:
    from concurrent.futures import Future

    from linnet.features.derived import Part
    from linnet.pipeline.learner import IncrementalLearner, Progressive
    from linnet.pipeline.plan import Plan
    from linnet.pipeline.search import HeldOut, SearchResult

__all__ = ["Event", "TextClassifier", "load"]


@dataclass(eq=False, repr=False)
class TextClassifier(Estimator):
    """Learn labels from texts.

    Parameters: ``model`` is a name (of ``linnet.models.MODELS``) or a model object; ``features`` text such as
    ``"words:1-2+chars:2-5"`` or blocks (default: by the length of the documents); ``vectors`` a file of word vectors that
    join them, or ``unlabelled`` texts (a file, a list) that such vectors are learned from (naive Bayes takes them by EM);
    ``tf`` presence, count or sublinear, or several to choose from; ``idf``; ``norm`` of each block of a row ("l2", "mean" or
    None; "auto": what suits the model); ``ratio`` the power p of the supervised |log-count ratio|^p, one value or several to choose
    from; ``min_df``, ``max_df``, ``max_features``, ``hash_bits``; ``select`` such as "chi2:5000" ("mi", "l1") keeps
    the features that tell most of the labels; ``vocabulary`` names the only ones (a list, or a file with one a line); those that no
    training text holds are left out, but naive Bayes keeps them; ``class_weight`` None, "balanced" or a dict;
    ``label_smoothing`` the share of each label that goes to all classes alike;
    ``params`` fixed or listed settings of the model (``{"C": 1.0}``,
    ``{"C": [0.3, 1, 3]}``), also reached as ``set_params(model__C=1.0)``;
    ``refit`` on train and dev once the settings are chosen; ``calibrate`` True: scale, sigmoid or isotonic, chosen on
    held-out rows; or one of them by name; or False; ``decision`` how probabilities become answers, kept in the model:
    ``{"threshold": {"spam": 0.9}}``, ``"precision"`` or ``"recall"`` ``{"spam": 0.95}`` (a threshold chosen on
    held-out rows), ``"cost"``, ``"abstain"`` and ``"answer"`` as in ``predict``; ``forget`` the share of what was
    learned that ``partial_fit`` drops before each chunk; ``full_precision`` keeps the weights of large models as 32-bit floats,
    which are rounded to 16 bits otherwise; ``random_state``; ``n_jobs`` threads (None: all cores; never
    changes the result).

    >>> clf = TextClassifier("nb", features="words:1")
    >>> texts = ["loved it", "great fun", "loved the cast", "dull", "a dull bore", "awful"]
    >>> clf = clf.fit(texts, ["pos", "pos", "pos", "neg", "neg", "neg"])
    >>> clf.predict(["loved the fun", "dull and awful"]).tolist()
    ['pos', 'neg']
    """

    model: Any = "svm"
    _: KW_ONLY
    features: Any = None
    vectors: str | None = None
    unlabelled: Any = None
    tf: str | Iterable[str] | None = None
    idf: bool | None = None
    norm: str | None = "auto"
    ratio: float | Iterable[float] | None = None
    min_df: int | None = None
    max_df: float | None = None
    max_features: int | None = None
    hash_bits: int | None = None
    select: Any = None
    vocabulary: Any = None
    class_weight: Any = None
    label_smoothing: float = 0.0
    params: Mapping[str, Any] | None = None
    refit: bool = True
    calibrate: bool | str = True
    decision: Mapping[str, Any] | None = None
    forget: float = 0.0
    full_precision: bool = False
    random_state: int = 0
    n_jobs: int | None = None

    @classmethod
    def from_weights(
        cls, W: npt.ArrayLike, b: npt.ArrayLike, classes: Iterable[Any], features: Sequence[str], *,
        blocks: Any = "words:1", tf: Any = "presence", norm: Any = None,
    ) -> TextClassifier:  # fmt: skip
        """Return a classifier with weights that are given: W, (n_features, n_classes), and b, (n_classes,).

        features are the names of the rows of W, such as the blocks make them of a text. Nothing is learned.

        >>> W = [[0, 0], [0, 0], [999, 0], [0, 999]]
        >>> clf = TextClassifier.from_weights(W, [0, 0], ["business", "sports"], ["stock", "game", "monday", "friday"])
        >>> clf.predict_proba(["game monday"]).tolist()
        [[1.0, 0.0]]
        """
        from linnet.features.blocks import counted_only
        from linnet.features.counting import joined
        from linnet.features.plan import FeaturePlan
        from linnet.features.vectorizer import features_named
        from linnet.pipeline.fit import WeightedColumns, assemble

        known, labels = counted_only(blocks, "from_weights"), tuple(classes)
        weights, bias = np.asarray(W, np.float32), np.asarray(b, np.float64)
        if weights.shape != (len(features), len(labels)) or bias.shape != (len(labels),):
            raise DataError(
                f"W must have shape ({len(features)}, {len(labels)}), features by classes, and b ({len(labels)},); "
                f"got {weights.shape} and {bias.shape}"
            )
        if len(labels) == 2:
            weights, bias = weights[:, 1:] - weights[:, :1], bias[1:] - bias[:1]
        fingerprints, names = features_named(features, known)
        columns = WeightedColumns(
            fingerprints, lambda some: joined([names[k].encode() for k in some.tolist()]), known,
            np.ones(len(features), np.float32), np.ascontiguousarray(weights),
        )  # fmt: skip
        card = {"settings": {"model": "weights", "features": str(blocks), "tf": tf, "norm": norm}}
        made = cls("weights", features=blocks, tf=tf, norm=norm)
        made.model_ = assemble(columns, FeaturePlan(tf=tf, norm=norm), labels, bias, True, card)
        made.model_.check_numbers()
        return made

    # ---- fitting

    _model = None
    _changed = False

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        dev: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        on_event: OnEvent | None = None,
        part: Part | None = None,
        found: SearchResult | None = None,
        held_out: Future[HeldOut] | None = None,
        on_found: OnFound | None = None,
    ) -> TextClassifier:
        """Learn from a Dataset, or from texts and labels; rows (dicts, a table) and labels do where features read columns.

        dev, a Dataset or (texts, labels), is what settings are chosen on; without it, folds of the training rows
        are. Labels may be a matrix of probabilities, a column a class: label distributions, such as a teacher's answers; a
        row is then learned as every class, with that weight. sample_weight holds a weight a training row, or also one a dev row, which
        weigh 1 otherwise. groups holds a value a row: rows of one group are never on
        both sides of a fold. Ctrl-C while settings are tried keeps the best so far; in the last fit it keeps the weights so
        far. With refit=False the dev rows are held out of the last fit too: history_ then has the dev accuracy after every
        epoch, and Ctrl-C keeps the weights that did best on them. part, found and held_out are work that another fit does: the
        counts of these rows, the end of the search, and what will be learned on held-out rows. on_found is given the last two
        when the search ends: another fit, to all rows, follows, so the dev rows are not fitted here.
        """
        from linnet.pipeline.fit import fit
        from linnet.pipeline.rows import MemoryRows

        plan, log = self.plan(), Log(on_event, on_found)
        plan = plan if on_found is None else replace(plan, refit=False)
        rows = MemoryRows(plan, X, y, dev=dev, sample_weight=sample_weight, groups=groups, part=part)
        if plan.unlabelled is None:
            self.model_ = fit(plan, rows, log, found, held_out)
        else:
            from linnet.pipeline.unlabelled import fit_em

            self.model_ = fit_em(plan, rows, plan.unlabelled, log, found, held_out)
        self.history_ = log.history
        self.search_, self.interrupted_ = log.found, log.interrupted
        self.indicators_ = getattr(y, "ndim", 1) == 2
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Iterable[Any] | None = None, sample_weight: npt.ArrayLike | None = None
    ) -> TextClassifier:
        """Learn from one more chunk: a Dataset, or texts and labels. After ``fit`` or ``load`` it goes on from there.

        Features, document frequencies and classes grow with the chunks; classes may be named before rows of them come.
        Nothing is searched: each setting has its first value, and ratio is 0. Every chunk is scored before it is learned
        from: see ``progressive_``. For naive Bayes the order and size of chunks do not matter: the counts are those of one
        ``fit``. Models that cannot go on say so (``Traits.incremental``). Rows may have several labels, as in ``fit``: each
        label learns against the rest; thresholds stay as they are, a new label has the median of the others.

        >>> clf = TextClassifier("nb", features="words:1", calibrate=False)
        >>> for text, label in [("good", "pos"), ("bad", "neg"), ("so good", "pos"), ("so so", "neutral")]:
        ...     _ = clf.partial_fit([text], [label])
        >>> clf.predict(["good"]).tolist(), clf.progressive_.rows
        (['pos'], 4)
        """
        from linnet.pipeline.rows import texts_and_labels

        buffers, labels, soft = texts_and_labels(X, y, "new", ())
        if soft is not None:
            raise LinnetError("partial_fit takes labels, not probabilities; use fit for label distributions")
        if self._model is None and not hasattr(self, "learner_"):
            self.indicators_ = getattr(y, "ndim", 1) == 2
        learner = self._learner(classes)
        learner.learn(buffers, labels, sample_weight)
        self._changed = True
        return self

    def step(self, text: str, label: Any) -> explanations.LearningStep:
        """Learn one row and show what that did: scores, the classes that are blamed, and what the text's features add.

        >>> clf = TextClassifier("perceptron", features="words:1", calibrate=False).partial_fit(["good", "bad"], ["pos", "neg"])
        >>> step = clf.step("good grief", "neg")
        >>> step.predicted, step.label, step.blamed
        ('pos', 'neg', ('pos',))
        """
        before, predicted = {}, None
        if self.__sklearn_is_fitted__():
            before = {c: self.explain(text, c) for c in self.artefact.classes}
            predicted = self.classify(text)
        self.partial_fit([text], [label])
        after = {c: self.explain(text, c) for c in self.artefact.classes}
        return explanations.learning_step(text, label, predicted, before, after)

    def _learner(self, classes: Iterable[Any] | None = None) -> IncrementalLearner:
        from linnet.pipeline.learner import IncrementalLearner

        if not hasattr(self, "learner_"):
            if hasattr(self, "model_"):
                self.learner_ = IncrementalLearner.of(self.model_, self.as_fitted().plan(), self.forget)
            else:
                self.learner_ = IncrementalLearner(self.plan(), forget=self.forget)
        self.learner_.meet(plain_list(() if classes is None else classes))
        return self.learner_

    def use(self, learner: IncrementalLearner, source: str) -> None:
        """Take what a learner has learned; source is what the card calls its rows."""
        learner.source = source
        self.model_, self.learner_ = learner.model(), learner

    @property
    def progressive_(self) -> Progressive:
        """How well the chunks of ``partial_fit`` were answered before they were learned from."""
        return self._learner().progressive

    @property
    def model_(self) -> Model:
        """The fitted model; after ``partial_fit``, what was learned so far."""
        if self._changed:
            self._model, self._changed = self.learner_.model(), False
        if self._model is None:
            raise AttributeError("model_")
        return self._model

    @model_.setter
    def model_(self, model: Model) -> None:
        self._model, self._changed = model, False
        vars(self).pop("learner_", None)

    def as_fitted(self) -> TextClassifier:
        """Return a classifier with the settings of the fitted model, each with the one value that was chosen."""
        from linnet.models import MODELS

        settings, model = self.artefact.card.get("settings", {}), self.artefact
        kind = MODELS.get(settings.get("model"), type(self.model)) if isinstance(self.model, str) else type(self.model)
        known = [name for name in kind().get_params() if name not in ("class_weight", "random_state")]
        own = {name: settings[name] for name in known if name in settings}
        names = ("min_df", "max_df", "max_features", "hash_bits", "class_weight")
        return TextClassifier(
            self.model, features=model.blocks + model.computed, tf=model.tf, norm=model.norm, idf=settings.get("idf"),
            **{name: settings.get(name) for name in names}, ratio=settings.get("ratio", 0.0), params=own,
            calibrate=model.calibrated, forget=self.forget, full_precision=settings.get("full_precision", False),
            random_state=settings.get("seed", 0), n_jobs=self.n_jobs,
        )  # fmt: skip

    def refitted(self, X: Any, y: Any = None, *, found: SearchResult | None = None, **given: Any) -> TextClassifier:
        """Return a classifier with the settings and the calibration of this one, fitted on these rows of the same labels.

        For a last fit on all rows, once the score is known: those of the test teach something too. The arguments are those
        of ``fit``; dev are the rows, if any, that settings were chosen on and that X does not have.
        """
        again = type(self)(**self.get_params(deep=False))
        return again.fit(X, y, found=found or self.search_, **given)

    def plan(self) -> Plan:
        """Return everything that was asked for, resolved into one value; wrong settings are refused."""
        from linnet.pipeline.plan import Plan

        return Plan.of(self)

    # ---- using

    @property
    def artefact(self) -> Model:
        """The fitted model."""
        if not hasattr(self, "model_"):
            raise not_fitted("this TextClassifier is not fitted yet; call fit, or load a model with linnet.load")
        return self.model_

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The labels, in the order of the columns of predict_proba."""
        return _labels(self.artefact.classes)

    @property
    def coef_(self) -> npt.NDArray[np.float64]:
        """The weights, (n_outputs, n_features), in the order of get_feature_names_out."""
        return explanations.weight_matrix(self.artefact)

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """The score of an empty text, (n_outputs,)."""
        return self.artefact.scores([""])[0] if self.artefact.head is not None else self.artefact.b

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the features, in the order of ``coef_``; hash mode keeps those of the commonest."""
        return np.array(explanations.feature_names(self.artefact), dtype=object)

    @property
    def card(self) -> dict[str, Any]:
        """What the model is: data, settings, choice, scores, versions."""
        return dict(self.artefact.card)

    def add_to_card(self, **entries: Any) -> None:
        """Add entries to the card; those of a dict that is there are added to it, and None is left out."""
        card = self.card
        for name, value in entries.items():
            if value is not None:
                card[name] = {**card.get(name, {}), **value} if isinstance(value, dict) else value
        self.model_ = replace(self.artefact, card=card)

    def decision_function(self, texts: Any) -> npt.NDArray[np.float64]:
        """Return log-odds: (n_texts,) for two classes, else (n_texts, n_classes)."""
        scores = self.artefact.scores(texts, self.n_jobs)
        return scores[:, 0] if self.artefact.n_outputs == 1 else scores

    def predict_proba(self, texts: Any, labels: Iterable[Any] | None = None) -> npt.NDArray[np.float64]:
        """Return the probability of each class, (n_texts, n_classes); with labels, given that it is one of them, 0 for the others."""
        model = self.artefact
        return model.answers(model.scores(texts, self.n_jobs), Decision.of(model.classes, labels=labels)).proba

    def predict_log_proba(self, texts: Any) -> npt.NDArray[np.float64]:
        """Return the logarithm of the probability of each class."""
        return np.log(self.predict_proba(texts))

    def predict_joint_log_proba(self, texts: Any) -> npt.NDArray[np.float64]:
        """Return log P(text, class) of naive Bayes, (n_texts, n_classes), up to what all classes share."""
        return self._generative().joint(texts, self.n_jobs)

    def probabilities(self, word: str | None = None) -> dict[Any, float]:
        """Return P(word | class) of naive Bayes by class; without a word P(class). Calibration does not change them.

        >>> clf = TextClassifier("bernoulli", vocabulary=["good"], params={"estimate": "mle"})
        >>> clf = clf.fit(["good", "so good", "fine", "good", "so", "bad"], ["+", "+", "+", "-", "-", "-"])
        >>> {label: round(p, 4) for label, p in clf.probabilities("good").items()}
        {'+': 0.6667, '-': 0.3333}
        """
        return self._generative().prior() if word is None else self._generative().word(word)

    def sample(self, n: int = 1, *, length: int | None = None, random_state: Any = 0) -> list[tuple[str, Any]]:
        """Draw n new (text, label) from naive Bayes: first the class, then words from its bag, in no order.

        length is the number of words of a text (nb); None draws it too.

        >>> clf = TextClassifier("nb", features="words:1").fit(["good fun", "bad luck"] * 3, ["+", "-"] * 3)
        >>> clf.sample(2, length=3, random_state=1)
        [('luck luck luck', '-'), ('luck good bad', '-')]
        """
        return self._generative().sample(n, length, random_state)

    def _generative(self) -> explanations.Generative:
        return explanations.Generative.of(self.artefact, self.as_fitted().plan().make({}))

    def predict(
        self,
        texts: Any,
        labels: Iterable[Any] | None = None,
        *,
        threshold: Mapping[Any, float] | float | None = None,
        cost: Any = None,
        abstain: float | None = None,
        answer: float | None = None,
    ) -> npt.NDArray[Any]:
        """Return the label of each text, by the decision rule of the model and what is given here.

        labels are the only ones to choose from; threshold the probability from which a label is an answer, ``{label: p}`` or one for
        all; cost what answers cost, ``{truth: {answer: cost}}`` or a matrix (truth, answer); abstain the wanted accuracy of the
        answered texts, and answer the wanted share of answered texts: other texts have the label None. abstain=0 answers all.

        Where rows may have several labels, a tuple of labels for each text (an indicator matrix, if it was fitted to one).
        Texts may be rows: a list of dicts, a table, a Dataset. A model that reads columns beside the text needs them.

        >>> texts = ["good", "so good", "good fun", "bad", "so bad", "bad luck"]
        >>> clf = TextClassifier("nb", features="words:1").fit(texts, ["pos"] * 3 + ["neg"] * 3)
        >>> clf.predict(["good", "fun luck"], threshold=0.6).tolist()
        ['pos', None]
        """
        given = {"labels": labels, "threshold": threshold, "cost": cost, "abstain": abstain, "answer": answer}
        model = self.artefact
        decision = Decision.of(model.classes, model.decision, **given)
        answers = model.answers(model.scores(texts, self.n_jobs), decision)
        if answers.sets is not None:
            if getattr(self, "indicators_", False):
                return answers.sets.astype(np.int64)
            out = np.empty(len(answers.sets), dtype=object)
            out[:] = [tuple(model.classes[k] for k in np.flatnonzero(row)) for row in answers.sets]
            return out
        found = self.classes_[answers.best]
        if decision.abstains:
            found = found.astype(object)
            found[answers.best < 0] = None
        return found

    def out_of_scope(self, texts: Any) -> npt.NDArray[np.float64]:
        """Return how unlike the training rows each text is, from 0 to 1: no class explains it, or its features are unknown.

        >>> clf = TextClassifier("nb", features="words:1").fit(["good film", "bad film", "so good", "so bad"] * 3, ["pos", "neg"] * 6)
        >>> known, new = clf.out_of_scope(["so good", "quarterly earnings"]).tolist()
        >>> known < 0.5 < new
        True
        """
        return self.artefact.out_of_scope(texts, self.n_jobs)

    def predict_set(self, texts: Any, coverage: float = 0.95) -> list[tuple[Any, ...]]:
        """Return the labels that cannot be ruled out for each text: the true one is among them with probability `coverage`.

        That holds on average over texts like the training rows (split conformal prediction).
        """
        model = self.artefact
        P = model.proba(model.scores(texts, self.n_jobs))
        return [tuple(model.classes[k] for k in np.flatnonzero(row)) for row in model.decision.sets(P, coverage)]

    def label_score(self, text: str, label: Any) -> float:
        """Return the score of one label for one text."""
        scores = self.artefact.scores([text])[0]
        each = np.append(-scores, scores) if self.artefact.n_outputs == 1 else scores
        return float(each[label_number(self.artefact.classes, label)])

    def classify(self, text: str, labels: Iterable[Any] | None = None) -> Any:
        """Return the best of some labels for one text."""
        found = self.predict([text], labels)[0]
        return found.item() if isinstance(found, np.generic) else found

    def score(self, texts: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the accuracy on labelled texts; where rows have several labels, all of them must be right."""
        if self.artefact.multilabel:
            return float(self.evaluate(texts, y).subset_accuracy)
        weights: Any = sample_weight
        return float(np.average(self.predict(texts) == np.asarray(y), weights=weights))

    def evaluate(self, X: Any, y: Any = None, *, seed: int = 0, **decision: Any) -> Any:
        """Return the metrics that ``linnet evaluate`` prints, of a labelled Dataset or of texts and labels.

        That is an Evaluation, or a MultilabelEvaluation where rows may have several labels. decision holds what ``predict`` takes:
        labels, threshold, cost, abstain, answer; rows without an answer are counted in ``abstained`` and left out of the scores.
        """
        from linnet.data import Dataset
        from linnet.evaluate import evaluate_answers, evaluate_multilabel

        if y is None and not isinstance(X, Dataset):
            raise LinnetError("evaluate takes a labelled Dataset, or texts and their labels")
        model = self.artefact
        rule = Decision.of(model.classes, model.decision, **decision)
        answers = model.answers(model.scores(X, self.n_jobs), rule)
        if answers.sets is not None:
            sets = X.label_sets() if y is None else y
            return evaluate_multilabel(sets, answers.sets, model.classes, proba=answers.proba)
        truth = X.label_list() if y is None else list(y)
        classes = [str(c) for c in model.classes] if y is None else list(model.classes)
        return evaluate_answers(truth, answers, classes, costs=rule.costs, order=model.label_order, seed=seed)

    def explain(
        self, text: str | Mapping[str, Any], label: Any = None, against: Any = None
    ) -> explanations.Explanation:
        """Return what each feature of a text adds to the score of a label (default: the predicted one).

        With against, another label: what puts the one ahead of the other ("why business and not sports?"). A model that
        reads other columns too takes a row: ``{"text": ..., "priority": "high"}``.
        """
        return explanations.explain(self.artefact, text, label, against)

    def explain_many(self, texts: Any, label: Any = None, against: Any = None) -> explanations.Explanations:
        """Explain many texts: a sequence that works them out in runs, when they are reached."""
        return explanations.explain_many(self.artefact, texts, label, against)

    def flip(self, text: str | Mapping[str, Any], to: Any = None) -> explanations.Flip:
        """Return the fewest words to take out of a text so that the answer changes (to a given label)."""
        return explanations.flip(self.artefact, text, to)

    def separation(self, texts: Any, labels: Any = None) -> explanations.Separation:
        """Return how the line divides labelled rows: separable or not, the width of the margin, the rows that hold it.

        >>> clf = TextClassifier("svm", features="words:1", params={"loss": "hinge", "C": 10.0})
        >>> found = clf.fit(["good", "bad", "so good", "so bad"], ["+", "-"] * 2).separation(["good", "bad"], ["+", "-"])
        >>> found.separable, len(found.support)
        (True, 2)
        """
        labels = texts.label_list() if labels is None else labels
        return explanations.separation(self.artefact, texts, labels, self.n_jobs)

    def index(self, examples: Any) -> explanations.Index:
        """Lay out examples (a Dataset, (texts, labels) or texts) to find those most like a text; see ``nearest``."""
        return explanations.Index(self.artefact, examples)

    def nearest(self, text: str | Mapping[str, Any], examples: Any, n: int = 5) -> list[explanations.Neighbour]:
        """Return the n examples most like a text in the eyes of the model.

        examples is what ``index`` takes, or an index: build it once where there are many questions.
        """
        index = examples if isinstance(examples, explanations.Index) else self.index(examples)
        if index.model is not self.artefact:
            raise LinnetError("this index was built by another model; build it with clf.index(examples)")
        return index.nearest(text, n)

    def top_features(self, label: Any = None, n: int = 20) -> list[tuple[str, float]]:
        """Return the named features that speak most for a label, with their weights."""
        return explanations.top_features(self.artefact, label, n)

    def named_weights(self) -> dict[Any, dict[str, float]]:
        """Return {label: {name: weight}}: of feature functions, and of every other feature whose name was kept.

        With two labels the weights of the first are those of the second with the sign turned.
        """
        return explanations.named_weights(self.artefact)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all."""
        self.artefact.save(path)

    def shrink(self, max_size: int | str, texts: Any = None) -> TextClassifier:
        """Return a classifier whose file has at most max_size bytes ("1MB"): coarser weights, then fewer features.

        texts (a Dataset, a list) are used to keep the scale of the scores. See ``linnet shrink``.
        """
        from linnet.model.shrink import shrink
        from linnet.values import as_bytes

        small = TextClassifier(**self.get_params(deep=False))
        small.model_ = shrink(self.artefact, as_bytes(max_size, "max_size") or 0, texts)
        return small

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> list[Path]:
        """Write the model as C, JavaScript, an offline web page or JSON ("c", "js", "html", "json"; by default the ending of path).

        Returns the files that were written.
        """
        from linnet.export import export_model

        return export_model(self.artefact, path, format)

    # ---- scikit-learn's and notebooks' expectations

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings given to the constructor; with deep, also those of the model: ``model__C``."""
        found = super().get_params(deep)
        if deep and isinstance(self.model, str):
            from linnet.models import MODELS

            own = MODELS[self.model]().get_params() if self.model in MODELS else {}
            found |= {f"model__{name}": (self.params or {}).get(name, value) for name, value in own.items()}
        return found

    def _set_inside(self, name: str, values: dict[str, Any]) -> None:
        """Settings of a model that is named stand in ``params``."""
        if name == "model" and isinstance(self.model, str):
            self.params = {**(self.params or {}), **values}
        else:
            super()._set_inside(name, values)

    def __sklearn_tags__(self) -> Any:
        return sklearn_tags("classifier", string=True, two_d_array=False)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _repr_html_(self) -> str:
        return explanations.model_html(self) if hasattr(self, "model_") else f"<code>{self!r}</code>"


def _labels(classes: tuple[Any, ...]) -> npt.NDArray[Any]:
    alike = {type(c) for c in classes} in ({str}, {int}, {float}, {bool})
    return np.array(classes, dtype=None if alike else object)


def load(
    path: str | os.PathLike[str] | bytes, *, n_jobs: int | None = None, verify: bool = True, trust: bool = False
) -> TextClassifier:  # fmt: skip
    """Open a model file for prediction.

    A truncated, altered, foreign or newer file raises ModelFileError with one clear line. A file that names functions of
    other programs raises UntrustedModelError before any is imported, unless the caller trusts it. A fastText model (.bin, .ftz) is
    read, too: see ``linnet import``.
    """
    from linnet.importing import importer

    other = None if isinstance(path, bytes) else importer(path)
    model = Model.load(path, verify=verify, trust=trust) if other is None else other(Path(os.fsdecode(path)))
    settings = model.card.get("settings", {})
    clf = TextClassifier(settings.get("model", "svm"), n_jobs=n_jobs)
    clf.model_ = model
    clf.history_ = History()
    return clf
