"""``linnet train``: from a file to a saved, tested model."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import linnet
from linnet.cli import options as o
from linnet.cli import output
from linnet.cli.labelled_rows import label_column, multilabel, read_labelled, split_columns, split_rows
from linnet.cli.output import Notes, command_line, say, say_sealed, say_written, write_json, write_unusable
from linnet.data.formats import find_shards, size_of
from linnet.draw.terminal import estimate
from linnet.errors import DataError, LinnetError, shown
from linnet.files import digest, split_ending
from linnet.models import MODELS
from linnet.values import as_bytes, parse_settings, size_text

if TYPE_CHECKING:
    from linnet.features.derived import Shared
    from linnet.pipeline.events import Event, OnEvent
    from linnet.pipeline.search import HeldOut, SearchResult
    from linnet.pipeline.stream import StreamResult

COUNTED_ONCE = 200_000_000  # bytes of text up to which the counts of all rows are kept for the last fit


@o.command()
@click.argument("data", type=o.InputPath(), nargs=-1, required=True)
@o.option("--model", "NAME", f"One of {', '.join(MODELS)}.", default="svm", show_default=True)
@o.model_out
@o.split_options
@o.hold_out_test
@o.labelled_options
@o.weight
@o.soft_options
@o.run_options
@o.feature_options
@o.training_options
@o.calibration
@o.decision_options
@o.chosen_thresholds
@o.stream_options
@o.option("--seeds", "FILE", "No labels at all: make them from words of each class (word,label, a line each).")
@o.option("--like", "MODEL", "Use the settings of this model, each with the value that was chosen.")
@o.flag("--online", "Learn in one pass, row by row, and score every row before; hashes into 2^18 columns.")
@o.flag("--profile", "Print wall time, processor time and peak memory of each stage of training.")
@o.flag("--no-check", "Skip the quick check for duplicates, leaks and imbalance.")
@o.flag(
    "--full-precision", "Keep the weights of large models as 32-bit floats; by default they are rounded to 16 bits."
)
@o.unusable
@o.report
@o.output_options
def train(data: tuple[str, ...], **options: Any) -> None:
    """Train a classifier on DATA and save it.

    DATA is CSV, TSV, JSON lines, Parquet, Arrow, fastText or Vowpal Wabbit lines or a folder of class folders, plain or .gz or .zst, a
    data set by name (hub:ag_news, with its official dev and test parts), or - for standard input. Without --test a tenth
    is kept for the test; settings are chosen on another tenth, or by folds where rows are few. The score is that of a
    model that has not seen the test rows; then it is fitted once more on all rows, and saved (--hold-out-test leaves the
    rows of the test out, as --test, --watch and streams do).

    DATA may be several files, patterns or folders of shards. They are read as a stream within --max-memory, which is
    also how one file is read that looks too large for the memory there is: see docs/streaming.md. With --online every row is
    read once, scored, and learned from; Ctrl-C saves what was learned: see docs/updating.md.
    """
    from linnet.data.splitting import look
    from linnet.features.blocks import needed
    from linnet.pipeline.events import Profile

    out, clf = model_path(data[0], options["out"]), _classifier(options)
    extra = needed(clf.plan().features.features or ())  # wrong settings are refused before reading a large file
    if options["seeds"] and (options["online"] or len(data) > 1):
        raise LinnetError("--seeds labels the texts of one file; leave out --online and further files")
    if options["online"]:
        train_online(clf, data, out, options)
        return
    profile = options["profile"] = Profile() if options["profile"] else None
    streamed = None if options["seeds"] else train_streamed(clf, data, options)
    if streamed is None:
        run = _train(clf, data[0], options, extra)
    else:
        run = Training(clf, clf, streamed.evaluation, more={"stream": streamed.to_dict()})
    clf, result = run.saved, run.result
    about = data_card(data, options) | run.digests
    if options["seeds"]:
        about |= {"labels_made_from": Path(options["seeds"]).name}  # so the scores of the card are no accuracies
    clf.add_to_card(test=test_card(result), command=plain_command(), data=about, reference=run.reference)
    if profile:
        profile.begin("save")
    clf.save(out)
    if profile:
        run.more["profile"] = profile.end()
        say(f"profile\n{profile.table()}")
    seal = look(options["test"], "train", out) if options["test"] else None
    if options["report"]:
        _write_report(run.judged, data[0], run.fitted, run.test, out, options, seal)
    content = {"model": str(out), "card": clf.card, "test": result.to_dict(), "seal": seal.to_dict() if seal else None}
    if write_json(content | run.more, options["json_"]):
        return
    for line in o.reached(clf.card.get("decision", {}), () if clf.artefact.multilabel else result.per_class):
        say(line)
    line = _score_line(result, several=clf.artefact.multilabel)
    if options["seeds"]:
        click.echo(line.replace("test accuracy", "agreement with labels made from the word lists"))
        _say_of_labels(clf, data[0], options)
    else:
        click.echo(line)
        if not clf.artefact.multilabel:
            _say_of_chance(result)
        if result.n < FEW_TESTED:
            _say_of_folds(run.judged, result.n)
    say_sealed(seal)
    if run.judged is not clf:
        fitted = clf.card["data"]["rows_fitted"]
        seen = run.judged.card["data"]["rows_fitted"]
        say(f"the score is of a model fitted on {seen:,} rows; the saved one has learned from all {fitted:,}")
    size, model = size_text(out.stat().st_size), clf.artefact
    click.echo(f"saved {out} ({size}, {model.n_features:,} features, {len(model.classes)} classes)")
    if out.stat().st_size > LARGE_FILE:
        say(f"a large file: linnet shrink {out} --max-size 10MB writes a smaller model")
    if not options["quiet"]:
        say(f'next: linnet explain {out} "a text"   linnet predict {out} FILE   linnet info {out}')


LARGE_FILE = 100_000_000  # bytes
FEW_TESTED = 50  # rows: with fewer, an interval is wider than a quarter
FEATURE_OPTIONS = (
    "features", "vectors", "unlabelled", "tf", "idf", "ratio", "min_df", "max_df", "max_features", "hash_bits", "select",
    "vocabulary", "class_weight",
)  # fmt: skip


@dataclass(frozen=True)
class Training:
    """What training came to: the model that was judged, the one that is saved, and the rows of both."""

    judged: Any
    saved: Any
    result: Any
    fitted: Any = None
    test: Any = None
    reference: Any = None
    digests: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)


def _classifier(options: dict[str, Any]) -> Any:
    """Return the classifier that the options ask for."""
    if options["online"]:
        options["features"] = options["features"] or FEATURES
        options["hash_bits"] = options["hash_bits"] or HASH_BITS
    clf = linnet.TextClassifier(
        options["model"], **{name: options[name] for name in (*FEATURE_OPTIONS, "label_smoothing")},
        norm={None: "auto", "none": None}.get(options["norm"], options["norm"]), params=_params(options),
        refit=not options["watch"], decision=o.asked(options),
        calibrate={"auto": True, "none": False}.get(options["calibration"], options["calibration"]),
        full_precision=options["full_precision"], random_state=options["seed"], n_jobs=options["threads"],
    )  # fmt: skip
    return _like(clf, options["like"], options) if options["like"] else clf


def _train(clf: Any, data: str, options: dict[str, Any], extra: tuple[str, ...]) -> Training:
    """Read the rows, hold some out, fit, test, and fit once more on all of them."""
    from linnet.evaluate.drift import reference_of
    from linnet.features.buffers import columns_digest
    from linnet.features.counting import thread_count
    from linnet.pipeline.cache import keep_freed

    keep_freed()
    weighed = [options["weight"]] if options["weight"] else []
    columns = [*extra, *split_columns(options), *weighed]
    if options["seeds"]:
        rows = _by_seeds(clf, data, options)
    else:
        rows = read_labelled(data, options, extra=columns, label_columns=options["label_columns"])
    for name in weighed:
        rows.numbers(name)  # a cell that is no number is named by its row in the file
    write_unusable(rows.unusable, options["unusable"])
    if data.startswith("hub:"):
        from linnet.datasets.named import official

        options |= official(data, options)
    shared = _counting(clf, rows, options)
    digests = {"columns_sha256": columns_digest(rows)}
    fit_on, dev, test = split_rows(rows, options, extra)
    labels = rows.counts.keys()
    every = rows if _fits_all(options) else None
    del rows  # the parts are copies
    some, whole = None, None
    if shared is not None and every is not None:
        wanted = np.concatenate([part.source_rows for part in (fit_on, dev) if part is not None])
        some = shared.part(np.searchsorted(every.source_rows, wanted))
        whole = shared.part(np.arange(len(every)))
    if not options["no_check"]:
        _quick_check(fit_on, dev, test, by_chance=not (options["groups"] or options["test"]))
    again = None
    if every is not None and labels == fit_on.counts.keys():
        given = {"dev": dev if options["dev"] else None, "part": whole}  # other dev rows are among all rows
        given["sample_weight"] = every.numbers(weighed[0]) if weighed else None
        again = _Refit(clf, every, given, at_once=whole is not None and thread_count(options["threads"]) > 1)
    bars = options["quiet"], options["watch"], options["profile"]
    with again or contextlib.nullcontext(), output.TrainingProgress(*bars) as progress:
        parts = [fit_on] if dev is None or options["dev"] else [fit_on, dev]  # rows of a dev file weigh 1
        sample_weight = np.concatenate([part.numbers(weighed[0]) for part in parts]) if weighed else None
        clf.fit(fit_on, dev=dev, sample_weight=sample_weight, on_event=progress, part=some, on_found=again)
    if options["profile"]:
        options["profile"].begin("test")
    result, saved = clf.evaluate(test), clf
    reference = None if clf.artefact.multilabel else reference_of(clf.artefact, test, options["threads"])
    if again is not None and clf.search_ is not None:
        try:
            with output.TrainingProgress(*bars) as progress:
                saved = again.result(progress)
        except KeyboardInterrupt:
            say("interrupted: the model without the test rows is saved")
    return Training(clf, saved, result, fit_on, test, reference, digests)


class _Refit(contextlib.AbstractContextManager["_Refit"]):
    """The last fit on all rows. It needs nothing but the settings, so with threads to spare it begins as soon as these are found."""

    def __init__(self, clf: linnet.TextClassifier, rows: Any, given: dict[str, Any], at_once: bool) -> None:
        self.clf, self.rows, self.given, self.at_once = clf, rows, given, at_once
        self.events: SimpleQueue[Event | None] = SimpleQueue()  # None: it has ended
        self.ended = False
        self.fitted: Future[linnet.TextClassifier] | None = None

    def __exit__(self, kind: Any, *error: Any) -> None:
        """End the last fit where the one before it ends in an error or by a signal."""
        self.ended = kind is not None

    def __call__(self, found: SearchResult, held_out: Future[HeldOut] | None = None) -> None:
        """Begin where the settings are found; the fit that found them calibrates meanwhile."""
        from linnet.pipeline.fit import AT_ONCE

        if self.at_once and self.given["part"].shared.n_entries <= AT_ONCE:
            given = {**self.given, "found": found, "held_out": held_out}
            fit = partial(self.clf.refitted, self.rows, on_event=self._note, **given)
            self.fitted = ThreadPoolExecutor(1).submit(fit)
            self.fitted.add_done_callback(lambda _: self.events.put(None))

    def _note(self, event: Event) -> None:
        if self.ended:
            raise KeyboardInterrupt  # ends a fit as Ctrl-C does, which comes to the main thread alone
        self.events.put(event)

    def result(self, on_event: OnEvent) -> linnet.TextClassifier:
        """Return the classifier; what was reported meanwhile is shown first."""
        if self.fitted is None:
            return self.clf.refitted(self.rows, **self.given, on_event=on_event)
        try:
            while (event := self.events.get()) is not None:
                on_event(event)
        except KeyboardInterrupt:
            self.ended = True
            raise
        return self.fitted.result()


def _fits_all(options: dict[str, Any]) -> bool:
    """Say whether the last fit is to all rows: those of the test, too."""
    return not (options["test"] or options["watch"] or options["hold_out_test"])


def _counting(clf: Any, rows: Any, options: dict[str, Any]) -> Shared | None:
    """Return the texts of which both fits take their counts, and begin to count; None where each fit counts by itself."""
    from linnet.features.derived import Shared
    from linnet.pipeline.rows import count_ahead

    if not _fits_all(options) or options["dev"] or rows.text.nbytes > COUNTED_ONCE:
        return None
    shared = Shared(rows)
    if clf.unlabelled is None and not clf.vectors:
        count_ahead(clf.plan(), shared)
    return shared


NOT_SEEDED = ("groups", "time", "weight", "test", "label_columns", "label_bins", "label_quantiles", "multilabel")


def _refuse(options: dict[str, Any], names: Iterable[str], why: str) -> None:
    """Refuse options that are given and do not go with what else is asked for."""
    for name in names:
        if options[name]:
            raise LinnetError(f"--{name.replace('_', '-')} {why}")


def _by_seeds(clf: Any, data: str, options: dict[str, Any]) -> Any:
    """Return the texts of a file with labels made from word lists."""
    from linnet.pipeline.unlabelled import label_by_seeds

    _refuse(options, NOT_SEEDED, "does not go with --seeds, which makes the labels")
    found = linnet.read(data, text=options["text"], format=options["format_"], labelled=False)
    texts = found.text.to_pylist()
    if not any(options[name] for name in ("features", "vectors", "unlabelled")):
        clf.set_params(unlabelled=texts)
    made = label_by_seeds(texts, options["seeds"], clf)
    say(
        f"{found.source}: {len(texts):,} texts, {made.with_words:,} with words of one class; {made.clear:,} are clear, "
        f"{len(made.rows):,} got a label that a model trained on those is surest of"
    )
    return replace(linnet.Dataset.from_lists([texts[k] for k in made.rows], made.labels), source=found.source)


def _say_of_labels(clf: Any, data: str, options: dict[str, Any]) -> None:
    """Say what is known of a model whose labels came from word lists."""
    if not options["label"]:
        say(
            "judged without labels: to know how right it is, label some rows and run linnet evaluate, or name them with --label"
        )
        return
    found = clf.evaluate(read_labelled(data, options | {"seeds": None}, labelled=True))
    scored = estimate(found.accuracy, found.accuracy_interval)
    click.echo(f"accuracy {scored} on the {found.n:,} rows that have a label")


def _score_line(result: Any, *, several: bool) -> str:
    """Return the scores on the test rows as one line."""
    macro = f"on {result.n:,} rows, macro F1 {result.macro_f1:.4f}"
    if several:
        micro = estimate(result.micro_f1, result.micro_f1_interval)
        return f"test micro F1 {micro} {macro}, subset accuracy {result.subset_accuracy:.4f}"
    accuracy = estimate(result.accuracy, result.accuracy_interval)
    line = f"test accuracy {accuracy} {macro}"
    if result.log_loss is not None:  # too many classes to keep all probabilities
        line += f", log loss {result.log_loss:.4f}"
    answered = f"test rows answered {result.answered:.1%}, {result.abstained:,} not; the scores are of those answered\n"
    return f"{answered}{line}" if result.abstained else line


def _say_of_folds(clf: Any, n: int) -> None:
    """Say what the folds of the training rows say, where the test rows are too few to say anything."""
    from linnet.evaluate.intervals import wilson

    choice = clf.card.get("choice", {})
    if choice.get("folds", 0) < 2 or choice.get("metric", "accuracy") != "accuracy":
        return
    found = estimate(choice["accuracy"], wilson(choice["accuracy"] * choice["rows"], choice["rows"]))
    say(
        f"{n} test rows say little: over {choice['folds']} folds of the training rows accuracy was {found} "
        f"on {choice['rows']:,} rows, slightly too high because settings were chosen on them"
    )


def _say_of_chance(result: Any) -> None:
    """Say where a model is no better than its most frequent label."""
    top = max(result.per_class, key=lambda one: one.support)
    if result.accuracy <= top.support / result.n:
        say(f"no better than always predicting '{shown(top.label, 40)}', which gives {top.support / result.n:.4f}")


def _like(clf: Any, path: str, options: dict[str, Any]) -> Any:
    """Return a classifier with the settings of a model; what was given with it comes first."""
    like = linnet.load(path, trust=options.get("trust", False)).as_fitted()
    ctx = click.get_current_context()
    given = {p for p in options if ctx.get_parameter_source(p) == click.core.ParameterSource.COMMANDLINE}
    if "model" in given and options["model"] != like.model:
        raise LinnetError(f"--like {path} is a {like.model}; leave out --model, or --like")
    mine = clf.get_params(deep=False)
    taken = {"n_jobs", "refit", "decision"} | ({*FEATURE_OPTIONS, "norm", "full_precision"} & given)
    taken |= {"random_state"} if "seed" in given else set()
    like.set_params(**{name: mine[name] for name in taken})
    like.params = {**(like.params or {}), **(clf.params or {})}
    return like


def model_path(data: str, out: str | None) -> Path:
    """Return where the model goes: OUT, or the name of DATA with the ending .linnet; refuse what cannot be written."""
    if out is None:
        name = "model" if data == "-" else Path(data.rstrip("/")).name.split(".")[0].removeprefix("hub:") or "model"
        out = f"{name}.linnet"
        o.check_outputs({"--out": (out, "model")})
    return Path(out)


def _params(options: dict[str, Any]) -> dict[str, Any]:
    """Return the model's settings: --set, and --C, --alpha and --solver, which are short for it."""
    short = {name: options[name] for name in ("C", "alpha", "solver") if options[name] is not None}
    given = parse_settings(options["settings"])
    both = sorted(set(short) & set(given))
    if both:
        raise LinnetError(f"{both[0]} is given twice, as --{both[0]} and as --set {both[0]}; leave one out")
    return {**short, **given}


