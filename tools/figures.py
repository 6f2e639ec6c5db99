"""Write the figures of the docs, docs/images/learn-*.svg, with the models as they are: python tools/figures.py."""

from __future__ import annotations

from pathlib import Path

from linnet.figures import EXHIBITS, draw

FOLDER = Path(__file__).parents[1] / "docs" / "images"
STEPS = {"walk": {"steps": 7}}

for name in EXHIBITS:
    figure = draw(name, **STEPS.get(name, {}))
    if figure.panels:
        figure.save(FOLDER / f"learn-{name}.svg")
