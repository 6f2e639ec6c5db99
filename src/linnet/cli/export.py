"""``linnet export``: a model as a program or a page of its own."""

from __future__ import annotations

from pathlib import Path

from linnet.cli import options as o
from linnet.cli.output import echo
from linnet.errors import shown
from linnet.values import size_text


@o.command("model")
@o.option("--format format_", "c|js|html|onnx|json|tsv", "The format; by default the ending of --out says it.")
@o.option("-o --out", "FILE", "The file to write; by default beside the model.", type=o.OutputPath())
@o.trust
def export(model: str, format_: str | None, out: str | None, trust: bool) -> None:
    """Write MODEL as a C file and header, an ES module, one offline web page, ONNX, JSON, or a table of weights.

    Each reads raw text and answers as linnet does, and says what each feature adds. They need neither Python nor linnet.
    Linear models over words and chars can be exported; to ONNX, those over words between blanks with their case kept.

    \b
    linnet export reviews.linnet --format c          reviews.c and reviews.h
    linnet export reviews.linnet -o reviews.html     classifies and marks a text as you type
    """
    from linnet.export import export_model
    from linnet.model.model import Model

    target = out or str(Path(model).with_suffix(f".{format_ or 'html'}"))
    for path in export_model(Model.load(model, trust=trust), target, format_):
        echo(f"wrote {shown(path, 300)}, {size_text(path.stat().st_size)}")
