"""Which turns must be counted from all of their spans, because their batches do not add up to them."""

from __future__ import annotations

from app.sessions.facts import TurnFacts


def has_several_calls(facts: TurnFacts) -> bool:
    """Return whether some calls may be copies of others."""
    return facts.tool_calls > 1 or sum(calls.calls for calls in facts.calls) > 1


def may_share_calls(first: TurnFacts, other: TurnFacts) -> bool:
    """Return whether calls of both sets of spans overlap in time, so that some may be copies of others."""
    pairs = (first.chats_extent, other.chats_extent), (first.tools_extent, other.tools_extent)
    return any(a and b and a[0] <= b[1] and b[0] <= a[1] for a, b in pairs)


def agents_may_pay(facts: TurnFacts, before: TurnFacts | None = None) -> bool:
    """Return whether new spans change which agents have the tokens of a turn; `before` are the facts of the others."""
    if before and before.counts_agents:
        return facts.has_agent_tokens or bool(facts.calls)
    return facts.has_agent_tokens and not facts.calls and not (before and before.calls)
