"""The rates of the gate on drafts that no rule was built on: with a judge that is right, and without one."""

from __future__ import annotations

from tests.gate.measure import drafts, played

SAMPLE = 7  # every seventh draft, so that the test is short


def test_with_a_judge_that_is_right_nothing_harmful_passes_and_nothing_harmless_fails() -> None:
    wrong = [
        (source.name, probe.kind, verdict)
        for source, probe in drafts()[::SAMPLE]
        if (verdict := played(source, probe, 0.0)) == ("passed" if probe.planted else "failed")
    ]

    assert wrong == []


def test_without_a_judge_nothing_harmful_passes() -> None:
    passed = [
        (source.name, probe.kind)
        for source, probe in drafts()[::SAMPLE]
        if probe.planted and played(source, probe, None) == "passed"
    ]

    assert passed == []


def test_the_drafts_are_of_all_recordings_and_both_sides() -> None:
    sources = {source.of for source, _ in drafts()}

    assert sources == {"unseen", "table", "exports"}
    assert sum(probe.planted for _, probe in drafts()) >= 1_000
    assert sum(not probe.planted for _, probe in drafts()) >= 300
