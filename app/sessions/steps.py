"""Spans to steps: each tool's execution, each call without a span, and each answer of the model that calls no tool."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from app.otlp.names import text_of
from app.otlp.normalise import Messages, NormalisedMessage, ToolResponse, ToolUse
from app.otlp.normalise.finish import recorded_reason
from app.otlp.normalise.genai import DECISION, EXCEPTION
from app.otlp.normalise.roles import NO_MODEL
from app.otlp.normalise.tokens import first_token_ms
from app.prices.book import PriceBook
from app.prices.types import NOTHING, total
from app.sessions.exchanges import RequestedCall
from app.sessions.model_calls import calls_of
from app.sessions.spans import TurnSpan
from app.sessions.types import ShownSpan, Step, Usage
from app.values.json import json_text
from app.values.thoughts import separated

_OUTCOME = f"{DECISION}.outcome"


def in_step_order(spans: Sequence[TurnSpan]) -> list[TurnSpan]:
    """Return the spans in their order, but a model call that ran tools within itself after the last of these.

    A library that calls the tools by itself (google-genai) records one model call around them: it answers at its end.
    Tools may also have the same parent as the call that they are within (OpenLIT for coding agents).
    """
    parents = {span.span_id: span.full.parent_span_id or "" for span in spans}
    parents |= _calls_during(spans)
    last_tool: dict[str, int] = {}
    for index in reversed(range(len(spans))):
        at = parents[spans[index].span_id] if spans[index].is_tool else ""
        while at in parents and at not in last_tool:
            last_tool[at] = index
            at = parents[at]

    def key(index: int) -> tuple[int, bool]:
        answered_at = max(index, last_tool.get(spans[index].span_id, 0)) if spans[index].is_chat else index
        return answered_at, answered_at != index

    return [spans[index] for index in sorted(range(len(spans)), key=key)]


def _calls_during(spans: Sequence[TurnSpan]) -> dict[str, str]:
    """Return the model call with an answer and the same parent for each tool that ran during it."""
    latest: dict[tuple[str, str | None], TurnSpan] = {}
    during = {}
    for span in spans:
        key = (span.scope, span.full.parent_span_id)
        if span.is_chat:
            latest[key] = span
        elif span.is_tool and (chat := latest.get(key)) and _answers_after(chat, span):
            during[span.span_id] = chat.span_id
    return during


def _answers_after(chat: TurnSpan, tool: TurnSpan) -> bool:
    return tool.full.end_ns < chat.full.end_ns and answer_text(chat.outputs) is not None


def steps_of(spans: Sequence[TurnSpan], calls: Sequence[RequestedCall]) -> tuple[Step, ...]:
    """Return the steps of a turn, from its spans in step order and the `calls` in its messages.

    Calls without a span come before the calls that the model asked for later, and before the answer of the model call
    that contains them. If no model call has text, the agents' answers are the last steps, or else that of the root
    pipeline.
    """
    places = {call.span.span_id: index for index, call in enumerate(calls) if call.span}
    ran = {span_id: calls[index] for span_id, index in places.items()}
    without_span: dict[str, list[tuple[int, Step]]] = defaultdict(list)
    denied = _denied(spans)
    for index, call in enumerate(calls):
        if call.span is None:
            without_span[call.chat_id].append((index, _of_messages(call, denied)))
    batches = _batches(spans, ran)
    asking = set(_asking([span for span in spans if span.is_chat]))
    whole = _around_its_tools(spans)
    steps: list[Step] = []
    waiting: deque[tuple[int, Step]] = deque()
    for span in _in_order_of_calls(spans, places):
        if span.is_tool:
            steps += _up_to(waiting, places.get(span.span_id))
            steps.append(_of_tool(span, ran.get(span.span_id), batches[span.span_id]))
            continue
        steps += _up_to(waiting)
        waiting.extend(without_span[span.span_id])
        text = answer_text(span.outputs, has_answers=span is whole)
        if span.span_id not in asking and text is not None:
            steps += [*_up_to(waiting), Step("answer", span.span_id, text=text)]
    steps += _up_to(waiting)
    if not any(span.outputs for span in spans if span.is_chat):
        steps += [*_answers_of_agents(spans)] or _answers_of_root(spans)
    return tuple(steps)


def _around_its_tools(spans: Sequence[TurnSpan]) -> TurnSpan | None:
    """Return the last model call if tools ran within it: its words are those after the tools, and it asks for nothing.

    A program around another agent records what that agent does in a turn as one call.
    """
    last = next((span for span in reversed(spans) if span.is_chat), None)
    within = {span.full.parent_span_id for span in spans if span.is_tool}
    return last if last and last.span_id in within else None


def _in_order_of_calls(spans: Sequence[TurnSpan], places: Mapping[str, int]) -> Iterator[TurnSpan]:
    """Yield the model calls and tools; tools of the same start and end in the order in which they were asked for."""
    calls = (span for span in spans if span.is_chat or span.is_tool)
    for _, group in groupby(calls, key=lambda span: (span.is_tool, span.full.start_ns, span.full.end_ns)):
        yield from sorted(group, key=lambda span: places.get(span.span_id, len(places)))


def _up_to(waiting: deque[tuple[int, Step]], place: int | None = None) -> Iterator[Step]:
    """Remove and yield the waiting calls that the model asked for before the one with this place, or all of them."""
    while waiting and (place is None or waiting[0][0] < place):
        yield waiting.popleft()[1]


def _asking(chats: Sequence[TurnSpan]) -> Iterator[str]:
    """Yield the ids of model calls without a finish reason that asked for tools, as the next call's input shows."""
    for chat, later in pairwise(chats):
        given, inputs = later.inputs or (), chat.inputs or ()
        at = len(inputs)
        if not 0 < at < len(given) or given[at].role in NO_MODEL or given[at - 1] != inputs[-1]:
            continue
        if any(not call.hosted for call in given[at].calls) and recorded_reason(chat.full.attributes) is None:
            yield chat.span_id


