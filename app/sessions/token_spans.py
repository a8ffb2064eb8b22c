"""Finds the spans of which the tokens are counted for a turn."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from app.otlp.normalise.tokens import TokenCounts
from app.sessions.spans import TurnSpan

_NONE = TokenCounts()


def spans_with_tokens(spans: Sequence[TurnSpan]) -> list[TurnSpan]:
    """Return the spans of which the tokens are counted: each token of a turn is counted once.

    These are the model calls that are no copies: the spans around them repeat their totals. In a turn without a model
    call these are the outermost agents with tokens: an agent in another program, or at a vendor, records only totals.
    """
    if any(span.normal.is_chat for span in spans):
        return [span for span in spans if span.is_chat]
    agents = {span.span_id: span for span in spans if has_agent_tokens(span)}
    if len(agents) < 2:
        return list(agents.values())
    parents = {span.span_id: span.full.parent_span_id for span in spans}
    known: dict[str | None, bool] = {}
    return [span for span in agents.values() if not _is_within(span.full.parent_span_id, agents, parents, known)]


def has_agent_tokens(span: TurnSpan) -> bool:
    return span.normal.is_agent and span.normal.tokens != _NONE


def _is_within(
    span_id: str | None, agents: Container[str], parents: Mapping[str, str | None], known: dict[str | None, bool]
) -> bool:
    """Return whether a span or one around it is an agent with tokens; `known` has earlier results."""
    path: list[str] = []
    within = False
    while span_id is not None and not within:
        if span_id in known:
            within = known[span_id]
            break
        within = span_id in agents
        path.append(span_id)
        known[span_id] = within  # ends the loop when the parents form a circle
        span_id = parents.get(span_id)
    known.update(dict.fromkeys(path, within))
    return within
