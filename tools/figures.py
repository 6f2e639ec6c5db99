"""Write the figures of the docs, docs/images/learn-*.svg and small-data.svg, with the models as they are: python tools/figures.py."""

from __future__ import annotations

import json
from pathlib import Path

from linnet.draw.charts import Axis, Line
from linnet.figures import EXHIBITS, draw
from linnet.figures.figure import Figure, Panel

FOLDER = Path(__file__).parents[1] / "docs" / "images"
STEPS = {"walk": {"steps": 7}}

for name in EXHIBITS:
    figure = draw(name, **STEPS.get(name, {}))
    if figure.panels:
        figure.save(FOLDER / f"learn-{name}.svg")

# Where naive Bayes and logistic regression cross: docs/notes/small-data.md, from the results of linnet reproduce ng2002.
results = json.loads((FOLDER.parents[1] / "benchmarks/results/ng2002.json").read_text(encoding="utf-8"))["results"]
NAMES = {"rt_polarity": "RT-s", "imdb": "IMDB", "movie_reviews": "RT-2k"}
panels = []
for found in results:
    curves = [
        Line([(one["rows"], one[model]) for one in found["sizes"]], colour, name)
        for model, name, colour in (("nb", "naive Bayes", "orange"), ("logistic", "logistic regression", "blue"))
    ]
    panels.append(Panel(NAMES[found["set"]], curves, Axis("rows learned from", log=True), Axis("accuracy, %")))
Figure(panels).save(FOLDER / "small-data.svg")
