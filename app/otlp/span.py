"""A span as ingest handles it: identity and times decoded, everything else kept as it came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Span(msgspec.Struct, frozen=True, gc=False):
    """A valid span of a batch. Times are Unix nanoseconds within int64, `end_ns` never before `start_ns`.

    `raw` is the span's own JSON object, UTF-8, the only thing the database must keep of its content: a part of the
    batch, not a copy, so that a large batch is in memory once.
    `attributes` decode lazily; `failed` says whether the span's status is an error.
    """

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes | None
    name: str
    scope: str
    start_ns: int
    end_ns: int
    prompt_id: int
    conversation_id: str | None
    raw: memoryview
    attributes: Mapping[str, Any]
    failed: bool
