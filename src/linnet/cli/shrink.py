"""``linnet shrink``: a model in a file of at most so many bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linnet.cli import options as o
from linnet.cli.labelled_rows import read_labelled, say_if_seen
from linnet.cli.output import echo, echo_json, say
from linnet.errors import shown
from linnet.values import as_bytes, size_text


@o.command("model")
@o.option("--max-size", "SIZE", "The model file may be this large: 5MB, 500kB.", required=True)
@o.option("--data", "FILE", "Labelled rows: keep the scale of the scores on them, and say what is lost.")
@o.option("-o --out", "F.linnet", "Where to save; MODEL with the ending .small.linnet by default.")
@o.data_options
@o.model_options
@o.json_flag
def shrink(model: str, max_size: str, data: str | None, out: str | None, **options: Any) -> None:
    """Write MODEL as a file of at most --max-size: weights are rounded to fewer bits, then features with little influence dropped.

    The new model answers like the old one for most texts; --data says for how many, with the accuracy of both. Without it the
    probabilities are a little surer than they should be. It cannot go on learning from counts, and knows fewer names.

    \b
    linnet shrink reviews.linnet --max-size 1MB --data dev.csv
    """
    from linnet.classifier import load
    from linnet.model.file import version_in_use

    most = as_bytes(max_size, "--max-size") or 0
    clf = load(model, n_jobs=options["threads"], trust=options["trust"])
    rows = read_labelled(data, options, test=True, extra=clf.artefact.needs) if data else None
    small = clf.shrink(most, rows)
    target = Path(out) if out else Path(model).with_suffix(".small.linnet")
    o.check_outputs({"--out": (str(target), "model")})
    small.save(target)
    sizes = {"before": version_in_use(model).stat().st_size, "after": target.stat().st_size}
    features = {"before": clf.artefact.n_features, "after": small.artefact.n_features}
    found: dict[str, Any] = {"model": str(target), "bytes": sizes, "features": features}
    lines = [f"{features['after']:,} of {features['before']:,} features"]
    if rows is not None:
        say_if_seen(clf, rows, str(data))
        metric, title = ("micro_f1", "micro F1") if clf.artefact.multilabel else ("accuracy", "accuracy")
        for name, one in (("before", clf), ("after", small)):
            result = one.evaluate(rows)
            low, high = getattr(result, f"{metric}_interval")
            found.setdefault(metric, {})[name] = {"value": getattr(result, metric), "interval": [low, high]}
            lines.append(f"{title} {name}: {getattr(result, metric):.4f} [{low:.4f}, {high:.4f}] on {result.n:,} rows")
        a, b = (one.artefact.answers(one.artefact.scores(rows)) for one in (clf, small))
        found["other_answers"] = float((a.chosen != b.chosen).any(axis=1).mean())
        lines.append(f"{found['other_answers']:.2%} of the answers are others")
    if options["json_"]:
        echo_json(found)
        return
    for line in lines:
        echo(line)
    echo(f"saved {shown(target, 300)}, {size_text(sizes['after'])} instead of {size_text(sizes['before'])}")
    if rows is None:
        say("give --data FILE to keep the scale of the probabilities and to see what is lost")
