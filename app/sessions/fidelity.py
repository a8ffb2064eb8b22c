"""Finds what the model saw in a recorded turn besides texts, and what the recording lacks of it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from app.otlp.names import RESPONSE_ID, text_of
from app.otlp.normalise import Messages
from app.otlp.normalise.genai import DETAILS
from app.otlp.normalise.hidden import is_hidden
from app.otlp.normalise.media import Media
from app.otlp.normalise.parts import read_parts
from app.otlp.span import span_count
from app.sessions.spans import TurnSpan
from app.sessions.types import Gap
from app.values.json import json_container

_PREVIOUS = ("previous_response_id", "previous_response.id")
_COMPACTED = "gen_ai.conversation.compacted"
_PARAMETERS = "llm.invocation_parameters"
# Attributes that are the instruction: the conventions', and Strands'.
_INSTRUCTIONS = ("gen_ai.system_instructions", "system_prompt")
# Attributes with JSON that has the instruction at a path: Google ADK's, and Logfire's of OpenAI's Responses API.
_INSTRUCTIONS_WITHIN = {
    "gcp.vertex.agent.llm_request": ("config", "system_instruction"),
    "response": ("instructions",),
}
_INPUT = "input.value"
_SUMMARIES = frozenset({"compaction", "compaction_summary", "context_compaction"})

COMPACTED = Gap("history", "the history was compacted: a summary took the place of earlier messages")
_is_chat, _is_agent = attrgetter("is_chat"), attrgetter("is_agent")


def files_of(spans: Iterable[TurnSpan], *, opens_session: bool) -> tuple[Media, ...]:
    """Return the images, audio and files in the messages of the user that begin the turn."""
    messages = _messages(spans, opens_session=opens_session)
    files = (media for message in messages if message.role == "user" for media in message.media)
    return tuple(dict.fromkeys(media for media in files if media.kind != "unknown_part"))


def gaps_of(
    spans: Iterable[TurnSpan], response_ids: Container[str], cut: int, *, opens_session: bool
) -> tuple[Gap, ...]:
    """Return what a replay of the turn can't show, except the user's files.

    `response_ids` are those of the session's model calls; `cut` is the number of spans with JSON that is cut off.
    """
    chats = [span for span in spans if span.is_chat]
    gaps = [*_parts(chats, opens_session=opens_session), *_held_elsewhere(chats, response_ids)]
    if cut:
        gaps.append(Gap("cut", f"the exporter cut off JSON in {span_count(cut)}"))
    return tuple(dict.fromkeys(gaps))


def response_ids_of(spans: Iterable[TurnSpan]) -> Iterator[str]:
    for span in spans:
        if span.is_chat and (named := text_of(span.full.attributes.get(RESPONSE_ID))):
            yield named


def instruction_of(spans: Iterable[TurnSpan], *, typed: bool = True) -> str | None:
    """Return the system instruction of the first model call that recorded one, else of the first such agent.

    That of the attribute comes before that of the messages, as vendors send them; what is in both is there once.
    Without `typed`, not from an agent's `input.value`, which may be what a person typed.
    """
    spans = list(spans)
    for span in (*filter(_is_chat, spans), *filter(_is_agent, spans)):
        recorded = (span.full.attributes, *(values for name, values in span.full.events if name in DETAILS))
        named = next((values[name] for values in recorded for name in _INSTRUCTIONS if values.get(name)), None)
        named = None if is_hidden(named) else named
        is_typed = not span.is_chat and _INPUT in span.full.attributes
        messages = () if is_typed and not typed else span.inputs or ()
        sent = [message.text for message in messages if message.role in ("system", "developer") and message.text]
        texts = _without_repeats(_texts(named), sent) or _texts(_within(span.full.attributes))
        if texts:
            return "\n".join(texts)
    return None


def _without_repeats(named: list[str], sent: list[str]) -> list[str]:
    """Return the texts of an attribute and those of the messages that it lacks."""
    if not named or _words("\n".join(named)) == _words("\n".join(sent)):
        return named or sent
    known = set(map(_words, named))
    return [*named, *(text for text in sent if _words(text) not in known)]


def _words(text: str) -> str:
    return " ".join(text.split())


def _texts(instruction: Any) -> list[str]:
    """Return the texts of a recorded instruction: a text, parts, or an object with parts."""
    content = instruction if (container := json_container(instruction)) is None else container
    parts = content.get("parts", content) if isinstance(content, dict) else content
    return list(read_parts(parts).texts) if parts else []


def _within(attributes: Mapping[str, Any]) -> Any:
    """Return the instruction in an attribute with JSON, if there is one."""
    for name, path in _INSTRUCTIONS_WITHIN.items():
        container = json_container(attributes.get(name))
        for key in path:
            container = container.get(key) if isinstance(container, dict) else None
        if container:
            return container
    return None


def _messages(spans: Iterable[TurnSpan], *, opens_session: bool) -> Messages:
    """Return the input of the turn's model calls from the message of the user that begins the turn."""
    inputs = (span.inputs or () for span in spans if span.is_chat)
    return tuple(message for given in inputs for message in given[0 if opens_session else _beginning(given) :])


def _beginning(messages: Messages) -> int:
    """Return the index of the user's last message with a text, 0 if there is none."""
    return next((n for n in range(len(messages) - 1, -1, -1) if messages[n].role == "user" and messages[n].text), 0)


def _parts(chats: Sequence[TurnSpan], *, opens_session: bool) -> Iterator[Gap]:
    for message in _messages(chats, opens_session=opens_session):
        for media in message.media:
            if media.name in _SUMMARIES:
                yield COMPACTED
            elif media.kind == "unknown_part":
                if message.role == "user":
                    yield Gap("unknown_part", f"a part of the type {media.name} can't be sent again")
            elif message.role != "user":
                yield Gap(media.kind, f"a message of the role {message.role} has content that is no text")


def _held_elsewhere(chats: Iterable[TurnSpan], response_ids: Container[str]) -> Iterator[Gap]:
    for chat in chats:
        for key, value in chat.full.attributes.items():
            if key.endswith("_ref") and key.startswith("gen_ai.") and text_of(value):
                yield Gap("content_elsewhere", f"{key} refers to content in another store")
        if chat.full.attributes.get(_COMPACTED) in (True, "true"):
            yield COMPACTED
        previous = _previous_response(chat.full.attributes)
        if previous and previous not in response_ids:
            yield Gap("history", "the vendor held earlier messages (previous_response_id) that the session lacks")


def _previous_response(attributes: Mapping[str, Any]) -> str | None:
    named = next((text_of(value) for key, value in attributes.items() if key.endswith(_PREVIOUS)), None)
    parameters = json_container(attributes.get(_PARAMETERS)) if _PARAMETERS in attributes else None
    return named or (text_of(parameters.get(_PREVIOUS[0])) if isinstance(parameters, dict) else None)
