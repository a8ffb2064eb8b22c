"""Findings: sessions that went wrong, grouped by what went wrong and by what they have in common."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.suites.features import Feature, ScoredFingerprint, Vocabulary
from app.suites.findings import (
    FoundGroup,
    LowScores,
    Subject,
    Trend,
    came_back,
    group_into_findings,
    problems_of,
)
from app.suites.fingerprints import CalledTool, make
from app.suites.samples import Sample

TOOLS, WORDS = ("search", "refund", "cancel"), ("voucher", "lamp", "chair", "parcel")


def effect_of(tool: str) -> Literal["read", "write"]:
    return "read" if tool == "search" else "write"


def sample(number: int, *tools: str, failed: Sequence[str] = (), text: str = "", **options: Any) -> Sample:
    cost, start_ns = options.pop("cost", 0.0), options.pop("start_ns", number)
    calls = [CalledTool(tool, "", tool in failed) for tool in tools]
    has_error = options.pop("error", False) or bool(failed)
    made = make(turns=1, calls=calls, texts=[text], has_error=has_error, **options)
    return Sample(f"{number:032x}", start_ns, 1, cost, ScoredFingerprint(made))


def groups_of(
    samples: Sequence[Sample], low: dict[str, LowScores] | None = None, known: Sequence[Subject] = ()
) -> list[FoundGroup]:
    vocabulary = Vocabulary.of([one.scored.fingerprint for one in samples])
    return group_into_findings(samples, problems_of(samples, low or {}), known, vocabulary, effect_of)


def counts(groups: Sequence[FoundGroup]) -> dict[Subject, int]:
    return {group.subject: len(group.members) for group in groups}


troubled = st.builds(
    lambda tools, failed, words, error, score, check, cost: (tools, failed, words, error, score, check, cost),
    st.lists(st.sampled_from(TOOLS), max_size=3),
    st.sampled_from(TOOLS),
    st.lists(st.sampled_from(WORDS), max_size=3),
    st.booleans(),
    st.sampled_from([None, "helpful", "thumbs"]),
    st.sampled_from([None, "polite"]),
    st.sampled_from([0.0, 1.0, 9.0]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(troubled, max_size=60), st.integers(0, 1_000))
@pytest.mark.slow
def test_each_session_that_went_wrong_is_in_one_finding_whatever_their_order(
    drawn: list[tuple[Any, ...]], seed: int
) -> None:
    samples, low = [], {}
    for number, (tools, failed, words, error, score, check, cost) in enumerate(drawn):
        failing = [failed] if failed in tools else []
        one = sample(number, *tools, failed=failing, text=" ".join(words), error=error, cost=cost)
        samples.append(one)
        low[one.id] = LowScores(check, score)
    groups = groups_of(samples, low)
    members = [index for group in groups for index in group.members]
    assert sorted(members) == sorted(problems_of(samples, low))
    assert len({group.subject for group in groups}) == len(groups)
    for number, one in enumerate(samples):
        went_wrong = one.scored.fingerprint.has_error or low[one.id] != LowScores()
        assert (number in members) >= went_wrong
    mixed = random.Random(seed).sample(samples, len(samples))
    by_id = [sorted((group.subject.digest, sorted(samples[i].id for i in group.members)) for group in groups)]
    again = groups_of(mixed, low)
    assert by_id == [sorted((group.subject.digest, sorted(mixed[i].id for i in group.members)) for group in again)]
    # What is known keeps its sessions.
    known = [group.subject for group in sorted(groups, key=lambda group: group.place)]
    assert counts(groups_of(samples, low, known)) == counts(groups)


def test_known_findings_of_one_size_keep_a_session_that_has_what_both_have_in_common() -> None:
    """Listed by their size, or by their digest, the second one would get it when they are read again."""
    went_well = [("search",), ("search", "refund"), ("refund",), ("search",), ("search", "refund"), ()]
    samples = [
        sample(number, *tools, text=text)
        for number, (tools, text) in enumerate(zip(went_well, ("", "voucher", "", "lamp", "lamp", "lamp"), strict=True))
    ]
    wrong = [
        (("cancel",), "lamp"),
        (("cancel",), "lamp"),
        (("cancel",), "voucher lamp"),
        (("search", "refund"), "voucher"),
        (("refund",), "voucher lamp"),
        ((), "voucher lamp"),
    ]
    samples += [sample(10 + number, *tools, text=text, error=True) for number, (tools, text) in enumerate(wrong)]
    groups = groups_of(samples)
    known = [group.subject for group in sorted(groups, key=lambda group: group.place)]
    assert known != [group.subject for group in groups]
    assert counts(groups_of(samples, known=known)) == counts(groups)


def test_a_session_counts_for_the_failed_tool_that_fails_most_often() -> None:
    samples = [sample(n, "refund", failed=["refund"]) for n in range(2)]
    samples.append(sample(2, "refund", "cancel", failed=["cancel", "refund"]))
    assert counts(groups_of(samples)) == {Subject("failed_tool", "refund"): 3}


def test_what_all_sessions_that_call_the_tool_have_in_common_splits_nothing() -> None:
    failing = [sample(n, "search", "refund", failed=["refund"], text="voucher") for n in range(6)]
    others = [sample(10 + n, "search", text="lamp") for n in range(20)]
    assert counts(groups_of(failing + others)) == {Subject("failed_tool", "refund"): 6}


def test_sessions_with_a_word_that_others_lack_are_another_finding() -> None:
    failing = [sample(n, "refund", failed=["refund"], text="voucher" if n < 4 else "lamp") for n in range(6)]
    fine = [sample(10 + n, "refund", text="lamp") for n in range(10)]
    voucher = Subject("failed_tool", "refund", Feature("topic", "voucher"))
    assert counts(groups_of(failing + fine)) == {voucher: 4, Subject("failed_tool", "refund"): 2}
    assert voucher.title == "`refund` fails, in sessions that are about \u201cvoucher\u201d"


def test_a_known_finding_keeps_its_sessions_though_another_word_separates_them_better() -> None:
    failing = [sample(n, "refund", failed=["refund"], text="voucher" if n < 4 else "lamp") for n in range(6)]
    fine = [sample(10 + n, "refund", text="lamp" if n < 4 else "chair") for n in range(10)]
    lamp = Subject("failed_tool", "refund", Feature("topic", "lamp"))
    assert counts(groups_of(failing + fine, known=[lamp]))[lamp] == 2


def test_a_check_counts_before_another_score() -> None:
    samples = [sample(0), sample(1), sample(2)]
    low = {samples[0].id: LowScores("polite", "helpful"), samples[1].id: LowScores(None, "helpful")}
    assert counts(groups_of(samples, low)) == {Subject("check", "polite"): 1, Subject("score", "helpful"): 1}


@pytest.mark.parametrize(("others", "found"), [(19, 1), (18, 0)])
def test_a_session_that_costs_five_times_the_median_is_a_finding(others: int, found: int) -> None:
    samples = [sample(n, cost=1.0) for n in range(others)] + [sample(99, cost=5.0), sample(100), sample(101)]
    assert sum(counts(groups_of(samples)).values()) == found


@pytest.mark.parametrize(
    ("recent", "before", "direction"),
    [(0, 0, "steady"), (4, 0, "steady"), (5, 0, "up"), (20, 10, "steady"), (40, 10, "up"), (10, 40, "down")],
)
def test_a_trend_that_chance_explains_is_none(recent: int, before: int, direction: str) -> None:
    assert Trend(recent, before).direction == direction


@pytest.mark.parametrize(
    ("named", "start_ns", "back"),
    [
        (["old"], 500, False),
        (["fixed"], 50, True),
        (["new"], 500, True),
        (["old", "new"], 500, True),
        ([], 99, False),
        ([], 100, True),
        (["unknown"], 100, True),
    ],
)
def test_a_solved_finding_comes_back_with_a_session_of_the_version_that_solved_it(
    named: list[str], start_ns: int, back: bool
) -> None:
    versions = {"old": 1, "fixed": 2, "new": 3}
    members = [sample(0, versions=named, start_ns=start_ns)]
    assert came_back(members, solved_ns=100, solved_by="fixed", versions=versions) is back


@pytest.mark.parametrize(("start_ns", "back"), [(99, False), (100, True)])
def test_without_a_version_a_finding_comes_back_with_a_later_session(start_ns: int, back: bool) -> None:
    members = [sample(0, versions=["old"], start_ns=start_ns)]
    assert came_back(members, solved_ns=100, solved_by=None, versions={"old": 1}) is back


def test_the_digest_of_a_subject_is_stable() -> None:
    assert Subject("error").digest.hex() == "6a410aaaceee0d4925d1c944b0b19d59"
    assert Subject("check", "polite", Feature("topic", "lamp")).digest != Subject("check", "polite").digest


def test_features_of_sessions_are_hashed_a_few_times_whatever_the_number_of_problems(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hashes of their texts were most of the work for thousands of sessions."""
    hashed = 0

    def counted(feature: Feature) -> int:
        nonlocal hashed
        hashed += 1
        return tuple.__hash__(feature)

    tools = [f"tool{number}" for number in range(12)]
    samples = [sample(number, *tools, failed=[tools[number % 12]]) for number in range(60)]
    monkeypatch.setattr(Feature, "__hash__", counted)

    assert len(groups_of(samples)) == 12
    assert hashed < 200 * len(samples)
