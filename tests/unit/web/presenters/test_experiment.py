"""The pages of experiments show the API's JSON."""

from __future__ import annotations

from typing import Any

import pytest

from app.web import labels
from app.web.presenters.experiment import ShownExperiment, hashes_of
from tests.support.experiments import case, experiment, side

HASH = "4f53a0b1" * 8
PASSING = case(1, "steady", "stable_pass", side(4, 4), side(4, 4))
WORSE = case(2, "worse", "regressed", side(1, 4), side(4, 4))
FLAKY = case(3, "flaky", "flaky", side(2, 4), side(2, 4))


def names(cases: list[Any]) -> list[str]:
    return [each["name"] for each in cases]


def test_tests_that_always_pass_are_apart_once_it_has_ended() -> None:
    shown = ShownExperiment(experiment([PASSING, FLAKY, WORSE], verdict="failed"))

    assert (names(shown.to_look_at), names(shown.steady)) == (["worse", "flaky"], ["steady"])


def test_all_tests_are_together_while_it_runs() -> None:
    found = experiment([PASSING, WORSE], status="running", verdict=None, startedAt=None, finishedAt=None)
    shown = ShownExperiment(found)

    assert (names(shown.to_look_at), shown.steady, shown.took_ms) == (["worse", "steady"], [], None)


def test_models_are_columns_in_the_order_of_the_test_cases() -> None:
    other = [case(1, "steady", "flaky", side(1, 4)), case(2, "worse", "stable_pass", side(4, 4))]
    shown = ShownExperiment(experiment([PASSING, WORSE], models=[{"languageModelName": "m", "testCases": other}]))

    assert [(model.name, model.total.passed, model.total.runs) for model in shown.models] == [
        ("Candidate’s model", 5, 8),
        ("m", 5, 8),
    ]
    assert [(name, [each["passed"] for each in sides]) for name, sides in shown.by_model] == [
        ("steady", [4, 1]),
        ("worse", [1, 4]),
    ]


def test_each_test_counts_once_however_often_it_was_replayed() -> None:
    seldom, often = case(1, "seldom", "flaky", side(4, 4)), case(2, "often", "stable_fail", side(0, 12))
    models = [{"languageModelName": "m", "testCases": [seldom, often]}]

    [own, other] = ShownExperiment(experiment([seldom, often], models=models)).models

    assert (own.total.rate, other.total.rate) == (0.5, 0.5)


def test_without_other_models_nothing_is_compared() -> None:
    assert ShownExperiment(experiment([PASSING])).models == []


def test_a_test_case_that_broke_a_rule_is_marked() -> None:
    violation = {"testCaseId": 2, "replayId": 9, "message": ""}
    assert ShownExperiment(experiment([PASSING, WORSE], violations=[violation])).broken == {(2, None)}


@pytest.mark.parametrize(
    ("kind", "commit", "against", "title"),
    [
        ("draft", None, HASH, "The draft against version 4f53a0b1"),
        ("version", HASH, None, "Version 4f53a0b1"),
        ("overlay", HASH, HASH, "Version 4f53a0b1 with changes against version 4f53a0b1"),
        ("overlay", None, None, "The prompt as sent"),
    ],
)
def test_a_title_names_both_sides(kind: str, commit: str | None, against: str | None, title: str) -> None:
    baseline = {"kind": "version", "commitHash": against, "fingerprint": ""} if against else None
    found = experiment(candidate={"kind": kind, "commitHash": commit, "fingerprint": ""}, baseline=baseline)

    assert ShownExperiment(found).title == title


def test_a_title_has_the_messages_of_versions() -> None:
    sides = [{"kind": "version", "commitHash": letter * 64, "fingerprint": ""} for letter in "ab"]
    found = experiment(candidate=sides[0], baseline=sides[1])

    title = ShownExperiment(found, {"a" * 64: "Sign with the team", "c" * 64: "Another"}).title
    assert title == "Version aaaaaaaa (Sign with the team) against version bbbbbbbb"
    assert hashes_of(found) == {"a" * 64, "b" * 64}


def test_a_candidate_that_is_its_baseline_is_not_shown_as_passed() -> None:
    same = {"kind": "draft", "commitHash": None, "fingerprint": "b" * 64}

    assert ShownExperiment(experiment([PASSING], candidate=same)).outcome == "same"
    assert labels.EXPERIMENTS["same"] == ("nothing compared", "")
    assert ShownExperiment(experiment([WORSE], candidate=same, verdict="failed")).outcome == "failed"
    assert ShownExperiment(experiment([PASSING])).outcome == "passed"


def test_a_candidate_with_changes_can_not_be_asked_for_by_the_form() -> None:
    assert ShownExperiment(experiment(candidate={"kind": "overlay", "commitHash": HASH, "fingerprint": ""})).again == ""


def test_several_candidates_are_compared_test_by_test() -> None:
    several = [{"name": name, "rank": 1, "classes": {}, "violated": 0, "testCases": [PASSING]} for name in ("a", "b")]
    shown = ShownExperiment(experiment([PASSING], candidates=several))

    assert (shown.candidate, [model.name for model in shown.models], len(shown.by_model[0][1])) == ("a", ["a", "b"], 2)
    assert [words for _, words in shown.candidates] == ["no difference"] * 2
    assert shown.again == ""


def test_of_many_test_cases_the_first_are_shown() -> None:
    running = ShownExperiment(experiment(status="running", verdict=None))
    assert running.shown_max < ShownExperiment(experiment()).shown_max


def test_a_violation_of_several_replays_is_listed_once_with_all_of_them() -> None:
    sent = {"testCaseId": 1, "kind": "never", "tool": "send", "turn": 0, "arguments": {}, "message": "send was called."}
    lost = sent | {"kind": "lost_tool", "message": "send is gone."}
    found = [lost | {"replayId": 4}, sent | {"replayId": 4}, sent | {"replayId": 6}]
    shown = ShownExperiment(experiment([WORSE], verdict="failed", violations=found))

    assert [(violation["kind"], replays) for violation, replays in shown.violations] == [
        ("never", [4, 6]),
        ("lost_tool", [4]),
    ]
