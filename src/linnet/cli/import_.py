"""``linnet import``: a model of another program as a linnet model."""

from __future__ import annotations

from pathlib import Path

from linnet.cli import options as o
from linnet.cli.output import echo
from linnet.errors import shown
from linnet.values import size_text


@o.command("model", name="import")
@o.option("-o --out", "FILE", "The model to write; by default beside MODEL.", type=o.OutputPath("model"))
@o.flag("--trust", "Read a pickle (.joblib, .pkl). Only for files from people you trust: reading one can run any code.")
def import_(model: str, out: str | None, trust: bool) -> None:
    """Read MODEL, a fastText classifier (.bin, .ftz) or a scikit-learn pipeline (.skops), and save it as a .linnet file.

    The labels and probabilities stay the same. Pipelines that joblib or pickle wrote need --trust.

    \b
    linnet import lid.176.ftz -o languages.linnet
    linnet predict languages.linnet texts.csv --proba
    """
    from linnet.importing import import_model

    target = Path(out) if out else Path(model).with_suffix(".linnet")
    found = import_model(model, trust)
    found.save(target)
    sizes = f"{found.n_features:,} features, {len(found.classes):,} labels"
    echo(f"wrote {shown(target, 300)}, {size_text(target.stat().st_size)}: {sizes}")
