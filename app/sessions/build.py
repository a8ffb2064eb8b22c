"""Builds turns and sessions from stored spans in any order; pure and deterministic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from app.otlp.names import CONVERSATION_KEYS, USER_KEYS, id_of
from app.otlp.normalise.hidden import is_hidden
from app.otlp.normalise.media import Media
from app.otlp.normalise.messages import Memo, Messages, first_user_text, last_user_text, own_words_at
from app.otlp.span import span_count
from app.prices.book import NO_PRICES, PriceBook
from app.prices.types import total
from app.sessions.capture import capture_advice, front_matter_advice
from app.sessions.copies import mark_copies
from app.sessions.facts import version_of
from app.sessions.fidelity import files_of, gaps_of, instruction_of, response_ids_of
from app.sessions.grouping import grouping_advice
from app.sessions.later_questions import divided, later_questions
from app.sessions.placeholders import placeholders
from app.sessions.spans import RawSpan, Records, TurnSpan, read_turn
from app.sessions.steps import in_step_order, shown, steps_of
from app.sessions.token_spans import spans_with_tokens
from app.sessions.tool_calls import read_calls
from app.sessions.turn_texts import LoneTurn
from app.sessions.types import Gap, Step, Turn, Usage
from app.sessions.under_way import earlier_in, gaps_in_earlier
from app.values.json import is_json, json_container, json_or_text

DEFINITIONS_MAX = 5_000
"""Definitions of tools that are read of a turn: four megabytes of JSON may have 200,000."""


def build_session(
    turns: Iterable[Sequence[RawSpan]],
    hashes: Container[str] = (),
    records: Records = MappingProxyType({}),
    prices: PriceBook = NO_PRICES,
    *,
    divide: bool = True,
) -> tuple[Turn, ...]:
    """Return the turns of a session from the spans of its traces, ordered by earliest start, then trace id.

    A trace is a turn, or several of a conversation that was recorded as one trace unless it is not to `divide` it.

    `hashes` are those of the prompt's versions that spans may name by `GENAI_VERSION`, `records` what was logged of
    spans, `prices` those of their model calls.

    The turn that opens a session shows the first user text of its first model call, later ones the last.
    """
    memo: Memo = {}
    traces = [(spans[0].trace_id, _read(spans, memo, records)) for spans in turns if spans]
    read = [(trace_id, part) for trace_id, spans in traces for part in (divided(spans) if divide else [spans])]
    read.sort(key=lambda turn: (turn[1][0].full.start_ns, turn[0]))
    in_order = [in_step_order(spans) for _, spans in read]
    steps = list(map(steps_of, in_order, read_calls(in_order)))
    response_ids = {name for _, spans in read for name in response_ids_of(spans)}
    turns_of_session = []
    first_of: dict[bytes, Turn] = {}
    for index, (trace_id, spans) in enumerate(read):
        opens, cut = index == 0, sum(map(_has_cut_json, spans))
        messages = _messages_with_words(spans)
        user = first_user_text(messages) if opens else last_user_text(messages)
        turn = _turn(trace_id.hex(), spans, steps[index], user, hashes, prices, cut)
        turn = _with_facts_of(turn, first_of.setdefault(trace_id, turn))
        before = messages[: own_words_at(messages)] if opens else ()
        files = files_of(spans, opens_session=opens and not before)
        gaps = (*gaps_of(spans, response_ids, cut, opens_session=opens), *gaps_in_earlier(before))
        instruction = instruction_of(spans)
        settings = front_matter_advice(instruction)
        lacks = (*lacks_of(spans, user, files, gaps), *lacks_answer(turn, spans, gaps))
        warnings = (*turn.warnings, *lacks, *([settings] if settings else []))
        turn = replace(turn, files=files, gaps=gaps, instruction=instruction, warnings=warnings)
        turns_of_session.append(_under_way(turn, spans, messages, before) if before else turn)
    return tuple(turns_of_session)


def build_lone_turn(spans: Sequence[RawSpan], records: Records = MappingProxyType({})) -> LoneTurn:
    """Return the texts of a turn, built from its spans, at least one.

    They include both texts of the user: the one that the turn shows as the first of a session, and the one as a later
    turn.
    """
    read = _read(spans, {}, records)
    in_order = in_step_order(read)
    messages = _messages_with_words(read)
    texts = (first_user_text(messages), last_user_text(messages))
    user = "\n".join(dict.fromkeys(filter(None, texts))) or None
    later = divided(read)[1:]
    users = (user, *(last_user_text(_messages_with_words(spans)) for spans in later))
    part_of = {span.span_id: part for part, spans in enumerate(later, 1) for span in spans}
    return LoneTurn(users, steps_of(in_order, *read_calls([in_order])), read, part_of)


def _read(spans: Sequence[RawSpan], memo: Memo, records: Records) -> list[TurnSpan]:
    read = read_turn(spans, memo, records)
    mark_copies(read)
    return read


def _turn(
    trace_id: str,
    spans: list[TurnSpan],
    steps: tuple[Step, ...],
    user: str | None,
    hashes: Container[str],
    prices: PriceBook,
    cut: int,
) -> Turn:
    named = (version_of(span.full.attributes, hashes) for span in spans)
    versions = list(dict.fromkeys(filter(None, named)))
    conversations = _names(spans, CONVERSATION_KEYS)
    with_tokens = {span.span_id for span in spans_with_tokens(spans)}
    listed = tuple(shown(span, prices, has_tokens=span.span_id in with_tokens) for span in spans)
    return Turn(
        trace_id=trace_id,
        start_ns=spans[0].full.start_ns,
        end_ns=max(span.full.end_ns for span in spans),
        user=user,
        steps=steps,
        placeholders=placeholders(spans),
        offered_tools=offered_tools(spans),
        prompt_version=next(iter(versions), None),
        conversation_id=next(iter(conversations), None),
        user_id=next(iter(_names(spans, USER_KEYS)), None),
        usage=sum((span.usage for span in listed if span.span_id in with_tokens), Usage()),
        bill=total(span.bill for span in listed if span.span_id in with_tokens),
        warnings=tuple(warnings_of(spans, versions, conversations, cut)),
        spans=listed,
    )


def _with_facts_of(turn: Turn, first: Turn) -> Turn:
    """Return a turn with what only the first turn of its trace records, such as the id of the conversation."""
    if turn is first:
        return turn
    return replace(
        turn,
        placeholders=first.placeholders if turn.placeholders is None else turn.placeholders,
        offered_tools=first.offered_tools if turn.offered_tools is None else turn.offered_tools,
        prompt_version=turn.prompt_version or first.prompt_version,
        conversation_id=turn.conversation_id or first.conversation_id,
        user_id=turn.user_id or first.user_id,
    )


def _messages_with_words(spans: list[TurnSpan]) -> Messages:
    """Return the input of the first model call with a text of the user, else of such an agent or root pipeline."""
    inputs = (span.inputs for span in chain.from_iterable(filter(kind, spans) for kind in _WITH_WORDS))
    return next((messages for messages in inputs if first_user_text(messages) is not None), None) or ()


def _under_way(turn: Turn, spans: list[TurnSpan], messages: Messages, before: Messages) -> Turn:
    """Return the turn that opens a session; `before` are those of the `messages` that are older than the turn."""
    question, earlier = last_user_text(messages), earlier_in(before)
    warning = "The conversation was under way when this session began: its earlier messages are no turns."
    if not turn.conversation_id:
        warning = f"{warning} To record it as one session: {grouping_advice(span.scope for span in spans)}"
    return replace(turn, question=question, earlier=earlier, warnings=(*turn.warnings, warning))


_WITH_WORDS = attrgetter("is_chat"), attrgetter("is_agent"), attrgetter("is_root_pipeline")


OFFERED = "service.tools.offered"
_GROUPS = ("function_declarations", "functionDeclarations")
_WRAPPERS = ("function", "toolSpec")
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint")
_SCHEMAS = ("parameters", "inputSchema", "input_schema", "parameters_json_schema", "parametersJsonSchema")

Tools = tuple[str | dict[str, Any], ...]


def _names(spans: Sequence[TurnSpan], keys: Sequence[str]) -> list[str]:
    """Return the different texts of the first of the attributes that any span has, in the order of the spans."""
    recorded = set(keys).intersection(chain.from_iterable(span.full.attributes for span in spans))
    for key in filter(recorded.__contains__, keys):
        texts = (id_of(span.full.attributes.get(key)) for span in spans)
        if names := list(dict.fromkeys(filter(None, texts))):
            return names
    return []


def offered_tools(spans: list[TurnSpan]) -> Tools | None:
    """Return the application's own list where it gave one, else the definitions that a model call recorded."""
    for span in spans:
        container = json_container(span.full.attributes.get(OFFERED))
        if isinstance(container, list):
            return _tools(container)
    for span in spans:
        if definitions := span.normal.definitions:
            return _tools(definitions)
    return None