def _answers_of_agents(spans: Sequence[TurnSpan]) -> Iterator[Step]:
    """Yield the answers of agents that are within no other agent with one, in the order in which they ended."""
    tree = {span.span_id: span for span in spans}
    texts = {span.span_id: answer_text(span.normal.output_messages) for span in spans if span.is_agent}
    answers = {span_id: text for span_id, text in texts.items() if text is not None}
    within: dict[str, bool] = {}
    recorded: dict[str, TurnSpan] = {}
    for span in sorted(spans, key=lambda agent: agent.full.end_ns):
        if span.span_id not in answers or _is_within(span, tree, answers, within):
            continue
        text = answers[span.span_id]
        same = recorded.setdefault(text, span)
        # Two libraries may record an agent side by side.
        if same is span or same.scope == span.scope or same.full.end_ns < span.full.start_ns:
            yield Step("answer", span.span_id, text=text)


def _answers_of_root(spans: Sequence[TurnSpan]) -> list[Step]:
    texts = ((span, answer_text(span.normal.output_messages)) for span in spans if span.is_root_pipeline)
    return [Step("answer", span.span_id, text=text) for span, text in texts if text is not None]


def _is_within(span: TurnSpan, tree: Mapping[str, TurnSpan], outer: Container[str], within: dict[str, bool]) -> bool:
    """Return whether a span has one of the `outer` spans around it; `within` has the results for earlier spans."""
    path: dict[str, None] = {}
    at, is_within = tree.get(span.full.parent_span_id or ""), False
    while at is not None and not is_within and at.span_id not in path:
        if at.span_id in within:
            is_within = within[at.span_id]
            break
        path[at.span_id] = None
        is_within, at = at.span_id in outer, tree.get(at.full.parent_span_id or "")
    within.update(dict.fromkeys(path, is_within))
    return is_within


def _batches(spans: Sequence[TurnSpan], ran: Mapping[str, RequestedCall]) -> dict[str, str]:
    """Return the batch of each tool span: its call's, else that of the tool spans with no model call between them."""
    batches: dict[str, str] = {}
    for _, group in groupby((span for span in spans if span.is_chat or span.is_tool), key=lambda span: span.is_tool):
        tools = [span.span_id for span in group if span.is_tool]
        known = [ran[span_id].batch for span_id in tools if span_id in ran]
        common = next(iter([*known, *tools]), "")
        batches.update((span_id, ran[span_id].batch if span_id in ran else common) for span_id in tools)
    return batches


def _of_tool(span: TurnSpan, call: RequestedCall | None, batch: str) -> Step:
    """Return the step of a tool span; what the span does not have is taken from the call in the messages."""
    tool, error = span.tool or ToolUse(), tool_error(span)
    response = call.response if call and tool.result is None else None
    if response and error is not None:
        error = _in_words(span, error, response)
        response = None
    return Step(
        "tool_call",
        span.span_id,
        name=call.call.name if call and span.is_nameless else span.tool_name,
        arguments=call.call.arguments if call and tool.arguments is None else tool.arguments,
        result=response.result if response else tool.result,
        error=response.error if response else error,
        batch=batch,
        hosted=call is not None and call.call.hosted,
    )


def _in_words(span: TurnSpan, error: str, response: ToolResponse) -> str:
    """Return the error of a tool; if its span has only a type of error, the response that the model got."""
    if error not in ("failed", span.full.attributes.get("error.type")):
        return error
    words = response.error or response.result
    return error if words in (None, "", {}, []) else json_text(words)


def _denied(spans: Sequence[TurnSpan]) -> set[str]:
    """Return the ids of the calls that a person or a policy denied, so that no tool ran."""
    decisions = (values for span in spans for name, values in span.full.events if name == DECISION)
    denials = (values for values in decisions if values.get(_OUTCOME) == "deny")
    return set(filter(None, (text_of(values.get("gen_ai.tool.call.id")) for values in denials)))


