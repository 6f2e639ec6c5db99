"""Charts as Vega-Lite, made with Altair, drawn in the page by the code it carries. Needs the extra ``report``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from linnet.errors import MissingExtraError
from linnet.files import OutputError, write_atomic
from linnet.report.markup import plain_json, safe

__all__ = ["BLUE", "GREEN", "ORANGE", "altair", "bundle", "figure", "rows"]

BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"  # Okabe and Ito: told apart by colour-blind readers
HEIGHT = 220
END = "\n})();"
AXIS = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelOverlap": True}


def altair() -> Any:
    """Return Altair, or say how to get it."""
    try:
        import altair
        import vl_convert  # noqa: F401 - carries the code that draws
    except ImportError as error:
        raise MissingExtraError("a report", "report") from error
    return altair


@cache
def bundle() -> str:
    """Return Vega, Vega-Lite and their embedding as one script.

    Putting it together takes seconds, so it is kept in the user's cache folder, by version; a cache that cannot be read
    or written is done without.
    """
    altair()
    from importlib.metadata import version

    import vl_convert

    kept = _cache_folder() / f"vega-{version('vl-convert-python')}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        found = kept.read_text(encoding="utf-8")
        if found.endswith(END):
            return found
    code: str = vl_convert.javascript_bundle()  # type: ignore[call-arg] # its stub lacks the default
    made = "(function(){" + code.replace("</script", "<\\/script").replace("<!--", "<\\!--") + END
    with contextlib.suppress(OutputError):
        write_atomic(kept, made, mkdir=True)
    return made


def _cache_folder() -> Path:
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path("~/.cache").expanduser()) / "linnet"


def rows(**columns: Sequence[Any]) -> Any:
    """Return columns of the same length as Altair's data.

    >>> rows(x=[1, 2], y=[3.0, 4.0]).values
    [{'x': 1, 'y': 3.0}, {'x': 2, 'y': 4.0}]
    """
    names = list(columns)
    values = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return altair().Data(values=values)


def figure(chart: Any, words: str, height: int = HEIGHT) -> str:
    """Return a chart with what it shows in words, for readers and screen readers."""
    spec = chart.properties(width="container", height=height).to_dict()
    spec.pop("$schema", None)
    spec["$schema"] = "https://vega.github.io/schema/vega-lite/v6.json"  # a name; nothing is fetched
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    spec["config"] = {"view": {"stroke": None}, "background": "transparent", "font": "sans-serif", "axis": AXIS}
    spec["config"]["legend"] = {"labelFontSize": 12}
    return (
        f'<figure><div class="chart" role="img" aria-label="{safe(words)}" style="min-height:{height}px">'
        f'<script type="application/json">{plain_json(spec)}</script></div>'
        f"<figcaption>{safe(words)}</figcaption></figure>"
    )
