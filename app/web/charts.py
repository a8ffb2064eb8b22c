"""Shapes, scales and labels of bar charts. The macros `chart` and `sparkline` draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import floor, log10

# The upper end of a scale is one of these times a power of ten, so that half of it is a short number, too.
ROUND = (1, 2, 4, 6, 8, 10)


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    empty: bool


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval and its value, in pixels."""

    x: float
    width: float
    at: float


@dataclass(frozen=True, slots=True)
class Chart:
    """A series on a scale from 0 to `top`. `peak` is the label and the value of the highest bar."""

    bars: Sequence[Bar]
    top: float
    total: float
    peak: tuple[str, float]

    @property
    def half(self) -> float:
        return self.top / 2


def day_label(day: date) -> str:
    """Return the label of a day in a chart: 9 Mar."""
    return f"{day.day} {day:%b}"


def chart(points: Sequence[tuple[str, float]], *, width: float = 600, height: float = 80) -> Chart:
    """Return the chart of one or more (label, value) pairs. Values must not be negative."""
    values = [value for _, value in points]
    top = scale_top(max(values))
    peak = max(points, key=lambda point: point[1])
    return Chart(bars(values, width=width, height=height, top=top), top, sum(values), peak)


def intervals(
    known: Sequence[tuple[float | None, float | None, float | None]], *, width: float = 160
) -> list[Interval]:
    """Draw each (value, low, high) on one scale. Return nothing unless all are known."""
    bounds = [bound for interval in known for bound in interval if bound is not None]
    if len(bounds) < 3 * len(known):
        return []
    least, extent = min(bounds), (max(bounds) - min(bounds)) or 1

    def place(value: float | None) -> float:
        return round(((value or 0) - least) / extent * (width - 2), 2)

    return [Interval(place(low), max(2.0, place(high) - place(low)), place(value)) for value, low, high in known]


def scale_top(largest: float) -> float:
    """Return the next round number from the value upwards; 1 for 0."""
    if largest <= 0:
        return 1
    power = 10.0 ** floor(log10(largest))
    return next((step * power for step in ROUND if step * power >= largest * (1 - 1e-9)), largest)


def bars(
    values: Sequence[float], *, width: float = 84, height: float = 22, gap: float = 2, top: float | None = None
) -> list[Bar]:
    """Return a bar for each value, in pixels. `top`, or the largest value, fills the chart; 0 is a hairline."""
    if not values:
        return []
    gap = min(gap, width / (2 * len(values)))
    step = (width + gap) / len(values)
    highest = top or max(values) or 1
    heights = [max(1.0, value / highest * height) for value in values]
    return [
        Bar(round(index * step, 2), round(height - tall, 2), round(step - gap, 2), round(tall, 2), not value)
        for index, (tall, value) in enumerate(zip(heights, values, strict=True))
    ]
