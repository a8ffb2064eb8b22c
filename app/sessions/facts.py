"""The facts of a turn that ingest keeps; they merge over batches in any order."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import Any, NamedTuple

import msgspec

from app.otlp.names import PROMPT_VERSION, USER_KEYS, text_of, version_hash
from app.otlp.normalise import Normalised
from app.otlp.normalise.messages import first_user_text
from app.otlp.span import Span
from app.sessions.spans import Records, StoredSpan, read_turn, view_of
from app.sessions.types import Usage

MAX_OPENING = 300
"""Characters kept of a turn's opening text."""
MAX_NAME = 255
"""Characters kept of the name of a model, version, tool or user."""
MAX_NAMES = 100
"""Models, versions and tools kept of a turn: its facts are read and written again with each batch that adds to it."""
EDITION = 1
"""The edition of the facts: 0 are those of releases that knew no tools and no users."""

Key = tuple[int, int, bytes]
"""Start, end and id of a span: the order in which "the first" of a turn is chosen."""
Opening = tuple[Key, str]
"""The text that a span opens its turn with."""
User = tuple[int, Key, str]
"""The rank of the attribute that names a user, lower is better, the span that has it, and the user's id."""


class _SpanFacts(NamedTuple):
    """The facts of one span. Only model calls have a model and tokens, and only tool calls may have a tool's name."""

    is_chat: bool
    is_tool: bool
    failed: bool
    model: str | None
    usage: Usage
    tool: str | None
    prompt_version: str | None
    user: User | None


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """The facts of some spans of a turn.

    `errors` counts those whose status is an error, `tool_errors` the tool calls among them.
    `conversation` and `opening` carry the key of the span they come from; the smallest key wins, of conversations
    among those of the lowest rank (see `CONVERSATION_KEYS`).
    """

    start_ns: int
    end_ns: int
    span_count: int
    conversation: tuple[Key, str] | None = None
    opening: Opening | None = None
    usage: Usage = Usage()
    models: frozenset[str] = frozenset()
    prompt_versions: frozenset[str] = frozenset()
    errors: int = 0
    conversation_rank: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    tools: frozenset[str] = frozenset()
    failed_tools: frozenset[str] = frozenset()
    user: User | None = None
    edition: int = 0

    @classmethod
    def of(cls, spans: Iterable[Span], hashes: Container[str] = ()) -> TurnFacts:
        """The facts of one or more spans of one turn; messages are read until a first user text is found.

        `hashes` are those of the prompt's versions that spans may name by `GENAI_VERSION`.
        """
        ordered = sorted(spans, key=span_key)
        read = [_facts(Normalised(view_of(span)), span_key(span), span.failed, hashes) for span in ordered]
        rank, conversation = _best_conversation(ordered)
        return cls(
            start_ns=ordered[0].start_ns,
            end_ns=max(span.end_ns for span in ordered),
            span_count=len(ordered),
            conversation=conversation,
            opening=_first_opening(ordered, read),
            usage=sum((facts.usage for facts in read), Usage()),
            models=_kept(facts.model for facts in read),
            prompt_versions=_kept(facts.prompt_version for facts in read),
            errors=sum(facts.failed for facts in read),
            conversation_rank=rank,
            **_tools_and_user(read),
        )


def opening_of(spans: Iterable[StoredSpan], records: Records) -> Opening | None:
    """The opening of some spans of a turn with what log records say of them."""
    found: list[Opening] = []
    for span in read_turn(spans, None, records):
        if span.normal.is_chat and (text := first_user_text(span.normal.input_messages)) is not None:
            key = (span.full.start_ns, span.full.end_ns, bytes.fromhex(span.span_id))
            found.append((key, text[:MAX_OPENING]))
    return min(found, default=None)