def _quick_check(fit_on: Any, dev: Any, test: Any, *, by_chance: bool) -> None:
    """Say what hashing and counting find to be wrong with the data; nothing where all is well."""
    from linnet.checks import brief

    parts = {"the dev rows": dev, "the test rows": test}
    found = brief(fit_on, [replace(part, source=name) for name, part in parts.items() if part is not None])
    for line in found:
        say(f"check: {line}")
    if by_chance and any(line.startswith("leaks") for line in found):
        say("check: --groups duplicates keeps texts that are nearly the same on one side of the split")
    if found:
        say("check: linnet check says more; --no-check skips this")


def _write_report(clf: Any, data: str, fit_on: Any, test: Any, out: Path, options: dict[str, Any], seal: Any) -> None:
    """Write the report on the test rows, with a check of the data and a learning curve."""
    from linnet.comparison.run_comparison import learning_curve

    found = None
    if not options["no_check"]:
        say("report: checking the training rows")
        held_out = replace(test, source="the test rows")
        found = linnet.check(fit_on, held_out, random_state=options["seed"], n_jobs=options["threads"])
    curve = None
    if fit_on.separator is None:
        say("report: learning curve")
        curve = learning_curve(clf, fit_on)
    files = {"model": str(out), "data": data, **({"test": options["test"]} if options["test"] else {})}
    page = linnet.Report(
        clf, test, title=f"{options['model']} trained on {data}", command=command_line(), seed=options["seed"], files=files,
        check=found, curve=curve, seal=seal,
    )  # fmt: skip
    page.save(options["report"])
    say_written(options["report"])


