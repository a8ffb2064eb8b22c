"""The figures of insight: their names and units for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprise_formats.formats import duration, percent, usd

FIGURES = {
    "failedSessions": ("Sessions with errors", "percent"),
    "failedTools": ("Sessions with failed tools", "percent"),
    "turnMs": ("Time of a turn, median", "duration"),
    "sessionCost": ("Cost of a session, median", "usd"),
    "failedRuns": ("Failed runs", "percent"),
    "replaysPassed": ("Replays passed", "percent"),
}
"""The name and the unit of each figure that two versions are compared by, but for scores."""
SCORE = "score"
_UNITS = {"percent": percent, "duration": duration, "usd": usd, SCORE: "{:.3g}".format}


def figure(name: str, *, score: bool) -> tuple[str, str]:
    """Return the name and the unit of a finding; that of a score is named after the score."""
    return (f"Score {name}", SCORE) if score else FIGURES.get(name, (name, SCORE))


def shown(estimate: Mapping[str, Any], unit: str) -> str:
    """Formats an estimate with its interval: 12 % (8 % to 17 %); – where nothing is known."""
    value, low, high = estimate["value"], estimate["low"], estimate["high"]
    if value is None:
        return "–"
    shown = _UNITS[unit]
    return shown(value) if low is None else f"{shown(value)} ({shown(low)} to {shown(high)})"
