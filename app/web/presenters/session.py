"""A session as a conversation, each turn with a timeline of its spans; and one span with all that it carried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.errors import NotFound
from app.services.traces.sessions import Session
from app.sessions.types import ShownSpan, Step, Turn, Usage
from app.web.charts import share
from app.web.filters import from_ns, pretty

DEPTH_MAX = 4
KINDS = {"chat": "chat", "generate_content": "chat", "text_completion": "chat", "execute_tool": "tool"}


@dataclass(frozen=True, slots=True)
class StepView:
    """`kind` is tool_call, answer, or aside for what is shown and is no step; texts are ready to read."""

    kind: str
    name: str = ""
    arguments: str = ""
    result: str = ""
    error: str | None = None
    text: str = ""
    duration_ms: float | None = None
    tokens: str = ""


@dataclass(frozen=True, slots=True)
class SpanRow:
    """`left` and `width` place its bar, in percent of the turn."""

    id: str
    name: str
    depth: int
    kind: str
    model: str | None
    tokens: str
    duration_ms: float
    error: str | None
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class TurnView:
    started_at: datetime
    duration_ms: float
    usage: Usage
    version: str | None
    user: str | None
    steps: list[StepView]
    placeholders: list[tuple[str, str]]
    tools: list[str] | None
    warnings: tuple[str, ...]
    spans: list[SpanRow]


@dataclass(frozen=True, slots=True)
class SessionPage:
    id: str
    href: str
    prompt_name: str
    prompt_href: str
    conversation_id: str | None
    started_at: datetime | None
    usage: Usage
    turns: list[TurnView]


def session_page(session: Session, prompt_name: str, base: str) -> SessionPage:
    return SessionPage(
        id=session.id,
        href=f"{base}/sessions/{session.id}",
        prompt_name=prompt_name,
        prompt_href=f"{base}/prompts/{session.prompt_id}",
        conversation_id=session.conversation_id,
        started_at=from_ns(min(turn.start_ns for turn in session.turns)) if session.turns else None,
        usage=sum((turn.usage for turn in session.turns), Usage()),
        turns=[_turn(turn) for turn in session.turns],
    )


def _turn(turn: Turn) -> TurnView:
    spans = {span.span_id: span for span in turn.spans}
    return TurnView(
        started_at=from_ns(turn.start_ns),
        duration_ms=_ms(turn),
        usage=turn.usage,
        version=turn.prompt_version,
        user=turn.user,
        steps=_said(turn, spans),
        placeholders=sorted((turn.placeholders or {}).items()),
        tools=None if turn.offered_tools is None else [_tool_name(tool) for tool in turn.offered_tools],
        warnings=turn.warnings,
        spans=[_span(span, turn, spans) for span in turn.spans],
    )


def _said(turn: Turn, spans: Mapping[str, ShownSpan]) -> list[StepView]:
    """The steps, and between them what the model said beside its tool calls, in the order of the spans."""
    order = {span_id: position for position, span_id in enumerate(spans)}
    said = [(order.get(step.span_id, 0), 2, _step(step, spans.get(step.span_id))) for step in turn.steps]
    for position, span in enumerate(turn.spans):
        if span.reasoning:
            said.append((position, 0, StepView("aside", "Reasoning", text=span.reasoning)))
        if span.text_beside_tools:
            said.append((position, 1, StepView("aside", "Beside the tool calls", text=span.text_beside_tools)))
    return [view for _, _, view in sorted(said, key=lambda entry: entry[:2])]


def _step(step: Step, span: ShownSpan | None) -> StepView:
    duration_ms = _ms(span) if span else None
    if step.kind == "answer":
        return StepView("answer", text=step.text, duration_ms=duration_ms, tokens=_tokens(span.usage) if span else "")
    return StepView(
        "tool_call",
        name=step.name,
        arguments=pretty(step.arguments),
        result=pretty(step.result),
        error=step.error,
        duration_ms=duration_ms,
    )


def _span(span: ShownSpan, turn: Turn, spans: Mapping[str, ShownSpan]) -> SpanRow:
    left, width = share(span.start_ns, span.end_ns, of=(turn.start_ns, turn.end_ns))
    return SpanRow(
        id=span.span_id,
        name=span.name,
        depth=_depth(span, spans),
        kind="error" if span.error else KINDS.get(span.operation, "other"),
        model=span.model,
        tokens=_tokens(span.usage),
        duration_ms=_ms(span),
        error=span.error,
        left=left,
        width=width,
    )


def _depth(span: ShownSpan, spans: Mapping[str, ShownSpan]) -> int:
    """How many of its ancestors are here, as far as they are told apart."""
    depth, parent = 0, spans.get(span.parent_span_id or "")
    while parent is not None and depth < DEPTH_MAX:
        depth, parent = depth + 1, spans.get(parent.parent_span_id or "")
    return depth


def _tokens(usage: Usage) -> str:
    return f"{usage.input_tokens:,} → {usage.output_tokens:,}" if usage != Usage() else ""


def _tool_name(tool: str | Mapping[str, object]) -> str:
    return tool if isinstance(tool, str) else str(tool.get("name", ""))


def _ms(timed: Turn | ShownSpan) -> float:
    return (timed.end_ns - timed.start_ns) / 1e6


@dataclass(frozen=True, slots=True)
class SpanPage:
    """`attributes` are (key, readable value) pairs, in the order of their keys."""

    id: str
    name: str
    back: str
    operation: str
    convention: str | None
    started_at: datetime
    duration_ms: float
    error: str | None
    attributes: list[tuple[str, str]]


def span_page(session: Session, span_id: str, base: str) -> SpanPage:
    """`NotFound` when the session has no such span."""
    found = next((span for turn in session.turns for span in turn.spans if span.span_id == span_id), None)
    if found is None:
        raise NotFound("The session has no such span.")
    return SpanPage(
        id=found.span_id,
        name=found.name,
        back=f"{base}/sessions/{session.id}",
        operation=found.operation,
        convention=found.convention,
        started_at=from_ns(found.start_ns),
        duration_ms=_ms(found),
        error=found.error,
        attributes=[(key, pretty(value)) for key, value in sorted(found.attributes.items())],
    )
