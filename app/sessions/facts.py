"""The facts of a turn that ingest keeps; they merge over batches in any order."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain
from math import inf
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from app.otlp.names import MAX_CONVERSATION_ID, PROMPT_VERSION, text_of, user_of, version_hash
from app.otlp.normalise import Normalised
from app.otlp.span import Span
from app.prices.book import PriceBook
from app.prices.types import Bill, total
from app.sessions.bounded_views import view_within
from app.sessions.bounds import count_within
from app.sessions.copies import mark_copies
from app.sessions.later_questions import divided, first_end_and_last_start
from app.sessions.model_calls import MAX_NAMES, NAMES_BYTES, ModelCalls, calls_of, summed
from app.sessions.outlines import Key, Opening, TurnOutline
from app.sessions.spans import FullSpan, RawSpan, Records, TurnSpan, read_turn, view_of
from app.sessions.token_spans import has_agent_tokens, spans_with_tokens
from app.sessions.types import Usage
from app.values.budget import UNLIMITED, WorkBudget
from app.values.structs import decoder

MAX_OPENING = 300
"""Characters kept of a turn's opening text."""
MAX_NAME = 255
"""Characters kept of the name of a model, version, tool or user."""
MAX_PROVIDER = 64
"""Characters kept of a provider's name."""
EDITION = 1
"""The edition of the facts: 0 are those of releases that knew no tools, no users and no calls."""

_OF_AI_SDK = "ai.response.id"
_NO_NAMES = {""}

Extent = tuple[int, int]
"""The first start and the last end of some calls."""
User = tuple[int, Key, str]
"""The rank of the attribute that names a user, lower is better, the span that has it, and the user's id."""


class TurnFacts(TurnOutline, frozen=True, gc=False):
    """The facts of some spans of a turn: of a batch at first, of all stored spans after merges.

    Counts and names:

    - `errors` counts the spans with an error as status, and `tool_errors` the tool calls among them.
    - Copies are not counted. Copies of calls in another batch are counted until the turn is `recounted`.
    - The tokens of agents are counted only by `recounted`, in a turn without a model call (see `spans_with_tokens`).
      Then `counts_agents` is true, and `calls` are the calls of agents.
    - `turns` is the number of turns in the trace, which is known once the turn is recounted.

    Texts and ids, each with the key of its span. Of several, the one with the smallest key is kept:

    - `opening` is the user's first text in a model call. `agent_opening` is what an agent was asked, and `root_opening`
      what a root pipeline was asked; each is used only if there is none of the ones before.
    - `conversation` is the conversation id, of the attribute with the lowest `conversation_rank` (see
      `CONVERSATION_KEYS`).
    - `response` is the response id of the last model call that has one.

    `joined` is the key of the session that the turn has joined, because its conversation id is the response id of a
    turn there. `chats_extent` and `tools_extent` are the times of the model and tool calls. `around_turns` are the
    first end and the last start of the spans that may begin a turn.
    """

    conversation: tuple[Key, str] | None = None
    usage: Usage = Usage()
    models: frozenset[str] = frozenset()
    prompt_versions: frozenset[str] = frozenset()
    conversation_rank: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    tools: frozenset[str] = frozenset()
    failed_tools: frozenset[str] = frozenset()
    user: User | None = None
    calls: tuple[ModelCalls, ...] = ()
    edition: int = 0
    chats_extent: Extent | None = None
    tools_extent: Extent | None = None
    has_agent: bool = False
    response: tuple[Key, str] | None = None
    joined: bytes | None = None
    has_agent_tokens: bool = False
    counts_agents: bool = False
    around_turns: Extent | None = None

    @classmethod
    def of(cls, spans: Iterable[Span], hashes: Container[str] = (), budget: WorkBudget = UNLIMITED) -> TurnFacts:
        """Return the facts of one or more spans of one turn; messages are read until a first user text is found.

        `hashes` are those of the prompt's versions that spans may name by `GENAI_VERSION`. Of a span with more brackets
        and commas than are left of the budget, only short attributes are read.
        """
        # Lists, as each step of a generator is a call, and ingest makes these for each span.
        ordered = sorted([(span_key(span), span) for span in spans], key=itemgetter(0))
        read = [_turn_span(span, budget) for _, span in ordered]
        mark_copies(read)
        kinds = _Kinds.of(read)
        opening, agent_opening, root_opening = _openings(read, kinds)
        rank, conversation = _best_conversation(ordered)
        return cls(
            start_ns=ordered[0][1].start_ns,
            end_ns=max([span.end_ns for _, span in ordered]),
            span_count=len(ordered),
            conversation=conversation,
            opening=opening,
            prompt_versions=_kept([version_of(span.attributes, hashes) for _, span in ordered]),
            conversation_rank=rank,
            agent_opening=agent_opening,
            root_opening=root_opening,
            response=_last_response(kinds.chats),
            has_agent_tokens=not kinds.chats and any(map(has_agent_tokens, kinds.agents)),
            around_turns=first_end_and_last_start(read),
            **_facts_of(read, kinds, [span for span in kinds.chats if span.copy_of is None]),
        )

    @property
    def is_active(self) -> bool:
        """Return whether the turn has a model call, a tool call, an agent or words; a health check has none."""
        return bool(self.models or self.calls or self.tool_calls or self.has_agent or self.preview)

    @property
    def may_have_turns(self) -> bool:
        """Return whether the trace may be several turns."""
        return self.around_turns is not None and self.around_turns[0] <= self.around_turns[1]

    def bill(self, prices: PriceBook) -> Bill:
        """Return the cost of the turn's model calls."""
        return total(calls.bill(prices) for calls in self.calls)


