"""Finds a conversation that was recorded as one trace, and divides it into its turns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.otlp.codex import QUESTIONS
from app.otlp.normalise.convention import GENERATION
from app.otlp.normalise.messages import Messages, last_user_text, own_words_at
from app.sessions.spans import TurnSpan

_CODING_TURN = "coding_agent.llm.turn"
"""The name of OpenLIT's spans of coding agents: each is a question and its answer, in the trace of a whole session."""
_QUESTION_NAMES = QUESTIONS | {_CODING_TURN}
_TURN_NAMES = frozenset({"turn", "agent_turn", "user_turn", "conversation_turn", _CODING_TURN})
"""The spans that frameworks put around a question and its answer."""


def divided(spans: Sequence[TurnSpan]) -> list[list[TurnSpan]]:
    """Return the spans of a trace by turn: an agent, or a turn's span, that is asked a later question begins one.

    Spans are in the order of their start, with their copies marked.
    """
    bounds = first_end_and_last_start(spans)
    if bounds is None or bounds[0] > bounds[1]:
        return [list(spans)]
    later = {chat.span_id for chat in _asked_later(spans)}
    parts: list[list[TurnSpan]] = [[]]
    begins = list(_begins(spans, later)) if later else _later_starts(spans)
    parts += [[] for _ in begins]
    for span in spans:
        parts[bisect_right(begins, span.full.start_ns)].append(span)
    return parts


def first_end_and_last_start(spans: Iterable[TurnSpan]) -> tuple[int, int] | None:
    """Return the first end and the last start of the spans that may begin a turn; None without any.

    A trace has several turns only if one of these spans starts when another one has ended.
    """
    around = [span.full for span in spans if span.normal.is_agent or span.full.name in _TURN_NAMES]
    return (min([span.end_ns for span in around]), max([span.start_ns for span in around])) if around else None


def _may_begin_a_turn(span: TurnSpan) -> bool:
    return span.normal.is_agent or span.full.name in _TURN_NAMES


def _begins(spans: Sequence[TurnSpan], later: set[str]) -> Iterator[int]:
    """Yield the start of each turn after the first, in order: that of the outermost new agent around its question."""
    tree = {span.span_id: span for span in spans}
    around_earlier: set[str | None] = {None}
    last_ns = 0
    for chat in _calls_with_words(spans):
        outer, at = None, chat.full.parent_span_id
        while at not in around_earlier and (span := tree.get(at or "")):
            around_earlier.add(at)
            outer = span if _may_begin_a_turn(span) else outer
            at = span.full.parent_span_id
        if chat.span_id in later and outer and outer.full.start_ns > last_ns:
            yield outer.full.start_ns
        last_ns = chat.full.start_ns


def _later_starts(spans: Iterable[TurnSpan]) -> list[int]:
    """Return the starts of the questions after the first, where a question is a span."""
    return [span.full.start_ns for span in spans if span.full.name in _QUESTION_NAMES][1:]


def later_questions(spans: Sequence[TurnSpan]) -> int:
    """Return how many model calls of a turn were asked something new after the model's answer to an earlier question.

    Within one agent, words in the user's name are observations of its program. An agent that asks another one gives it
    another history.
    """
    return sum(1 for _ in _asked_later(spans))


def _asked_later(spans: Sequence[TurnSpan]) -> Iterator[TurnSpan]:
    chats = _calls_with_words(spans)
    if len(chats) < 2:
        return
    tree = {span.span_id: span for span in spans}
    known: dict[str | None, str | None] = {}
    asked, asker = None, ""
    for chat in chats:
        messages = chat.inputs or ()
        question, agent = last_user_text(messages), _agent_around(chat.full.parent_span_id, tree, known)
        is_of_other_agent = agent is None or agent != asker
        if asked is not None and question != asked and is_of_other_agent and _was_asked(asked, messages):
            yield chat
        asked, asker = question or asked, agent or ""


def _calls_with_words(spans: Sequence[TurnSpan]) -> list[TurnSpan]:
    """Return the model calls; if none of them has messages, the spans around them that have."""
    chats = [span for span in spans if span.is_chat]
    if len(chats) < 2 or any(chat.inputs for chat in chats):
        return chats
    return [span for span in spans if span.normal.operation == GENERATION and not span.is_copy]


def _was_asked(question: str, messages: Messages) -> bool:
    """Return whether a question comes before the user's last words, with an answer between them."""
    before = messages[: own_words_at(messages)]
    return any(message.role == "user" and message.text == question for message in before)


def _agent_around(span_id: str | None, tree: Mapping[str, TurnSpan], known: dict[str | None, str | None]) -> str | None:
    """Return the id of the nearest agent around a span; `known` has earlier results."""
    path: list[str] = []
    agent: str | None = None
    while span_id is not None and (span := tree.get(span_id)):
        if span_id in known or span.is_agent:
            agent = span_id if span.is_agent else known[span_id]
            break
        path.append(span_id)
        known[span_id] = None  # what a circle of parents ends with
        span_id = span.full.parent_span_id
    known.update(dict.fromkeys(path, agent))
    return agent