def _tools(entries: list[Any]) -> Tools:
    inner_entries = chain.from_iterable(map(_ungrouped, entries[:DEFINITIONS_MAX]))
    first = islice(inner_entries, DEFINITIONS_MAX)
    return tuple(tool for inner in first if (tool := _tool(inner)) is not None)


def _ungrouped(entry: Any) -> list[Any]:
    """Gemini declares functions in groups."""
    group = json_container(entry)
    members = [group.get(key) for key in _GROUPS] if isinstance(group, dict) else []
    return next((inner for inner in members if isinstance(inner, list)), [entry])


def _tool(entry: Any) -> str | dict[str, Any] | None:
    """Return a name, or a definition `{name, description?, parameters?, annotations?}` under any vendor's names."""
    container = json_container(entry)
    if not isinstance(container, dict):
        return entry if isinstance(entry, str) and entry else None
    fields = next((container[key] for key in _WRAPPERS if isinstance(container.get(key), dict)), container)
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        return None
    tool: dict[str, Any] = {"name": name}
    if isinstance(fields.get("description"), str):
        tool["description"] = fields["description"]
    schema = next((json_or_text(fields[key]) for key in _SCHEMAS if fields.get(key) is not None), None)
    if isinstance(schema, dict):
        tool["parameters"] = next((schema[key] for key in ("jsonSchema", "json") if key in schema), schema)
    if hints := _hints(container) or _hints(fields):
        tool["annotations"] = hints
    return tool


