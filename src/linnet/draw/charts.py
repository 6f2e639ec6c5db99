"""Charts as SVG: lines, points, bands, ranges and columns on two axes.

Every part has a class, so a page's style can colour it, and plain attributes that hold where there is no style: in a
notebook or in a file of its own. Points carry their values as titles, which a browser shows under the pointer.

>>> svg = chart([Line([(1, 4.0), (2, 2.0)])], Axis("pass"), Axis("loss"), "Loss by pass")
>>> svg.count("<polyline"), svg.count("<circle")
(1, 2)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.draw.markup import safe
from linnet.draw.terminal import count, short

Point = tuple[float, float]
Place = Callable[[float, float], Point]

WIDTH, HEIGHT = 460, 240
LEFT, TOP, RIGHT, BOTTOM = 54, 14, 442, 38  # margins: left and right ends, distance of top and bottom from the edge
LEGEND = 18  # height of a legend
COLOURS = {"blue": "#0072b2", "orange": "#d55e00", "green": "#009e73", "purple": "#aa4499", "grey": "#888888"}
FAINT = {"axis": 0.6, "grid": 0.15}  # opacity
DOTS = 40  # points of a line that are drawn; of more, only their titles are there


@dataclass(frozen=True)
class Axis:
    """An axis: its name, its ends (nan: from the data), its spacing and format. A y axis without a name has no numbers."""

    name: str = ""
    low: float = math.nan
    high: float = math.nan
    log: bool = False
    percent: bool = False
    whole: bool = False  # ticks at whole numbers only

    def text(self, value: float) -> str:
        """Write a number of this axis."""
        return f"{100 * value:.4g} %" if self.percent else short(value)

    def scaled(self, values: Sequence[float], pad: float) -> Axis:
        """Return the axis with both ends; pad leaves room beyond the data, as a share of its range."""
        low, high = min(values, default=0.0), max(values, default=1.0)
        room = 0.0 if self.log else pad * (high - low) if high > low else 0.05 * max(abs(high), 0.1) if pad else 0.5
        low, high = (max(0.0, low - room), min(1.0, high + room)) if self.percent else (low - room, high + room)
        low, high = low if math.isnan(self.low) else self.low, high if math.isnan(self.high) else self.high
        if self.log:
            low = max(low, 1e-9)
            high = max(high, 2 * low)
        elif high <= low:
            low, high = low - 0.1, low + 0.1
        return replace(self, low=low, high=high)

    def share(self, value: float) -> float:
        """Return how far along the axis a value lies, 0 to 1."""
        if self.log:
            return math.log(max(value, 1e-9) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[float]:
        """Return the round numbers to write along the axis."""
        if not self.log:
            return [v for v in ticks(self.low, self.high, most) if not self.whole or v == int(v)]
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = (1,) if self.high / self.low > 300 else (1, 2, 5)
        found = [step * 10.0**power for power in powers for step in steps]
        return [v for v in found if self.low * (1 - 1e-9) <= v <= self.high * (1 + 1e-9)]


def ticks(low: float, high: float, most: int = 4) -> list[float]:
    """Return round numbers within a range.

    >>> ticks(0.0, 1.0), ticks(3, 17)
    ([0.0, 0.5, 1.0], [5.0, 10.0, 15.0])
    """
    span = max(high - low, 1e-12)
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(f * power for f in (1, 2, 5, 10, 20) if span / (f * power) <= most - (0 if f in (1, 10) else 0.5))
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, math.floor(high / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Layer(ABC):
    """Something drawn on the axes, in one of COLOURS; name is for the legend (empty: not in it)."""

    points: Sequence[Any]
    colour: str = "blue"
    name: str = ""

    def corners(self) -> Iterator[Point]:
        """Yield points that the axes must reach."""
        yield from self.points

    def element(self, tag: str, kind: str, title: str = "", **attributes: Any) -> str:
        """Return an SVG element in the colour of the layer; kind is "line" or "fill"."""
        colour = COLOURS[self.colour]
        plain = {"fill": "none", "stroke": colour, "stroke_width": 2} if kind == "line" else {"fill": colour}
        given = {"class": f"{kind} {self.colour}", **plain, **attributes}
        return _element(tag, title and f"<title>{safe(title)}</title>", given)

    @abstractmethod
    def draw(self, at: Place, x: Axis, y: Axis) -> Iterator[str]:
        """Yield SVG."""


@dataclass(frozen=True)
class Line(Layer):
    """Points (x, y) joined by a line; dash is a pattern such as "6 3"."""

    dash: str = ""
    titles: bool = True

    def draw(self, at: Place, x: Axis, y: Axis) -> Iterator[str]:
        """Draw the line, then its points."""
        if len(self.points) > 1:
            yield self.element("polyline", "line", points=_places(self.points, at), stroke_dasharray=self.dash)
        if self.titles:
            yield from Points(self.points, self.colour, hidden=len(self.points) > DOTS).draw(at, x, y)


@dataclass(frozen=True)
class Points(Layer):
    """Dots at (x, y); titles, one a dot, replace the values that are shown under the pointer.

    ring draws circles that are not filled. numbers, one a dot, mark the dots that a page lets people move: with the pointer,
    and with the arrow keys where keys is true.
    """

    titles: Sequence[str] = ()
    hidden: bool = False
    radius: float = 2.8
    ring: bool = False
    numbers: Sequence[int] = ()
    keys: bool = False

    def draw(self, at: Place, x: Axis, y: Axis) -> Iterator[str]:
        """Draw a circle a point."""
        said = self.titles or [f"{x.name} {x.text(a)}: {y.name} {y.text(b)}" for a, b in self.points]
        look: dict[str, Any] = {"r": 5, "opacity": 0} if self.hidden else {"r": self.radius}
        for k, (point, title) in enumerate(zip(self.points, said, strict=True)):
            a, b = at(*point)
            if self.numbers:
                look |= {"data-point": self.numbers[k], "data-at": f"{point[0]:g},{point[1]:g}"}
            if self.keys:
                look |= {"tabindex": 0, "role": "button", "aria-label": f"{title}; arrow keys move it"}
            yield self.element("circle", "line" if self.ring else "fill", title, cx=f"{a:.1f}", cy=f"{b:.1f}", **look)


@dataclass(frozen=True)
class Segments(Layer):
    """Straight lines (x, y, x, y), such as those of a contour; one without an end, at infinity, goes to the end of the axis."""

    dash: str = ""
    width: float = 2

    def corners(self) -> Iterator[Point]:
        """Yield the ends."""
        for a, b, c, d in self.points:
            yield from ((x, y) for x, y in ((a, b), (c, d)) if math.isfinite(y))

    def draw(self, at: Place, x: Axis, y: Axis) -> Iterator[str]:
        """Draw all of them as one path."""
        ends = ([(a, max(b, y.low)), (c, min(d, y.high))] for a, b, c, d in self.points)
        path = "".join("M" + _places(both, at).replace(" ", "L") for both in ends)
        yield self.element("path", "line", d=path, stroke_dasharray=self.dash, stroke_width=self.width)


def vertical(x: float, colour: str = "blue") -> Segments:
    """Return a vertical line across the chart, as tall as it is, to point at some x."""
    return Segments([(x, -math.inf, x, math.inf)], colour)


@dataclass(frozen=True)
class Band(Layer):
    """An area between two lines: (x, low, high)."""

    def corners(self) -> Iterator[Point]:
        """Yield both lines."""
        for a, low, high in self.points:
            yield from ((a, low), (a, high))

    def draw(self, at: Place, x: Axis, y: Axis) -> Iterator[str]:
        """Draw the area."""
        around = [*((a, high) for a, _, high in self.points), *((a, low) for a, low, _ in reversed(self.points))]
        yield self.element("polygon", "fill", points=_places(around, at), fill_opacity=0.16)


@dataclass(frozen=True)
class Columns(Layer):
    """A histogram: (left, right, height, title)."""

    def corners(self) -> Iterator[Point]:
        """Yield the corners of the columns."""
        for left, right, height, _ in self.points:
            yield from ((left, 0.0), (right, height))

    def draw(self, at: Place, x: Axis, y: Axis) -> Iterator[str]:
        """Draw a rectangle a column."""
        for left, right, height, title in self.points:
            (a, top), (b, bottom) = at(left, max(height, y.low)), at(right, y.low)
            place = {"x": f"{a + 0.5:.1f}", "y": f"{top:.1f}"}
            size = {"width": f"{max(0.5, b - a - 1):.1f}", "height": f"{bottom - top:.1f}"}
            yield self.element("rect", "fill", title, **place, **size)


def chart(
    layers: Sequence[Layer], x: Axis, y: Axis, label: str, *, height: int = HEIGHT, empty: str = "", file: bool = False
) -> str:
    """Draw layers on axes. label says what is shown, for screen readers; empty is written where there is nothing to draw.

    file makes an SVG file of its own: with a name space and a white background.
    """
    corners = [corner for layer in layers for corner in layer.corners()]
    columns = any(isinstance(layer, Columns) for layer in layers)
    across = x.scaled([a for a, _ in corners], 0.0)
    up = y.scaled([b for _, b in corners], 0.0 if columns else 0.08)
    legend, lines = _legend([layer for layer in layers if layer.name])
    top, bottom = TOP + LEGEND * lines, height - BOTTOM

    def at(a: float, b: float) -> Point:
        return LEFT + (RIGHT - LEFT) * across.share(a), bottom - (bottom - top) * up.share(b)

    parts = list(_axes(across, up, at, top, bottom)) if corners else []
    parts += [_line((LEFT, bottom), (RIGHT, bottom), "axis"), _line((LEFT, top), (LEFT, bottom), "axis")]
    parts += [part for layer in layers for part in layer.draw(at, across, up)]
    middle = (LEFT + RIGHT) / 2, (top + bottom) / 2
    parts += [_text(*middle, "middle", empty)] if not corners else []
    turned = {"class": "y", "transform": f"rotate(-90 12 {middle[1]:g})"}
    parts += [_text(middle[0], height - 4, "middle", x.name), _text(12, middle[1], "middle", y.name, **turned)]
    parts += legend
    frame = {"class": "chart", "viewBox": f"0 0 {WIDTH} {height}", "width": WIDTH, "height": height, "role": "img"}
    frame |= {"aria-label": label, "font-family": "sans-serif", "font-size": 11.5}
    if any(isinstance(layer, Points) and layer.numbers for layer in layers):  # what is inside must be reached too
        ends = (across.low, across.high, up.low, up.high, LEFT, RIGHT, bottom, top)
        frame |= {"role": "group", "data-axes": ",".join(f"{end:g}" for end in ends)}
    if file:
        frame["xmlns"] = "http://www.w3.org/2000/svg"
        parts.insert(0, _element("rect", "", {"width": WIDTH, "height": height, "fill": "white"}))
    return _element("svg", "".join(parts), frame)


def figure(layers: Sequence[Layer], x: Axis, y: Axis, caption: str) -> str:
    """Draw a chart with its caption below it."""
    return f"<figure>{chart(layers, x, y, caption)}<figcaption>{safe(caption)}</figcaption></figure>"


def histogram(values: npt.ArrayLike, name: str, label: str, *, bins: int = 24, height: int = HEIGHT) -> str:
    """Draw how often values of at least 1 occur; where they differ much, the axis is logarithmic.

    >>> histogram([3, 4, 5, 5, 5], "words", "Lengths").count("<rect")
    3
    """
    found = np.maximum(np.asarray(values, dtype=np.float64), 1.0)
    low, high = float(found.min()), float(found.max()) + 1
    log = high > 50 * low
    edges = np.unique((np.geomspace if log else np.linspace)(low, high, bins + 1).round())
    counts, _ = np.histogram(found, edges)
    columns = [
        (a, b, n, f"{a:,.0f} to {b - 1:,.0f} {name}: {count(n, 'text')}")
        for a, b, n in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
    ]
    return chart([Columns(columns)], Axis(name, log=log), Axis("texts", whole=True), label, height=height)


def _places(points: Sequence[Point], at: Place) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in (at(*point) for point in points))


def _element(tag: str, content: str, attributes: Mapping[str, Any]) -> str:
    """Return an SVG element; attributes without a value are left out."""
    given = "".join(f' {name.replace("_", "-")}="{safe(value)}"' for name, value in attributes.items() if value != "")
    return f"<{tag}{given}>{content}</{tag}>" if content else f"<{tag}{given}/>"


def _line(a: Point, b: Point, kind: str) -> str:
    ends = dict(zip(("x1", "y1", "x2", "y2"), (f"{v:.1f}" for v in (*a, *b)), strict=True))
    return _element("line", "", {"class": kind, **ends, "stroke": "currentColor", "stroke-opacity": FAINT[kind]})


def _text(x: float, y: float, anchor: str, text: str, **more: str) -> str:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    return _element("text", safe(text), {**place, "fill": "currentColor", **more})


def _axes(x: Axis, y: Axis, at: Place, top: float, bottom: float) -> Iterator[str]:
    """Yield the grid and the numbers of both axes."""
    for value in y.ticks(4) if y.name else ():
        _, place = at(x.low, value)
        yield _line((LEFT, place), (RIGHT, place), "grid")
        yield _text(LEFT - 6, place + 4, "end", y.text(value))
    for value in x.ticks(6):
        place, _ = at(value, y.low)
        if x.log:
            yield _line((place, top), (place, bottom), "grid")
        yield _text(place, bottom + 15, "middle", x.text(value))


def _legend(named: Sequence[Layer]) -> tuple[list[str], int]:
    """Return the names above the chart, each with a sample of its line, and how many rows they take."""
    parts, left, down = [], float(LEFT), 0
    for layer in named:
        wide = 42 + 6.3 * len(layer.name)
        if left > LEFT and left + wide > WIDTH:
            left, down = float(LEFT), down + 1
        dash, y = layer.dash if isinstance(layer, Line) else "", 10 + LEGEND * down
        ends = f"{left:.0f},{y} {left + 20:.0f},{y}"
        parts.append(layer.element("polyline", "line", points=ends, stroke_dasharray=dash))
        parts.append(_text(left + 25, y + 4, "start", layer.name))
        left += wide
    return parts, down + 1 if named else 0
