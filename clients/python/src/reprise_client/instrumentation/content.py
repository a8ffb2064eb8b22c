"""The switch for contents in spans that are recorded by hand; instrumentations have other switches."""

from __future__ import annotations

_captured = True


def captured() -> bool:
    """Return whether spans record the contents of calls."""
    return _captured


def set_captured(value: bool) -> None:
    global _captured
    _captured = value
