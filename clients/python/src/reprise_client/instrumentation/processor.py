"""A span processor that sets what is known of the turn on every span, and hands spans to the delivery in batches."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from reprise_client.instrumentation.delivery import Delivery, Warnings
from reprise_client.instrumentation.otlp_json import batches
from reprise_client.instrumentation.scope import attributes_within, is_model_call, note_model_call

logger = logging.getLogger("reprise_client.instrumentation")

SCHEDULE_DELAY_MS = 1000.0
"""How long spans stay only in memory; `OTEL_BSP_SCHEDULE_DELAY` counts where it is set."""
FLUSH_S = 5.0


class SpanSpooler(SpanExporter):
    """Encodes spans and keeps them; they count as exported when they are on disk."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self._warnings = Warnings()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for batch in batches(spans, self._warn):
            self._delivery.put(batch)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self._delivery.shutdown(FLUSH_S)

    def _warn(self, error: Exception) -> None:
        self._warnings.warn(f"Spans that can't be encoded are dropped: {type(error).__name__}: {error}")


class RepriseSpanProcessor(BatchSpanProcessor):
    """Sends the spans of a provider to a prompt of Reprise.

    `defaults` are attributes of spans without a value for them.
    """

    def __init__(self, delivery: Delivery, defaults: Mapping[str, Any]) -> None:
        delay_ms = None if "OTEL_BSP_SCHEDULE_DELAY" in os.environ else SCHEDULE_DELAY_MS
        super().__init__(SpanSpooler(delivery), schedule_delay_millis=delay_ms)
        self._delivery, self._defaults = delivery, dict(defaults)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        attributes = span.attributes or {}
        missing = {key: value for key, value in self._defaults.items() if key not in attributes}
        span.set_attributes({**missing, **attributes_within(parent_context)})

    def on_end(self, span: ReadableSpan) -> None:
        if is_model_call(span.attributes or {}):
            note_model_call(span.get_span_context())
        super().on_end(span)

    def force_flush(self, timeout_millis: int | None = None) -> bool:
        """Return whether all spans that have ended were sent in time."""
        super().force_flush(timeout_millis)
        return self._delivery.flush(FLUSH_S if timeout_millis is None else timeout_millis / 1000)
