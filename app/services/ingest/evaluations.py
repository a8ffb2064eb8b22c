"""The scores in telemetry: evaluations of spans, in their events or in log records."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from app.models.scores import NewScore
from app.models.span_bodies import SpanKey
from app.otlp.evaluations import Evaluation, evaluations_in
from app.otlp.span import Span

SOURCE = "otlp"


def score_row(
    project_id: int,
    prompt_id: int | None,
    key: SpanKey,
    time_ns: int,
    evaluation: Evaluation,
    waiting_since: int | None = None,
) -> NewScore:
    """Return the row of an evaluation; equal span, name and time give the same digest."""
    identity = b"".join((*key, time_ns.to_bytes(8), evaluation.name.encode()))
    digest = blake2b(identity, digest_size=16, person=SOURCE.encode()).digest()
    fields = (evaluation.name, evaluation.value, evaluation.label, evaluation.comment)
    return (project_id, digest, prompt_id, *key, time_ns, *fields, SOURCE, waiting_since)


def scores_in(project_id: int, spans: Iterable[Span]) -> list[NewScore]:
    """Return the rows of the evaluations in the events of spans."""
    return [
        score_row(project_id, span.prompt_id, (span.trace_id, span.span_id), time_ns, evaluation)
        for span in spans
        for time_ns, evaluation in evaluations_in(bytes(span.raw))
    ]
