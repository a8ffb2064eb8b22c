"""Turns of which the batches do not add up: their facts are counted from all of their spans."""

from __future__ import annotations

from typing import Any

import pytest

from app.otlp.decode import decode
from app.sessions.facts import TurnFacts, merge, recounted
from app.sessions.recounting import may_change_agent_tokens
from tests.support.exports import export, span

TOKENS = {"gen_ai.usage.input_tokens": 7}


def spans(operation: str, number: int, **attributes: Any) -> Any:
    return decode(export(span({"gen_ai.operation.name": operation} | attributes, spanId=f"{number:016x}"))).spans


AGENT, CHAT, TOOL = spans("invoke_agent", 1, **TOKENS), spans("chat", 2, **TOKENS), spans("execute_tool", 3)
OTHER_AGENT, SILENT_AGENT = spans("invoke_agent", 4, **TOKENS), spans("invoke_agent", 5)


def counted(*groups: Any) -> TurnFacts:
    """The facts of spans that came in these batches, after they were counted together."""
    facts = [TurnFacts.of(group) for group in groups]
    merged = facts[0]
    for other in facts[1:]:
        merged = merge(merged, other)
    return recounted(merged, [one for group in groups for one in group])


def test_a_batch_counts_no_tokens_of_agents() -> None:
    facts = TurnFacts.of(AGENT)

    assert (facts.usage.input_tokens, facts.has_agent_tokens, facts.counts_agents) == (0, True, False)
    assert not TurnFacts.of([*AGENT, *CHAT]).has_agent_tokens
    assert not TurnFacts.of(SILENT_AGENT).has_agent_tokens


@pytest.mark.parametrize(
    ("groups", "tokens", "counts_agents"),
    [
        ([AGENT], 7, True),
        ([AGENT, TOOL], 7, True),
        ([AGENT, OTHER_AGENT], 14, True),
        ([AGENT, CHAT], 7, False),
        ([CHAT, AGENT], 7, False),
        ([[*AGENT, *CHAT]], 7, False),
    ],
)
def test_all_spans_together_show_who_pays(groups: list[Any], tokens: int, counts_agents: bool) -> None:
    facts = counted(*groups)

    assert (facts.usage.input_tokens, facts.counts_agents) == (tokens, counts_agents)


@pytest.mark.parametrize(
    ("new", "stored", "expected"),
    [
        (AGENT, None, True),
        (SILENT_AGENT, None, False),
        (CHAT, None, False),
        ([*AGENT, *CHAT], None, False),
        (AGENT, [CHAT], False),
        (AGENT, [TOOL], True),
        (CHAT, [AGENT], True),
        (OTHER_AGENT, [AGENT], True),
        (TOOL, [AGENT], False),
    ],
)
def test_a_turn_is_counted_again_only_if_agents_may_pay(new: Any, stored: Any, expected: bool) -> None:
    before = counted(*stored) if stored else None

    assert may_change_agent_tokens(TurnFacts.of(new), before) is expected
