"""Evaluations of model calls that instrumentations report, as events of spans or as log records of the same form."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.otlp.names import text_of
from app.otlp.protobuf import stored_fields
from app.otlp.values import attributes, time_ns

EVALUATION = "gen_ai.evaluation.result"
MARK = EVALUATION.encode()
"""Bytes that occur in every span with an evaluation, and in every batch with such a span."""
EVALUATION_NAME_MAX = 255
"""Characters kept of an evaluation's name, and of its label."""
COMMENT_MAX = 10_000
"""Characters kept of an explanation, and of any comment on a score."""
SPAN_MAX = 1000
"""Events of a span that are read as evaluations."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A name with at least one other field. `value` is finite."""

    name: str
    value: float | None
    label: str | None
    comment: str | None


def evaluation_of(named: Mapping[str, Any]) -> Evaluation | None:
    """Return the evaluation in these attributes; None if they have no name, or nothing else."""
    name = text_of(named.get("gen_ai.evaluation.name"))[:EVALUATION_NAME_MAX]
    value = _number(named.get("gen_ai.evaluation.score.value"))
    label = text_of(named.get("gen_ai.evaluation.score.label"))[:EVALUATION_NAME_MAX] or None
    comment = text_of(named.get("gen_ai.evaluation.explanation"))[:COMMENT_MAX] or None
    if not name or (value, label, comment) == (None, None, None):
        return None
    return Evaluation(name, value, label, comment)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def evaluations_in(raw: bytes) -> Iterator[tuple[int, Evaluation]]:
    """Yield the evaluations among the events of a valid span, with their times in Unix nanoseconds.

    A span is only parsed if its bytes contain the event's name.
    """
    if MARK not in raw:
        return
    try:
        listed = stored_fields(raw).get("events")
    except ValueError:
        return
    events = listed if isinstance(listed, list) else []
    evaluations = [event for event in events if isinstance(event, dict) and event.get("name") == EVALUATION]
    for event in evaluations[:SPAN_MAX]:
        if evaluation := evaluation_of(attributes(event.get("attributes"))):
            yield time_ns(event.get("timeUnixNano")), evaluation