def _of_messages(call: RequestedCall, denied: Container[str]) -> Step:
    """Return the step of a call without a span; a denied call that nothing has answered has the denial as its error."""
    is_denied = call.response is None and call.call.id in denied
    response = call.response or ToolResponse(error="denied" if is_denied else None)
    return Step(
        "tool_call",
        call.chat_id,
        name=call.call.name,
        arguments=call.call.arguments,
        result=response.result,
        error=response.error,
        source="messages",
        answered=is_denied or call.response is not None,
        batch=call.batch,
        hosted=call.call.hosted,
    )


def tool_error(span: TurnSpan) -> str | None:
    """Return the error of a failed tool, or that of its copies; None if it did not fail."""
    return next(filter(None, map(_own_error, (span, *span.copies))), None)


def _own_error(span: TurnSpan) -> str | None:
    """Return the error of a failed tool: its result, else its exception, else its status."""
    result, is_marked = (span.tool.result, span.tool.failed) if span.tool else (None, False)
    if not span.full.failed and not is_marked and (result is not None or exception(span) is None):
        return None
    if result not in (None, "", {}, []):
        return json_text(result)
    return span_error(span)


_ERRORS = ("error.message", "langfuse.observation.status_message", "error.type", "error")


def span_error(span: TurnSpan) -> str:
    """Return the recorded reason for which a span failed."""
    texts = (span.full.attributes.get(key) for key in _ERRORS)
    return exception(span) or span.full.status_message or next((str(text) for text in texts if text), "failed")


def exception(span: TurnSpan) -> str | None:
    """Return the message of the last exception event, else its type."""
    for name, attributes in reversed(span.full.events):
        if name in ("exception", EXCEPTION):
            message: Any = attributes.get("exception.message") or attributes.get("exception.type")
            return str(message) if message else None
    return None


def shown(span: TurnSpan, prices: PriceBook, *, has_tokens: bool) -> ShownSpan:
    """Return a span as the page lists it, and what its call cost by these prices if it `has_tokens`."""
    full, normal = span.full, span.normal
    error = tool_error(span) if span.tool else span_error(span) if full.failed else None
    usage = Usage(*span.tokens) if has_tokens else Usage()
    served = span.served_model if has_tokens else None
    calls = calls_of(span.provider or "", served or "", usage, span.modalities) if has_tokens else []
    return ShownSpan(
        span.span_id,
        full.parent_span_id,
        full.name,
        normal.operation,
        full.start_ns,
        full.end_ns,
        error,
        full.attributes,
        convention=normal.convention,
        provider=normal.provider,
        model=normal.model,
        usage=usage,
        reasoning=reasoning(span.outputs),
        text_with_calls=text_with_calls(span.outputs),
        served_model=served,
        bill=total(part.bill(prices) for part in calls) if calls else NOTHING,
        first_token_ms=_first_token_ms(span) if span.is_chat else None,
    )


def _first_token_ms(span: TurnSpan) -> float | None:
    duration_ms = (span.full.end_ns - span.full.start_ns) / 1e6
    return first_token_ms(span.normal.span, span.full.start_ns, duration_ms)


def answer_text(outputs: Messages | None, *, has_answers: bool = False) -> str | None:
    """Return the text of a model's last message, unless the model asks for tools or a tool's response follows.

    Calls of hosted tools do not count: the vendor has answered them. With `has_answers` no call counts.
    """
    message = _answer(outputs, has_answers=has_answers)
    return _separated(message)[1] or None if message else None


def _answer(outputs: Messages | None, *, has_answers: bool = False) -> NormalisedMessage | None:
    for message in reversed(outputs or ()):
        if message.role == "tool":
            return None
        if message.role not in NO_MODEL and (message.text or message.calls):
            asks = message.asks or (not has_answers and any(not call.hosted for call in message.calls))
            return None if asks else message
        if message.responses:
            return None
    return None


def text_with_calls(outputs: Messages | None) -> str | None:
    """Return the text that comes with tool calls. It is shown and is not a step."""
    answer = _answer(outputs)
    written = [message for message in outputs or () if message.role not in NO_MODEL and message is not answer]
    if not any(message.asks or message.calls for message in written):
        return None
    texts = (_separated(message)[1] for message in written)
    return "\n".join(filter(None, texts)) or None


def reasoning(outputs: Messages | None) -> str | None:
    texts = (_separated(message)[0] for message in outputs or ())
    return "\n".join(filter(None, texts)) or None


def _separated(message: NormalisedMessage) -> tuple[str | None, str | None]:
    """Return what the model has thought, and its text, of which thoughts may be the beginning."""
    if message.reasoning or message.text is None or message.role in NO_MODEL:
        return message.reasoning, message.text
    return separated(message.text)
