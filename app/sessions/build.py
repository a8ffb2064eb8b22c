"""Stored spans, in any order, to turns and sessions; pure and deterministic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.otlp.normalise.messages import first_user_text, last_user_text
from app.sessions.copies import mark_copies
from app.sessions.facts import PROMPT_VERSION
from app.sessions.recorded import offered_tools, placeholders, texts
from app.sessions.spans import StoredSpan, TurnSpan, read_turn
from app.sessions.steps import in_step_order, shown, step_of
from app.sessions.types import Turn, Usage
from app.sessions.warnings import warnings_of

CONVERSATION_ID = "gen_ai.conversation.id"


def build_session(turns: Iterable[Sequence[StoredSpan]]) -> tuple[Turn, ...]:
    """The turns of a session from their spans (each at least one), ordered by earliest start, then trace id.

    The turn that opens a session shows the first user text of its first model call, later ones the last.
    """
    read = [(spans[0].trace_id, _read(spans)) for spans in turns if spans]
    read.sort(key=lambda turn: (turn[1][0].full.start_ns, turn[0]))
    return tuple(_turn(trace_id.hex(), spans, opens_session=index == 0) for index, (trace_id, spans) in enumerate(read))


def _read(spans: Sequence[StoredSpan]) -> list[TurnSpan]:
    read = read_turn(spans)
    mark_copies(read)
    return read


def _turn(trace_id: str, spans: list[TurnSpan], *, opens_session: bool) -> Turn:
    user = _user(spans, opens_session=opens_session)
    versions = texts(spans, PROMPT_VERSION)
    conversations = texts(spans, CONVERSATION_ID)
    listed = tuple(map(shown, spans))
    return Turn(
        trace_id=trace_id,
        start_ns=spans[0].full.start_ns,
        end_ns=max(span.full.end_ns for span in spans),
        user=user,
        steps=tuple(step for span in in_step_order(spans) if (step := step_of(span)) is not None),
        placeholders=placeholders(spans),
        offered_tools=offered_tools(spans),
        prompt_version=next(iter(versions), None),
        conversation_id=next(iter(conversations), None),
        usage=sum((span.usage for span in listed), Usage()),
        warnings=tuple(warnings_of(spans, user, versions, conversations)),
        spans=listed,
    )


def _user(spans: list[TurnSpan], *, opens_session: bool) -> str | None:
    """The text of the first model call whose input has one."""
    choose = first_user_text if opens_session else last_user_text
    for span in spans:
        if span.is_chat and (text := choose(span.normal.input_messages)) is not None:
            return text
    return None
