"""Which agent a span of a batch belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from app.otlp.decode import decode
from app.services.prompts.agent_splits import agent_names
from tests.support.exports import export, pairs_of, span


def names(*spans: tuple[str, str, str]) -> dict[str, str]:
    """Return the agent by span id, for (span id, id of the parent, named agent), all of one trace."""
    batch: list[dict[str, Any]] = [
        span(
            traceId="a" * 32,
            spanId=id_ * 16,
            parentSpanId=parent * 16,
            attributes=pairs_of({"gen_ai.agent.name": name} if name else {}),
        )
        for id_, parent, name in spans
    ]
    found = agent_names(decode(export(*batch), 1).spans)
    return {span_id.hex()[0]: name for (_, span_id), name in found.items()}


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([("1", "", "a"), ("2", "1", ""), ("3", "2", "")], {"1": "a", "2": "a", "3": "a"}),
        ([("3", "2", ""), ("2", "1", "b"), ("1", "", "a")], {"1": "a", "2": "b", "3": "b"}),
        ([("2", "1", "")], {}),
        ([("1", "2", ""), ("2", "1", "")], {}),
        ([("1", "1", "")], {}),
        ([("1", "", "Refund Agent!"), ("2", "", "///"), ("3", "", "ä" * 99)], {"1": "Refund-Agent"}),
        ([("1", "", "x" * 99)], {"1": "x" * 64}),
        ([("1", "", "a"), ("2", "1", ".."), ("3", "1", ".")], {"1": "a", "2": "a", "3": "a"}),
    ],
)
def test_a_span_belongs_to_the_agent_that_it_or_the_nearest_span_around_it_names(
    spans: list[tuple[str, str, str]], expected: dict[str, str]
) -> None:
    assert names(*spans) == expected
