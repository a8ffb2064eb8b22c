"""The sentence about a proposed suite."""

from __future__ import annotations

import pytest

from app.suites.proposals import SuiteProposal


@pytest.mark.parametrize(
    ("curve", "sessions", "sentence"),
    [
        ([1.0], 1, "1 session represents 100 % of what happened in 1 session."),
        ([0.5, 0.75], 1200, "2 sessions represent 75 % of what happened in 1,200 sessions."),
    ],
)
def test_sessions_are_counted_in_the_singular_and_the_plural(curve: list[float], sessions: int, sentence: str) -> None:
    assert SuiteProposal([], curve, 0.0, sessions, 0).summary == sentence