def opening_of(spans: Iterable[RawSpan], records: Records) -> Opening | None:
    """Return the opening of some spans of a turn with their log records."""
    chats = (span for span in read_turn(spans, None, records) if span.normal.is_chat)
    return min(filter(None, map(_opening, chats)), default=None)


def merge(first: TurnFacts, other: TurnFacts) -> TurnFacts:
    """Return the facts of both sets of spans, which must have none in common; order and grouping do not matter."""
    named = [(facts.conversation_rank, facts.conversation) for facts in (first, other) if facts.conversation]
    rank, conversation = min(named, default=(0, None))
    opening = min(filter(None, (first.opening, other.opening)), default=None)
    agent_opening = min(filter(None, (first.agent_opening, other.agent_opening)), default=None)
    root_opening = min(filter(None, (first.root_opening, other.root_opening)), default=None)
    chats_extent = _joined(first.chats_extent, other.chats_extent)
    return TurnFacts(
        start_ns=min(first.start_ns, other.start_ns),
        end_ns=max(first.end_ns, other.end_ns),
        span_count=first.span_count + other.span_count,
        conversation=conversation,
        opening=opening,
        agent_opening=None if opening else agent_opening,
        root_opening=None if opening or agent_opening else root_opening,
        usage=first.usage + other.usage,
        models=_kept(first.models | other.models),
        prompt_versions=_kept(first.prompt_versions | other.prompt_versions),
        errors=first.errors + other.errors,
        conversation_rank=rank,
        calls=summed((*first.calls, *other.calls)),
        tool_calls=first.tool_calls + other.tool_calls,
        tool_errors=first.tool_errors + other.tool_errors,
        tools=_kept(first.tools | other.tools),
        failed_tools=_kept(first.failed_tools | other.failed_tools),
        user=min(filter(None, (first.user, other.user)), default=None),
        edition=min(first.edition, other.edition),
        chats_extent=chats_extent,
        tools_extent=_joined(first.tools_extent, other.tools_extent),
        has_agent=first.has_agent or other.has_agent,
        response=max(filter(None, (first.response, other.response)), default=None),
        joined=first.joined or other.joined,
        has_agent_tokens=chats_extent is None and (first.has_agent_tokens or other.has_agent_tokens),
        counts_agents=first.counts_agents or other.counts_agents,
        around_turns=_joined(first.around_turns, other.around_turns),
        turns=max(first.turns, other.turns),
    )


