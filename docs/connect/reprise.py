"""Sends a Python process's spans to Reprise, each with its prompt and conversation. Copy it next to your program."""

import json
import os
import urllib.request
from contextlib import contextmanager

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

BASE_URL = os.environ["BASE_URL"]
AUTHORIZATION = {"Authorization": f"Bearer {os.environ['API_KEY']}"}
PROMPT_ID = int(os.environ["PROMPT_ID"])
# A context key, not baggage: baggage would go out with the HTTP requests to the model's vendor.
_ATTRIBUTES = context.create_key("reprise.attributes")


class PromptAttributes(SpanProcessor):
    """Sets the attributes of the turn on every span that starts within it, whoever starts it."""

    def on_start(self, span, parent_context=None):
        span.set_attributes(context.get_value(_ATTRIBUTES, parent_context) or {})


def exporter():
    return OTLPSpanExporter(endpoint=f"{BASE_URL}/api/public/otel/v1/traces", headers=AUTHORIZATION)


def connect():
    """Make Reprise the destination of all spans; `shutdown()` the answer to send the last ones."""
    # At its limit (128 unless set) the SDK drops a span's oldest attributes, the prompt id first.
    provider = TracerProvider(span_limits=SpanLimits(max_span_attributes=2000))
    provider.add_span_processor(PromptAttributes())
    provider.add_span_processor(BatchSpanProcessor(exporter()))
    trace.set_tracer_provider(provider)
    return provider


def render(placeholders=None):
    """The prompt as its model receives it: instruction, commitHash, languageModelConfig, placeholders."""
    request = urllib.request.Request(
        f"{BASE_URL}/api/v1/prompts/{PROMPT_ID}/render",
        data=json.dumps({"placeholders": placeholders or {}}).encode(),
        headers={**AUTHORIZATION, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


@contextmanager
def turn(prompt, conversation_id):
    """One turn: a span that is the parent of all others, so that they are one trace."""
    attributes = {
        "service.prompt.id": PROMPT_ID,
        "service.prompt.placeholders": json.dumps(prompt["placeholders"]["resolved"]),
        "gen_ai.conversation.id": conversation_id,
    }
    if prompt["commitHash"]:
        attributes["service.prompt.version"] = prompt["commitHash"]
    token = context.attach(context.set_value(_ATTRIBUTES, attributes))
    try:
        with trace.get_tracer("reprise").start_as_current_span("turn") as span:
            yield span
    finally:
        context.detach(token)
