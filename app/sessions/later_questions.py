"""Finds a conversation that was recorded as one trace: a turn shows only the first of its questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.otlp.normalise.messages import Messages, last_user_text, own_words_at
from app.sessions.spans import TurnSpan


def later_questions(spans: Sequence[TurnSpan]) -> int:
    """Return how many model calls of a turn were asked something new after the model's answer to an earlier question.

    Within one agent, words in the user's name are observations of its program. An agent that asks another one gives it
    another history.
    """
    chats = [span for span in spans if span.is_chat]
    if len(chats) < 2:
        return 0
    tree = {span.span_id: span for span in spans}
    known: dict[str | None, str | None] = {}
    count, asked, asker = 0, None, ""
    for chat in chats:
        messages = chat.inputs or ()
        question, agent = last_user_text(messages), _agent_around(chat.full.parent_span_id, tree, known)
        is_elsewhere = agent is None or agent != asker
        if asked is not None and question != asked and is_elsewhere and _was_asked(asked, messages):
            count += 1
        asked, asker = question or asked, agent or ""
    return count


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