def merge(one: TurnFacts, other: TurnFacts) -> TurnFacts:
    """The facts of both sets of spans, which must have none in common; order and grouping do not matter."""
    named = [(facts.conversation_rank, facts.conversation) for facts in (one, other) if facts.conversation]
    rank, conversation = min(named, default=(0, None))
    return TurnFacts(
        start_ns=min(one.start_ns, other.start_ns),
        end_ns=max(one.end_ns, other.end_ns),
        span_count=one.span_count + other.span_count,
        conversation=conversation,
        opening=min(filter(None, (one.opening, other.opening)), default=None),
        usage=one.usage + other.usage,
        models=_kept(one.models | other.models),
        prompt_versions=_kept(one.prompt_versions | other.prompt_versions),
        errors=one.errors + other.errors,
        conversation_rank=rank,
        tool_calls=one.tool_calls + other.tool_calls,
        tool_errors=one.tool_errors + other.tool_errors,
        tools=_kept(one.tools | other.tools),
        failed_tools=_kept(one.failed_tools | other.failed_tools),
        user=min(filter(None, (one.user, other.user)), default=None),
        edition=min(one.edition, other.edition),
    )


def _kept(names: Iterable[str | None]) -> frozenset[str]:
    """The first ones by name, so that the order of batches does not matter."""
    different = {name[:MAX_NAME] for name in names if name}
    return frozenset(different if len(different) <= MAX_NAMES else nsmallest(MAX_NAMES, different))


dump = msgspec.json.Encoder(order="deterministic").encode
"""Encode facts as JSON, equal for equal facts."""
load = msgspec.json.Decoder(TurnFacts).decode
"""Decode the facts that `dump` wrote."""


def span_key(span: Span) -> Key:
    return (span.start_ns, span.end_ns, span.span_id)


def _facts(normal: Normalised, key: Key, failed: bool, hashes: Container[str]) -> _SpanFacts:
    """The facts of a span, without reading its messages."""
    attributes = normal.span.attributes
    return _SpanFacts(
        is_chat=normal.is_chat,
        is_tool=normal.is_tool,
        failed=failed,
        model=normal.model if normal.is_chat else None,
        usage=Usage(*normal.tokens) if normal.is_chat else Usage(),
        tool=normal.tool_name if normal.is_tool else None,
        prompt_version=version_of(attributes, hashes),
        user=_user(attributes, key),
    )


def _user(attributes: Mapping[str, Any], key: Key) -> User | None:
    for rank, name in enumerate(USER_KEYS):
        if user_id := text_of(attributes.get(name)):
            return rank, key, user_id[:MAX_NAME]
    return None


def _tools_and_user(read: Sequence[_SpanFacts]) -> dict[str, Any]:
    """The fields of `TurnFacts` that those of the edition before did not have."""
    failed = [facts for facts in read if facts.is_tool and facts.failed]
    return {
        "tool_calls": sum(facts.is_tool for facts in read),
        "tool_errors": len(failed),
        "tools": _kept(facts.tool for facts in read),
        "failed_tools": _kept(facts.tool for facts in failed),
        "user": min(filter(None, (facts.user for facts in read)), default=None),
        "edition": EDITION,
    }


def completed(facts: TurnFacts, spans: Iterable[StoredSpan]) -> TurnFacts:
    """The facts of an earlier edition with what later ones added, read from the turn's spans."""
    read = (
        _facts(one.normal, (one.full.start_ns, one.full.end_ns, bytes.fromhex(one.span_id)), one.full.failed, ())
        for one in read_turn(spans)
    )
    return replace(facts, **_tools_and_user(list(read)))


def version_of(attributes: Mapping[str, Any], hashes: Container[str]) -> str | None:
    """The version of the prompt that a span names: any text by our attribute, else one of the prompt's hashes."""
    found = version_hash(attributes)
    return text_of(attributes.get(PROMPT_VERSION)) or (found if found in hashes else None)


def _best_conversation(ordered: list[Span]) -> tuple[int, tuple[Key, str] | None]:
    named = [(one.conversation_rank, (span_key(one), one.conversation_id)) for one in ordered if one.conversation_id]
    return min(named, default=(0, None))


def _first_opening(ordered: list[Span], read: list[_SpanFacts]) -> Opening | None:
    for span, facts in zip(ordered, read, strict=True):
        if facts.is_chat and (text := first_user_text(Normalised(view_of(span)).input_messages)) is not None:
            return span_key(span), text[:MAX_OPENING]
    return None
