"""The facts of a turn that ingest keeps; they merge over batches in any order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest
from typing import NamedTuple

import msgspec

from app.otlp.normalise import Normalised
from app.otlp.normalise.messages import first_user_text
from app.otlp.span import Span
from app.sessions.spans import view_of
from app.sessions.types import Usage

PROMPT_VERSION = "service.prompt.version"
MAX_OPENING = 300
"""Characters kept of a turn's opening text."""
MAX_NAME = 255
"""Characters kept of a model's and of a version's name."""
MAX_NAMES = 100
"""Models, and versions, kept of a turn: its facts are read and written again with each batch that adds to it."""

Key = tuple[int, int, bytes]
"""Start, end and id of a span: the order in which "the first" of a turn is chosen."""


class _SpanFacts(NamedTuple):
    """The facts of one span. Only model calls have a model and tokens."""

    is_chat: bool
    model: str | None
    usage: Usage
    prompt_version: str | None


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """The facts of some spans of a turn; `errors` counts those whose status is an error.

    `conversation` and `opening` carry the key of the span they come from; the smallest key wins.
    """

    start_ns: int
    end_ns: int
    span_count: int
    conversation: tuple[Key, str] | None = None
    opening: tuple[Key, str] | None = None
    usage: Usage = Usage()
    models: frozenset[str] = frozenset()
    prompt_versions: frozenset[str] = frozenset()
    errors: int = 0

    @classmethod
    def of(cls, spans: Iterable[Span]) -> TurnFacts:
        """The facts of one or more spans of one turn; messages are read until a first user text is found."""
        ordered = sorted(spans, key=span_key)
        read = list(map(_facts, ordered))
        return cls(
            start_ns=ordered[0].start_ns,
            end_ns=max(span.end_ns for span in ordered),
            span_count=len(ordered),
            conversation=_first_conversation(ordered),
            opening=_first_opening(ordered, read),
            usage=sum((facts.usage for facts in read), Usage()),
            models=_kept(facts.model for facts in read),
            prompt_versions=_kept(facts.prompt_version for facts in read),
            errors=sum(span.failed for span in ordered),
        )


def merge(one: TurnFacts, other: TurnFacts) -> TurnFacts:
    """The facts of both sets of spans, which must have none in common; order and grouping do not matter."""
    return TurnFacts(
        start_ns=min(one.start_ns, other.start_ns),
        end_ns=max(one.end_ns, other.end_ns),
        span_count=one.span_count + other.span_count,
        conversation=min(filter(None, (one.conversation, other.conversation)), default=None),
        opening=min(filter(None, (one.opening, other.opening)), default=None),
        usage=one.usage + other.usage,
        models=_kept(one.models | other.models),
        prompt_versions=_kept(one.prompt_versions | other.prompt_versions),
        errors=one.errors + other.errors,
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


def _facts(span: Span) -> _SpanFacts:
    """The facts of a span, without reading its messages."""
    normal = Normalised(view_of(span))
    version = span.attributes.get(PROMPT_VERSION)
    return _SpanFacts(
        is_chat=normal.is_chat,
        model=normal.model if normal.is_chat else None,
        usage=Usage(*normal.tokens) if normal.is_chat else Usage(),
        prompt_version=version if isinstance(version, str) else None,
    )


def _first_conversation(ordered: list[Span]) -> tuple[Key, str] | None:
    return next(((span_key(span), span.conversation_id) for span in ordered if span.conversation_id), None)


def _first_opening(ordered: list[Span], read: list[_SpanFacts]) -> tuple[Key, str] | None:
    for span, facts in zip(ordered, read, strict=True):
        if facts.is_chat and (text := first_user_text(Normalised(view_of(span)).input_messages)) is not None:
            return span_key(span), text[:MAX_OPENING]
    return None
