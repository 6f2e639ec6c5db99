"""Figures that explain linear models: drawn by the real models and solvers, for the studio, the docs and notebooks.

``EXHIBITS`` names them. Each says what can be changed and has a function that draws a :class:`Figure` from those values;
the studio's Learn page shows all of them, and ``tools/figures.py`` writes them for the docs.

>>> figure = draw("lines")
>>> len(figure.panels), figure.svg().count("<circle") > 60
(5, True)
"""

from linnet.figures.exhibits import EXHIBITS, Exhibit, Setting, draw
from linnet.figures.figure import Figure, Panel

__all__ = ["EXHIBITS", "Setting", "Exhibit", "Figure", "Panel", "draw"]
