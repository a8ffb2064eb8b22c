"""Spans in normal form for tests of conventions."""

from __future__ import annotations

from typing import Any

from app.otlp.normalise import Event, Normalised, SpanView


def normal(
    attributes: dict[str, Any], name: str = "span", scope: str = "test", events: list[Event] | None = None
) -> Normalised:
    return Normalised(SpanView(name, scope, attributes, lambda: events or []))
