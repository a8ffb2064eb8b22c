"""The facts of a turn that ingest keeps; they merge over batches in any order."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, NamedTuple

import msgspec

from app.otlp.names import PROMPT_VERSION, text_of, version_hash
from app.otlp.normalise import Normalised
from app.otlp.normalise.messages import first_user_text
from app.otlp.span import Span
from app.sessions.spans import Records, StoredSpan, read_turn, view_of
from app.sessions.types import Usage

MAX_OPENING = 300
"""Characters kept of a turn's opening text."""
MAX_NAME = 255
"""Characters kept of a model's and of a version's name."""
MAX_NAMES = 100
"""Models, and versions, kept of a turn: its facts are read and written again with each batch that adds to it."""

Key = tuple[int, int, bytes]
"""Start, end and id of a span: the order in which "the first" of a turn is chosen."""
Opening = tuple[Key, str]
"""The text that a span opens its turn with."""


class _SpanFacts(NamedTuple):
    """The facts of one span. Only model calls have a model and tokens."""

    is_chat: bool
    model: str | None
    usage: Usage
    prompt_version: str | None


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """The facts of some spans of a turn; `errors` counts those whose status is an error.

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

    @classmethod
    def of(cls, spans: Iterable[Span], hashes: Container[str] = ()) -> TurnFacts:
        """The facts of one or more spans of one turn; messages are read until a first user text is found.

        `hashes` are those of the prompt's versions that spans may name by `GENAI_VERSION`.
        """
        ordered = sorted(spans, key=span_key)
        read = [_facts(span, hashes) for span in ordered]
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
            errors=sum(span.failed for span in ordered),
            conversation_rank=rank,
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


def _facts(span: Span, hashes: Container[str]) -> _SpanFacts:
    """The facts of a span, without reading its messages."""
    normal = Normalised(view_of(span))
    version = version_of(span.attributes, hashes)
    return _SpanFacts(
        is_chat=normal.is_chat,
        model=normal.model if normal.is_chat else None,
        usage=Usage(*normal.tokens) if normal.is_chat else Usage(),
        prompt_version=version,
    )


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