# ---- The card of a model: what a command adds to it, and how it is shown. No paths of folders and no times: bytes stay equal.


RUN_ONLY = (  # options that change no model: they say where and how a command runs
    "out", "threads", "json_", "report", "cache", "workers", "scheduler", "unusable", "quiet", "force", "no_check", "engine", "max_memory",
    "like", "trust",
)  # fmt: skip


def plain_command() -> str:
    """Return the command with what was given to it, in a fixed order, without folders and without options that change no model."""
    ctx = click.get_current_context()
    words = ["linnet", str(ctx.info_name)]
    for p in ctx.command.params:
        value = ctx.params.get(p.name or "")
        if p.name in RUN_ONLY or ctx.get_parameter_source(p.name or "") != click.core.ParameterSource.COMMANDLINE:
            continue
        for one in value if isinstance(value, tuple) else (value,):
            flag = [] if isinstance(p, click.Argument) else [p.opts[-1] if one is not False else p.secondary_opts[-1]]
            named = _named(str(one)) if isinstance(p.type, o.InputPath) else str(one)
            words += flag if isinstance(one, bool) else [*flag, named]
    return shlex.join(words)


def _named(path: str) -> str:
    """Return a file without its folder."""
    return path if path.startswith("hub:") else PurePath(path).name or path