def _joined(first: Extent | None, other: Extent | None) -> Extent | None:
    return (min(first[0], other[0]), max(first[1], other[1])) if first and other else first or other


def cut_name(name: str, most: int = MAX_NAME) -> str:
    """Return the first `most` characters without blanks at the end, which no column of names stores."""
    return name[:most].rstrip(" ")


def _kept(names: Iterable[str | None]) -> frozenset[str]:
    """Return the names that come first in the alphabet, so that the order of batches does not matter."""
    different = {cut_name(name) for name in set(names) if name} - _NO_NAMES
    # Most spans have few names: no name of `MAX_NAME` characters of four bytes exceeds the bytes.
    if len(different) * 4 * MAX_NAME <= NAMES_BYTES:
        return frozenset(different)
    ordered = sorted(different)
    return frozenset(ordered[: count_within(ordered, _bytes_of, most=MAX_NAMES, most_bytes=NAMES_BYTES)])


def _bytes_of(name: str) -> int:
    return len(name.encode())


dump = msgspec.json.Encoder(order="deterministic").encode
"""Encode facts as JSON, equal for equal facts."""
_decode = decoder(TurnFacts)
_BOUNDED = 16 * 1024
"""Bytes of JSON that need no look at the names in them."""


def load(dumped: bytes) -> TurnFacts:
    """Decode the facts that `dump` wrote; of those of an earlier release, only the names that are kept today."""
    facts = _decode(dumped)
    if len(dumped) <= _BOUNDED:
        return facts
    return structs.replace(
        facts,
        models=_kept(facts.models),
        prompt_versions=_kept(facts.prompt_versions),
        tools=_kept(facts.tools),
        failed_tools=_kept(facts.failed_tools),
        calls=summed(facts.calls),
    )


def span_key(span: Span) -> Key:
    return (span.start_ns, span.end_ns, span.span_id)


def _key(span: TurnSpan) -> Key:
    return (span.full.start_ns, span.full.end_ns, bytes.fromhex(span.span_id))


class _Kinds(NamedTuple):
    """The model calls, tool calls and agents of a turn, copies among them. A span is of one kind or of none."""

    chats: list[TurnSpan]
    tools: list[TurnSpan]
    agents: list[TurnSpan]

    @classmethod
    def of(cls, spans: Iterable[TurnSpan]) -> _Kinds:
        kinds = cls([], [], [])
        chats, tools, agents = kinds
        for span in spans:
            normal = span.normal
            if normal.is_chat:
                chats.append(span)
            elif normal.is_tool:
                tools.append(span)
            elif normal.is_agent:
                agents.append(span)
        return kinds


def _facts_of(spans: Sequence[TurnSpan], kinds: _Kinds, token_spans: Sequence[TurnSpan]) -> dict[str, Any]:
    """Return what spans of a turn in which copies are marked add up to, as fields of `TurnFacts`.

    `token_spans` are the spans that have the tokens.
    """
    tools = [span for span in kinds.tools if span.copy_of is None]
    all_failed = [span for span in spans if span.copy_of is None and span.failed]
    failed = [span for span in all_failed if span.normal.is_tool]
    calls = summed(chain.from_iterable(map(_calls, token_spans)))
    return {
        "usage": sum((summed_calls.usage for summed_calls in calls), Usage()),
        "models": _kept([span.normal.model for span in token_spans]),
        "errors": len(all_failed),
        "tool_calls": len(tools),
        "tool_errors": len(failed),
        "tools": _kept([span.tool_name for span in tools]),
        "failed_tools": _kept([span.tool_name for span in failed]),
        "user": min(filter(None, [_user(span) for span in spans if span.normal.names_user]), default=None),
        "calls": calls,
        "edition": EDITION,
        "chats_extent": _extent(kinds.chats),
        "tools_extent": _extent(kinds.tools),
        "has_agent": bool(kinds.agents),
    }


