"""The tracer of what an application records by hand, and how its spans record failures."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.trace import Span, Status, StatusCode

OPERATION = "gen_ai.operation.name"


def tracer() -> trace.Tracer:
    return trace.get_tracer("reprise_client")


def set_error(span: Span, error: BaseException) -> None:
    """Record on a span that `error` ended it."""
    span.set_attribute("error.type", type(error).__qualname__)
    span.set_status(Status(StatusCode.ERROR, type(error).__qualname__))