def _hints(definition: Mapping[str, Any]) -> dict[str, bool]:
    """Return the hints of the Model Context Protocol on what a tool does to the world."""
    hints = definition.get("annotations")
    return {key: hints[key] for key in _HINTS if isinstance(hints.get(key), bool)} if isinstance(hints, dict) else {}


_MAX_NAMED = 5
_CUT_KEYS = frozenset(
    {
        *("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"),
        *("ai.prompt.messages", "ai.toolCall.args", "ai.toolCall.result", "service.prompt.placeholders"),
    }
)


# Attributes of any convention with messages: what they have is there, even if it is not read.
_CONTENT_KEYS = (
    *("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.prompt", "gen_ai.completion"),
    *("input.value", "output.value", "ai.prompt", "ai.prompt.messages", "ai.response.text"),
    *("langfuse.observation.input", "langfuse.observation.output", "mlflow.spanInputs", "mlflow.spanOutputs"),
)


def warnings_of(spans: list[TurnSpan], versions: list[str], conversations: list[str], cut: int) -> Iterator[str]:
    """Yield what a person should know about the recording; `cut` is the number of spans with JSON that is cut off."""
    if cut:
        yield f"JSON is cut off in {span_count(cut)}: raise the SDK's attribute length limit to see all that was said."
    copies = sum(span.is_copy for span in spans)
    if copies == 1:
        yield "1 span repeats another span of the same call and is no step."
    elif copies:
        yield f"{copies} spans repeat other spans of the same call and are no steps."
    if later := later_questions(spans):
        yield f"The trace has later questions of the user, which are no turns: {later}. Begin a trace for each turn."
    if len(versions) > 1:
        yield f"Spans name several prompt versions: {_listed(versions)}."
    if len(conversations) > 1:
        yield f"Spans name several conversations: {_listed(conversations)}."


def lacks_of(spans: Iterable[TurnSpan], user: str | None, files: Sequence[Media], gaps: Sequence[Gap]) -> Iterator[str]:
    """Yield what of the turn is not read, is no text, or can't be shown to a model again."""
    chats = [span for span in spans if span.is_chat]
    kinds = {gap.kind for gap in gaps}
    texts = user is not None or any(message.text for span in chats for message in span.outputs or ())
    if files:
        named = ", ".join(dict.fromkeys(file.kind for file in files))
        yield f"The user's message has parts that are no text: {named}."
    if chats and not texts and not files and not kinds & {"cut", "content_elsewhere"}:
        unread = dict.fromkeys(key for span in chats for key in _CONTENT_KEYS if _has_content(span, key))
        if unread and not any(span.outputs or span.inputs for span in chats):
            yield f"Messages were recorded in a form that is not read: {', '.join(unread)}."
        else:
            yield f"No message content was recorded: {capture_advice(span.scope for span in chats)}."
    if missing := dict.fromkeys(gap.message for gap in gaps if gap.kind != "cut"):
        is_elsewhere = "content_elsewhere" in kinds
        begin = "Content is elsewhere" if is_elsewhere else "The recording lacks what the model saw"
        remedy = " Import the spans with a copy of it: reprise import otlp --content." if is_elsewhere else ""
        yield f"{begin}: {'; '.join(list(missing)[:_MAX_NAMED])}.{remedy}"


def lacks_answer(turn: Turn, spans: Iterable[TurnSpan], gaps: Sequence[Gap]) -> Iterator[str]:
    """Yield a warning if the last model call succeeded, but nothing of what it answered is recorded."""
    last = next((span for span in reversed(list(spans)) if span.is_chat), None)
    if turn.user is None or last is None or last.full.failed or not (last.full.is_ok or last.tokens.completion):
        return
    answered = any(step.kind == "answer" for step in turn.steps) or any(
        message.has_content for message in last.outputs or ()
    )
    if not answered and not {gap.kind for gap in gaps} & {"cut", "content_elsewhere"}:
        yield f"No answer was recorded: the span of the last model call ({last.full.name}) has none."


def _has_content(span: TurnSpan, key: str) -> bool:
    value = span.full.attributes.get(key)
    return value not in (None, "", "[]", "{}", [], {}) and not is_hidden(value)


def _has_cut_json(span: TurnSpan) -> bool:
    return any(_is_cut(span.full.attributes[key]) for key in _CUT_KEYS & span.full.attributes.keys())


def _is_cut(value: Any) -> bool:
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")) or is_json(value):
        return False
    # Python's text of a dict is no JSON either, but whole.
    is_whole = value.count("{") == value.count("}") and value.count("[") == value.count("]")
    return not is_whole and json_container(value) is None


def _listed(names: list[str]) -> str:
    counted = [name if times == 1 else f"{name} ({times} times)" for name, times in Counter(names).items()]
    more = f" and {len(counted) - _MAX_NAMED} more" if len(counted) > _MAX_NAMED else ""
    return ", ".join(counted[:_MAX_NAMED]) + more
