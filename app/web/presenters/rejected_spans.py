"""Rejected spans, each with what to change so that the next one is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.cursors import Page
from app.models.rejected_spans import RejectedSpan
from app.web.presenters.lists import first_link, next_link

ADVICE = {
    "malformed_span": "Send spans as OTLP JSON has them; this one is no object",
    "bad_trace_id": "Send a traceId of 32 hex digits, not all zero",
    "bad_span_id": "Send a spanId of 16 hex digits, not all zero",
    "no_name": "Give the span a name",
    "no_start_time": "Send startTimeUnixNano",
    "bad_attributes": "Send attributes as a list of key and value",
    "missing_prompt_id": "Set the attribute service.prompt.id on every span",
    "prompt_id_on_resource": "Set service.prompt.id on the spans; on the resource alone it is not read",
    "prompt_id_cut": "Raise the attribute length limit: service.prompt.id was cut off",
    "bad_prompt_id": "Set service.prompt.id to a prompt's number",
    "unknown_prompt": "Use the id of a prompt in the API key's project",
}


@dataclass(frozen=True, slots=True)
class RejectedRow:
    advice: str
    reason: str
    name: str
    span_id: str
    trace_id: str
    received_at: datetime


@dataclass(frozen=True, slots=True)
class RejectedPage:
    rows: list[RejectedRow]
    next_href: str | None
    first_href: str | None


def rejected_page(page: Page[RejectedSpan], query: Mapping[str, str]) -> RejectedPage:
    rows = [
        RejectedRow(
            ADVICE.get(span.code, "Change the span"), span.reason, span.name, span.span_id, span.trace_id,
            span.received_at,
        )
        for span in page.entries
    ]  # fmt: skip
    return RejectedPage(rows, next_link(query, page.next_cursor), first_link(query))
