"""The facts of a turn that ingest keeps; they merge over batches in any order."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from heapq import nsmallest
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from app.otlp.names import PROMPT_VERSION, text_of, user_of, version_hash
from app.otlp.normalise import Normalised
from app.otlp.normalise.messages import first_user_text
from app.otlp.normalise.tokens import served_model
from app.otlp.span import Span
from app.prices.book import PriceBook
from app.prices.types import Bill, CalledModel, size_of, total
from app.sessions.bounded_views import view_within
from app.sessions.spans import Records, StoredSpan, read_turn
from app.sessions.types import Usage
from app.values.budget import UNLIMITED, WorkBudget
from app.values.structs import decoder

MAX_OPENING = 300
"""Characters kept of a turn's opening text."""
MAX_NAME = 255
"""Characters kept of the name of a model, version, tool or user."""
MAX_PROVIDER = 64
"""Characters kept of a provider's name."""
MAX_NAMES = 100
"""Models, versions and tools kept of a turn: its facts are read and written again with each batch that adds to it."""
EDITION = 1
"""The edition of the facts: 0 are those of releases that knew no tools, no users and no calls."""

Key = tuple[int, int, bytes]
"""Start, end and id of a span: the order in which "the first" of a turn is chosen."""
Opening = tuple[Key, str]
"""The text that a span opens its turn with."""
User = tuple[int, Key, str]
"""The rank of the attribute that names a user, lower is better, the span that has it, and the user's id."""


class ModelCalls(msgspec.Struct, frozen=True, array_like=True):
    """The calls of one model with prompts of one size, and their usage, to which a price is applied.

    `model` is the one that answered; of a turn's models beyond `MAX_NAMES` the names are not kept.
    """

    provider: str
    model: str
    size: int
    calls: int
    usage: Usage

    @property
    def key(self) -> tuple[str, str, int]:
        return (self.provider, self.model, self.size)

    def bill(self, prices: PriceBook) -> Bill:
        return prices.bill(CalledModel(self.provider, self.model), self.usage.tokens, self.size)


class _SpanFacts(NamedTuple):
    """The facts of one span. Only model calls have a model and calls, and only tool calls may have a tool's name."""

    is_tool: bool
    failed: bool
    model: str | None
    tool: str | None
    prompt_version: str | None
    user: User | None
    calls: ModelCalls | None


class TurnFacts(msgspec.Struct, frozen=True, gc=False):
    """The facts of some spans of a turn.

    `errors` counts spans with an error as status, `tool_errors` the tool calls among them.
    `conversation` and `opening` carry the key of the span they come from; the smallest key wins, of conversations
    among those of the lowest rank (see `CONVERSATION_KEYS`).
    `agent_opening` is what an agent was asked, where no model call has the user's words.
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
    calls: tuple[ModelCalls, ...] = ()
    edition: int = 0
    agent_opening: Opening | None = None

    @classmethod
    def of(cls, spans: Iterable[Span], hashes: Container[str] = (), budget: WorkBudget = UNLIMITED) -> TurnFacts:
        """Return the facts of one or more spans of one turn; messages are read until a first user text is found.

        `hashes` are those of the prompt's versions that spans may name by `GENAI_VERSION`. Of a span with more brackets
        and commas than are left of the budget, only short attributes are read.
        """
        ordered = sorted(((span_key(span), span) for span in spans), key=itemgetter(0))
        read, opening, agent_opening = _read(ordered, hashes, budget)
        rank, conversation = _best_conversation(ordered)
        of_this_edition = _of_this_edition(read)
        return cls(
            start_ns=ordered[0][1].start_ns,
            end_ns=max(span.end_ns for _, span in ordered),
            span_count=len(ordered),
            conversation=conversation,
            opening=opening,
            usage=sum((calls.usage for calls in of_this_edition["calls"]), Usage()),
            models=_kept(facts.model for facts in read),
            prompt_versions=_kept(facts.prompt_version for facts in read),
            errors=sum(facts.failed for facts in read),
            conversation_rank=rank,
            agent_opening=None if opening else agent_opening,
            **of_this_edition,
        )

    @property
    def preview(self) -> str | None:
        """The text that the turn opens with."""
        opening = self.opening or self.agent_opening
        return opening[1] if opening else None

    def bill(self, prices: PriceBook) -> Bill:
        """Return the cost of the turn's model calls."""
        return total(calls.bill(prices) for calls in self.calls)


