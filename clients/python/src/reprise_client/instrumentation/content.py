"""Whether what is recorded by hand holds what was said; instrumentations have switches of their own."""

from __future__ import annotations

_captured = True


def captured() -> bool:
    return _captured


def set_captured(value: bool) -> None:
    global _captured
    _captured = value
