"""The environment of the templates: everything is escaped, a missing name is an error; and the functions they call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.models.organizations import Role
from app.timestamps import Now
from app.web import filters, labels
from app.web.assets import Assets
from app.web.visit import Visit

FOLDER = Path(__file__).parent / "templates"
# Section, label, path below the project, the role that sees it.
NAVIGATION = (
    ("start", "Getting started", "start", Role.VIEWER),
    ("prompts", "Prompts", "prompts", Role.VIEWER),
    ("rejected", "Rejected spans", "rejected-spans", Role.VIEWER),
    ("usage", "Usage", "usage", Role.VIEWER),
    ("operations", "Operations", "operations", Role.ADMIN),
    ("settings", "Settings", "settings/keys", Role.ADMIN),
)


def environment(*, assets: Assets, now: Now) -> Environment:
    templates = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters.update(filters.FILTERS, relative=filters.relative_to(now))
    templates.globals.update(asset=assets.url, bars=bars, share=share, labels=labels, navigation=navigation)
    return templates


def navigation(visit: Visit) -> list[tuple[str, str, str]]:
    """(section, label, address) of the links beside every page that the viewer's role may follow."""
    return [
        (section, label, f"{visit.base}/{path}")
        for section, label, path, role in NAVIGATION
        if visit.may(role) and (section != "operations" or visit.operates)
    ]


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    empty: bool


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
