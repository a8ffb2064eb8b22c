"""Geometry of the inline charts: numbers in, coordinates out; the macros draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    empty: bool = False


def bars(values: Sequence[float], *, width: float = 84, height: float = 22, gap: float = 2) -> list[Bar]:
    """One bar for each value, in pixels; the largest is as high as the chart, zero leaves a hairline."""
    if not values:
        return []
    step = (width + gap) / len(values)
    largest = max(values) or 1
    heights = [max(1.0, value / largest * height) for value in values]
    return [
        Bar(round(index * step, 2), round(height - tall, 2), round(step - gap, 2), round(tall, 2), not value)
        for index, (tall, value) in enumerate(zip(heights, values, strict=True))
    ]


def share(start: int, end: int, *, of: tuple[int, int]) -> tuple[float, float]:
    """The position of a stretch of time within another: (left, width) in percent, at least half a percent wide."""
    whole = max(1, of[1] - of[0])
    left = round(min(max(0.0, (start - of[0]) / whole * 100), 99.5), 3)
    return left, round(min(max(0.5, (end - start) / whole * 100), 100 - left), 3)