def _last_response(chats: Sequence[TurnSpan]) -> tuple[Key, str] | None:
    """Return the response id of the last model call that has one, after the key of the span. Calls are in key order."""
    for span in reversed(chats):
        if name := span.normal.response_id or span.normal.span.text(_OF_AI_SDK):
            return _key(span), name[:MAX_CONVERSATION_ID]
    return None


def _extent(calls: Sequence[TurnSpan]) -> Extent | None:
    if not calls:
        return None
    return min([call.full.start_ns for call in calls]), max([call.full.end_ns for call in calls])


def _calls(span: TurnSpan) -> list[ModelCalls]:
    provider, served = span.provider or "", span.served_model or ""
    return calls_of(cut_name(provider, MAX_PROVIDER), cut_name(served), Usage(*span.tokens), span.modalities)


def _user(span: TurnSpan) -> User | None:
    user = user_of(span.full.attributes)
    return (user[0], _key(span), cut_name(user[1])) if user else None


def recounted(facts: TurnFacts, spans: Iterable[RawSpan], records: Records = MappingProxyType({})) -> TurnFacts:
    """Return the facts of a turn, with what all of its spans and their log records add up to."""
    read = read_turn(spans, {}, records)
    mark_copies(read)
    token_spans = spans_with_tokens(read)
    counts_agents = any(not span.is_chat for span in token_spans)
    turns = len(divided(read))
    return structs.replace(
        facts, counts_agents=counts_agents, turns=turns, **_facts_of(read, _Kinds.of(read), token_spans)
    )


def version_of(attributes: Mapping[str, Any], hashes: Container[str]) -> str | None:
    """Return the version that a span names: any text in Reprise's own attribute, else one of the prompt's hashes."""
    if named := text_of(attributes.get(PROMPT_VERSION)):
        return named
    recorded = version_hash(attributes)
    return recorded if recorded in hashes else None


def _best_conversation(ordered: Sequence[tuple[Key, Span]]) -> tuple[int, tuple[Key, str] | None]:
    """Return the first conversation of the lowest rank, after the rank. Spans are in key order."""
    rank, conversation = 0, None
    for key, span in ordered:
        if span.conversation_id and (conversation is None or span.conversation_rank < rank):
            rank, conversation = span.conversation_rank, (key, span.conversation_id)
    return rank, conversation


def _turn_span(span: Span, budget: WorkBudget) -> TurnSpan:
    """Return a span of a batch, without its events."""
    view = view_of(span) if budget.limit == inf else view_within(span, budget)
    parent = span.parent_span_id.hex() if span.parent_span_id else None
    full = FullSpan(parent, span.name, span.start_ns, span.end_ns, view.attributes, [], span.failed, None)
    return TurnSpan(span.span_id.hex(), span.scope, full, Normalised(view))


def _openings(spans: Sequence[TurnSpan], kinds: _Kinds) -> list[Opening | None]:
    """Return the openings of model calls, agents and root pipelines, of which only the first that there is.

    Spans are in key order.
    """
    openings = [_first_opening(kinds.chats), None, None]
    if openings[0] is None and (of_agents := _first_opening(kinds.agents)):
        openings[1] = of_agents
    elif openings[0] is None:
        openings[2] = _first_opening([span for span in spans if span.is_root_pipeline])
    return openings


def _first_opening(spans: Iterable[TurnSpan]) -> Opening | None:
    return next(filter(None, map(_opening, spans)), None)


def _opening(span: TurnSpan) -> Opening | None:
    # The input is the largest part of a span.
    text = span.normal.question()
    return None if text is None else (_key(span), text[:MAX_OPENING])