def data_card(data: tuple[str, ...], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checksums of the files that a model was trained on: of their bytes as they lie there."""
    files = {"sha256": data[0]} if len(data) == 1 else {}
    files |= {f"{name}_sha256": options[name] for name in ("dev", "test") if options.get(name)}
    return {name: digest(path) for name, path in files.items() if Path(path).is_file()}


def test_card(result: Any) -> dict[str, Any]:
    """Return the scores on the test rows, with the 95 % interval of the first."""
    several = hasattr(result, "subset_accuracy")
    first, *others = ("micro_f1", "macro_f1") if several else ("accuracy", "macro_f1", "log_loss")
    found = {"rows": result.n, first: getattr(result, first), "interval": list(getattr(result, f"{first}_interval"))}
    return found | {name: getattr(result, name) for name in others}


# ---- ``linnet train`` on more text than memory: when the data are read as a stream, and the run.


NOT_STREAMED = ("groups", "time", "report")


def limit_for(data: tuple[str, ...], given: str | None) -> int | None:
    """Return the memory to stay within, or None where DATA is one file that fits."""
    from linnet.pipeline.cache import LEAST, available, memory_needed

    if given is not None:
        return as_bytes(given, "--max-memory")
    if len(data) == 1 and (data[0] == "-" or data[0].startswith("hub:")):
        return None
    shards, free = find_shards(data), available()
    if memory_needed(sum(map(_unpacked, shards))) > 0.8 * free:
        size = sum(map(size_of, shards))
        say(f"{size / 1e9:,.1f} GB of input may not fit in {free / 1e9:,.1f} GB of memory: reading it as a stream")
        return max(LEAST, free // 2)
    named = len(shards) == 1 and shards[0] == Path(data[0])  # not the only file of a folder or pattern
    return None if named else max(LEAST, free * 4 // 5)


def _unpacked(path: Path) -> int:
    """Return about how many bytes of text a file holds: packed ones four times their size, columns twice."""
    ending, packed = split_ending(path)
    return size_of(path) * (4 if packed else 2 if ending in (".parquet", ".pq") else 1)


def train_streamed(clf: linnet.TextClassifier, data: tuple[str, ...], options: dict[str, Any]) -> StreamResult | None:
    """Train on a stream where that is asked for or needed; None where ordinary training will do."""
    engine = options["engine"]
    if engine is None and (options["workers"] or options["scheduler"]):
        raise LinnetError("--workers and --scheduler belong to an engine; add --engine local, dask or spark")
    limit = limit_for(data, options["max_memory"])
    if limit is None and engine is None:
        return None
    _refuse(
        options, NOT_STREAMED, "needs all rows in memory; split first with linnet split, report with linnet evaluate"
    )
    from linnet.engines import open_engine
    from linnet.pipeline.cache import LEAST, available
    from linnet.pipeline.stream import fit_stream

    limit = limit or max(LEAST, available() * 4 // 5)
    placed = {"scheduler": options["scheduler"]} if options["scheduler"] else {}
    opened: Any = open_engine(engine, workers=options["workers"], **placed) if engine else contextlib.nullcontext()
    names = ("text", "weight", "label_columns", "dev", "test", "cache", "skip_damaged")
    bars = options["quiet"], options["watch"], options["profile"]
    with output.TrainingProgress(*bars) as progress, opened as workers:
        result = fit_stream(
            clf, data, max_memory=limit, label=label_column(options), format=options["format_"], multilabel=multilabel(options),
            bins=options["label_bins"] or options["label_quantiles"], engine=workers, on_event=progress, say=say,
            **{name: options[name] for name in names},
        )  # fmt: skip
    write_unusable(result.unusable, options["unusable"])
    return result


# ---- ``linnet train - --online``: one pass over a stream, with a score for every row before it is learned from.


FEATURES = "words:1+chars:3"
HASH_BITS = 18
LARGEST_CHUNK = 256  # rows that are scored together before they are learned from
NOT_ONLINE = (
    "dev", "test", "groups", "time", "weight", "watch", "report", "max_memory", "engine", "multilabel", "threshold", "cost", "abstain",
    "answer", "precision", "recall", "profile", "label_bins", "label_quantiles", "label_columns",
)  # fmt: skip


def train_online(clf: linnet.TextClassifier, data: tuple[str, ...], out: Path, options: dict[str, Any]) -> None:
    """Learn from a stream in one pass and save the model, also after Ctrl-C."""
    from linnet.data.labelled import usable
    from linnet.data.reading import stream
    from linnet.pipeline.learner import IncrementalLearner

    _refuse(options, NOT_ONLINE, "does not go with --online, which reads every row once")
    learner = IncrementalLearner(clf.plan())
    table, say_notes = ErrorTable(options["quiet"]), Notes(data[0])
    try:
        for source in data:
            for batch in stream(source, text=options["text"], label=options["label"], format=options["format_"]):
                rows = usable(batch, "" if source == "-" else source)
                say_notes(*rows.notes)
                table.show(learner, learner.learn(rows.text, rows.label.to_pylist(), most=LARGEST_CHUNK))
    except KeyboardInterrupt:
        say("interrupted: what was learned so far is saved")
    if not learner.n_rows:
        raise DataError(f"{data[0]}: no two labels among the rows so far; there is nothing to save")
    clf.use(learner, "standard input" if data[0] == "-" else data[0])
    clf.save(out)
    score = learner.progressive
    if write_json({"model": str(out), "card": clf.card, "progressive": score.to_dict()}, options["json_"]):
        return
    click.echo(f"progressive accuracy {score.accuracy:.4f} on {score.rows:,} rows, one pass")
    click.echo(f"saved {out} ({size_text(out.stat().st_size)}, {len(learner.classes)} classes)")


class ErrorTable:
    """A line at rows 1, 2, 4, 8, ...: errors so far and since the last line, and how that row was answered."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.next, self.before = quiet, 1, (0, 0)
        self.rows = self.errors = 0
        if not quiet:
            say(f"{'average':<9}{'since':<9}{'row':>10}  {'label':<16}{'predicted':<16}{'features':>8}")
            say(f"{'error':<9}{'last':<9}{'counter':>10}")

    def show(self, learner: Any, met: Any) -> None:
        """Show the rows of a chunk that are due; rows of the first class wait until there is a second one."""
        if met is None:
            return
        wrong = met.best != met.y
        while not self.quiet and self.next <= self.rows + len(wrong):
            k = self.next - self.rows - 1
            errors, (rows, last) = self.errors + int(wrong[: k + 1].sum()), self.before
            label, best = (shown(learner.classes[one], 15) for one in (met.y[k], met.best[k]))
            rates = f"{errors / self.next:<9.6f}{(errors - last) / (self.next - rows):<9.6f}"
            say(f"{rates}{self.next:>10,}  {label:<16}{best:<16}{met.features[k]:>8,}")
            self.before, self.next = (self.next, errors), 2 * self.next
        self.rows, self.errors = self.rows + len(wrong), self.errors + int(wrong.sum())
