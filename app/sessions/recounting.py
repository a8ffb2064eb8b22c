"""Which turns must be counted again from all of their spans.

Ingest counts each batch by itself, and adds up the facts of a turn (`facts.py`). The sum is wrong if a call in one
batch is a copy of a call in another batch, or if a batch changes which spans have the tokens (`token_spans.py`).
"""

from __future__ import annotations

from app.sessions.facts import TurnFacts


def has_several_calls(facts: TurnFacts) -> bool:
    """Return whether a turn has several calls, so that one may be a copy of another."""
    return facts.tool_calls > 1 or sum(calls.calls for calls in facts.calls) > 1


def may_share_calls(first: TurnFacts, other: TurnFacts) -> bool:
    """Return whether calls of two batches of a turn overlap in time, so that some may be copies of others."""
    pairs = (first.chats_extent, other.chats_extent), (first.tools_extent, other.tools_extent)
    return any(a and b and a[0] <= b[1] and b[0] <= a[1] for a, b in pairs)


def may_change_agent_tokens(facts: TurnFacts, before: TurnFacts | None = None) -> bool:
    """Return whether a batch may change which agents' tokens are counted for a turn.

    `facts` are those of the batch, and `before` those of the spans that were stored before, None without any. The
    tokens of agents are counted only in a turn without a model call.
    """
    if before and before.counts_agents:
        return facts.has_agent_tokens or bool(facts.calls)
    return facts.has_agent_tokens and not facts.calls and not (before and before.calls)
