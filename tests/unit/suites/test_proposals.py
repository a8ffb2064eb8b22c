"""The sessions of a proposed suite, and the sentence about it."""

from __future__ import annotations

import pytest

from app.suites.features import ScoredFingerprint
from app.suites.fingerprints import CalledTool, make
from app.suites.proposals import SuiteProposal, propose
from app.suites.samples import Sample, Weights


def sample(number: int, *, failed: bool = False) -> Sample:
    """Return a session that looks an order up, which may fail."""
    call = CalledTool("get_order", "", failed)
    fingerprint = make(turns=1, calls=[call], texts=["Where is it?"], has_error=failed)
    return Sample(f"{number:032x}", number, 1, 0.0, ScoredFingerprint(fingerprint))


def test_a_session_that_went_wrong_is_chosen_only_for_what_no_right_one_does() -> None:
    samples = [sample(1, failed=True), sample(2)]
    picks = propose(samples, size=5, weights=Weights(), effect_of=lambda _tool: "read").picks

    assert [pick.sample.went_wrong for pick in picks] == [False, True]
    assert "failed call of `get_order`" in picks[1].reason
    assert "call only" not in picks[1].reason


def test_a_session_that_went_wrong_is_chosen_for_all_it_does_if_no_right_one_does_it() -> None:
    (pick,) = propose([sample(1, failed=True)], size=5, weights=Weights(), effect_of=lambda _tool: "read").picks
    assert pick.sample.went_wrong
    assert pick.share > 0.9


@pytest.mark.parametrize(
    ("curve", "sessions", "sentence"),
    [
        ([1.0], 1, "1 session represents 100 % of what happened in 1 session."),
        ([0.5, 0.75], 1200, "2 sessions represent 75 % of what happened in 1,200 sessions."),
    ],
)
def test_sessions_are_counted_in_the_singular_and_the_plural(curve: list[float], sessions: int, sentence: str) -> None:
    assert SuiteProposal([], curve, 0.0, sessions, 0).summary == sentence