def opening_of(spans: Iterable[StoredSpan], records: Records) -> Opening | None:
    """Return the opening of some spans of a turn with their log records."""
    found: list[Opening] = []
    for span in read_turn(spans, None, records):
        if span.normal.is_chat and (text := first_user_text(span.normal.input_messages)) is not None:
            key = (span.full.start_ns, span.full.end_ns, bytes.fromhex(span.span_id))
            found.append((key, text[:MAX_OPENING]))
    return min(found, default=None)


def merge(one: TurnFacts, other: TurnFacts) -> TurnFacts:
    """Return the facts of both sets of spans, which must have none in common; order and grouping do not matter."""
    named = [(facts.conversation_rank, facts.conversation) for facts in (one, other) if facts.conversation]
    rank, conversation = min(named, default=(0, None))
    opening = min(filter(None, (one.opening, other.opening)), default=None)
    agent_opening = min(filter(None, (one.agent_opening, other.agent_opening)), default=None)
    return TurnFacts(
        start_ns=min(one.start_ns, other.start_ns),
        end_ns=max(one.end_ns, other.end_ns),
        span_count=one.span_count + other.span_count,
        conversation=conversation,
        opening=opening,
        agent_opening=None if opening else agent_opening,
        usage=one.usage + other.usage,
        models=_kept(one.models | other.models),
        prompt_versions=_kept(one.prompt_versions | other.prompt_versions),
        errors=one.errors + other.errors,
        conversation_rank=rank,
        calls=summed((*one.calls, *other.calls)),
        tool_calls=one.tool_calls + other.tool_calls,
        tool_errors=one.tool_errors + other.tool_errors,
        tools=_kept(one.tools | other.tools),
        failed_tools=_kept(one.failed_tools | other.failed_tools),
        user=min(filter(None, (one.user, other.user)), default=None),
        edition=min(one.edition, other.edition),
    )


def summed(calls: Iterable[ModelCalls]) -> tuple[ModelCalls, ...]:
    """Return the sums by model and size, in their order; those beyond `MAX_NAMES` are one sum without a name.

    A model that is left out once stays so, as those before it do not leave: the order of batches does not matter.
    """
    sums: dict[tuple[str, str, int], ModelCalls] = {}
    for one in calls:
        known = sums.get(key := one.key)
        sums[key] = _plus(known, one) if known else one
    if len(sums) > MAX_NAMES:
        for key in sorted(sums)[MAX_NAMES:]:
            sums[_UNNAMED.key] = _plus(sums.get(_UNNAMED.key, _UNNAMED), sums.pop(key))
    return tuple(sums[key] for key in sorted(sums))


_UNNAMED = ModelCalls("", "", 0, 0, Usage())


def _plus(one: ModelCalls, other: ModelCalls) -> ModelCalls:
    return ModelCalls(*one.key, one.calls + other.calls, one.usage + other.usage)


def _kept(names: Iterable[str | None]) -> frozenset[str]:
    """Return the names that come first in the alphabet, so that the order of batches does not matter."""
    different = {name[:MAX_NAME] for name in names if name}
    return frozenset(different if len(different) <= MAX_NAMES else nsmallest(MAX_NAMES, different))


dump = msgspec.json.Encoder(order="deterministic").encode
"""Encode facts as JSON, equal for equal facts."""
load = decoder(TurnFacts)
"""Decode the facts that `dump` wrote."""


