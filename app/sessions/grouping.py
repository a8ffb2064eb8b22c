"""How the calls of a conversation become one session, by the names of the instrumentations' scopes."""

from __future__ import annotations

from collections.abc import Iterable

_PYTHON_SPAN = 'with tracer.start_as_current_span("turn", attributes={"session.id": conversation_id}):'
_JS_SPAN = 'tracer.startActiveSpan("turn", { attributes: { "session.id": conversationId } }, async (span) => { … })'

# The first that fits: a scope that is, or begins with, one of the names.
SNIPPETS: tuple[tuple[str, str], ...] = (
    ("openinference.instrumentation.langchain", 'config={"configurable": {"thread_id": conversation_id}}'),
    ("openinference.instrumentation.", "with using_session(conversation_id):"),
    ("opentelemetry.instrumentation.openai_agents", 'with trace("turn", group_id=conversation_id):'),
    ("opentelemetry.instrumentation.genai.openai_agents", 'with trace("turn", group_id=conversation_id):'),
    ("opentelemetry.", _PYTHON_SPAN),
    ("com.anthropic.sdk.", _PYTHON_SPAN),
    ("strands.", 'Agent(trace_attributes={"session.id": conversation_id})'),
    ("pydantic-ai", 'with logfire.span("turn", **{"session.id": conversation_id}):'),
    ("@", _JS_SPAN),
    ("ai", "experimental_telemetry: { isEnabled: true, metadata: { sessionId: conversationId } }"),
    (
        "gen_ai",
        "new OpenTelemetry({ enrichSpan: ({ runtimeContext }) => "
        "({ 'gen_ai.conversation.id': runtimeContext?.conversationId }) })",
    ),
)
# Scopes that are one word are no beginnings of others.
_WHOLE = frozenset({"ai", "gen_ai"})


def grouping_advice(scopes: Iterable[str]) -> str:
    """Return the line that names the conversation in spans of the first known one of these scopes, else a sentence."""
    known = (line for scope in scopes for name, line in SNIPPETS if _fits(scope, name))
    return next(known, "put a span with session.id around each turn.")


def _fits(scope: str, name: str) -> bool:
    return scope == name or (name not in _WHOLE and scope.startswith(name))