def span_key(span: Span) -> Key:
    return (span.start_ns, span.end_ns, span.span_id)


def _facts(normal: Normalised, key: Key, failed: bool, hashes: Container[str]) -> _SpanFacts:
    """Return the facts of a span, without reading its messages."""
    attributes = normal.span.attributes
    model = normal.model if normal.is_chat else None
    return _SpanFacts(
        is_tool=normal.is_tool,
        failed=failed,
        model=model,
        tool=normal.tool_name if normal.is_tool else None,
        prompt_version=version_of(attributes, hashes),
        user=_user(attributes, key),
        calls=_calls(normal, model) if normal.is_chat else None,
    )


def _calls(normal: Normalised, model: str | None) -> ModelCalls:
    usage = Usage(*normal.tokens)
    provider, served = normal.provider or "", served_model(normal.span, model) or ""
    return ModelCalls(provider[:MAX_PROVIDER], served[:MAX_NAME], size_of(usage.input_tokens), 1, usage)


def _user(attributes: Mapping[str, Any], key: Key) -> User | None:
    found = user_of(attributes)
    return (found[0], key, found[1][:MAX_NAME]) if found else None


def _of_this_edition(read: Sequence[_SpanFacts]) -> dict[str, Any]:
    """Return the fields of `TurnFacts` that those of the edition before did not have."""
    failed = [facts for facts in read if facts.is_tool and facts.failed]
    return {
        "tool_calls": sum(facts.is_tool for facts in read),
        "tool_errors": len(failed),
        "tools": _kept(facts.tool for facts in read),
        "failed_tools": _kept(facts.tool for facts in failed),
        "user": min(filter(None, (facts.user for facts in read)), default=None),
        "calls": summed(facts.calls for facts in read if facts.calls),
        "edition": EDITION,
    }


def completed(facts: TurnFacts, spans: Iterable[StoredSpan]) -> TurnFacts:
    """Return the facts of an earlier edition with what later ones added, read from the turn's spans."""
    read = (
        _facts(one.normal, (one.full.start_ns, one.full.end_ns, bytes.fromhex(one.span_id)), one.full.failed, ())
        for one in read_turn(spans)
    )
    return structs.replace(facts, **_of_this_edition(list(read)))


def version_of(attributes: Mapping[str, Any], hashes: Container[str]) -> str | None:
    """Return the version that a span names: any text in Reprise's own attribute, else one of the prompt's hashes."""
    if named := text_of(attributes.get(PROMPT_VERSION)):
        return named
    found = version_hash(attributes)
    return found if found in hashes else None


def _best_conversation(ordered: Sequence[tuple[Key, Span]]) -> tuple[int, tuple[Key, str] | None]:
    named = [(one.conversation_rank, (key, one.conversation_id)) for key, one in ordered if one.conversation_id]
    return min(named, default=(0, None))


def _read(
    ordered: Iterable[tuple[Key, Span]], hashes: Container[str], budget: WorkBudget
) -> tuple[list[_SpanFacts], Opening | None, Opening | None]:
    """Return the facts of spans, their opening, and that of agents where there is no other.

    Of what was read of a span nothing else is kept.
    """
    read: list[_SpanFacts] = []
    agents: list[tuple[Key, Span]] = []
    opening: Opening | None = None
    for key, span in ordered:
        normal = Normalised(view_within(span, budget))
        read.append(_facts(normal, key, span.failed, hashes))
        if normal.is_agent:
            agents.append((key, span))
        if not opening and normal.is_chat:
            opening = _opening(normal, key)
    of_agents = () if opening else (_opening(Normalised(view_within(span, budget)), key) for key, span in agents)
    return read, opening, next(filter(None, of_agents), None)


def _opening(normal: Normalised, key: Key) -> Opening | None:
    text = first_user_text(normal.input_messages)
    return None if text is None else (key, text[:MAX_OPENING])
