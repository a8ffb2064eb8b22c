"""JUnit by the rules of the readers of forges, which are written here as their sources have them."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reprise_client.cli import gate_report, replay_report
from reprise_client.cli.gate_run import Result
from reprise_client.cli.junit import MESSAGE_MAX, TEXT_MAX, JunitCase, document
from reprise_client.cli.replay_runner import ReplayOutcome

from tests.fakes.one_text import replay_of
from tests.support.experiments import case, experiment, side

LIBXML2_TEXT_MAX = 10_000_000
NAMES = st.lists(
    st.one_of(
        st.sampled_from(
            ["dup", " dup", "dup ", "dup (1)", "dup (2)", "dup (2, 2)", "a\x00", "a\x01", "a\ufffd", "verdict"]
        ),
        st.sampled_from(["verdict (1)", "candidate a", "", " ", "\ud800", "dup\n", "candidate a (1)"]),
        st.text(max_size=3),
    ),
    max_size=12,
)


def replays(names: list[str]) -> str:
    outcomes = [ReplayOutcome(number, name, replay_of("x")) for number, name in enumerate(names, 1)]
    return replay_report.junit(3, outcomes)


def gate(names: list[str]) -> str:
    cases = [case(number, name, "regressed", side(3, 9), side(9, 9)) for number, name in enumerate(names, 1)]
    return gate_report.junit(Result(3, experiment(cases, verdict="failed", candidates=[CANDIDATE])))


CANDIDATE = {"name": "a", "rank": 1, "verdict": "passed", "classes": {}, "kind": "draft", "violated": 0, "reason": None}
WRITERS = [replays, gate]


def suite_of(content: str) -> ElementTree.Element:
    (suite,) = ElementTree.fromstring(content.encode()).findall("testsuite")
    return suite


def gitlab_keys(suite: ElementTree.Element) -> list[str]:
    """lib/gitlab/ci/reports/test_case.rb: the key is the hash of these three, and a later equal one replaces it."""
    return [f"{suite.get('name')}_{test.get('classname')}_{test.get('name')}" for test in suite.iter("testcase")]


def dorny_names(suite: ElementTree.Element) -> list[str]:
    """src/parsers/java-junit/java-junit-parser.ts: names are trimmed."""
    return [str(test.get("name")).strip() for test in suite.iter("testcase")]


@pytest.mark.parametrize("write", WRITERS)
@given(names=NAMES)
def test_every_reader_sees_different_names(write: Any, names: list[str]) -> None:
    suite = suite_of(write(names))

    for read in (gitlab_keys, dorny_names):
        assert len(set(read(suite))) == len(suite.findall("testcase"))
    assert all(dorny_names(suite))  # Jenkins shows "(?)" for an empty one


@pytest.mark.parametrize("write", WRITERS)
def test_names_that_differ_stay(write: Any) -> None:
    names = ["dup (1)", "dup (2)", "dup", "注文 → ok"]
    shown = dorny_names(suite_of(write(names)))

    assert shown[-4:] == names


def test_equal_names_get_their_ids_and_never_that_of_another() -> None:
    assert dorny_names(suite_of(replays(["dup", "dup", "dup (2)", "a\x00", "a\x01"]))) == [
        "dup (1)",
        "dup (2, 2)",
        "dup (2)",
        "a\ufffd (4)",
        "a\ufffd (5)",
    ]


def test_the_verdict_keeps_its_name() -> None:
    assert dorny_names(suite_of(gate(["verdict", "candidate a"]))) == [
        "verdict",
        "candidate a (1)",
        "verdict (1)",
        "candidate a (2)",
    ]


@pytest.mark.parametrize("write", WRITERS)
@given(names=NAMES)
def test_counts_and_times_are_those_of_the_test_cases(write: Any, names: list[str]) -> None:
    suite = suite_of(write(names))
    tests = suite.findall("testcase")

    assert int(suite.get("tests", "")) == len(tests)
    assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))
    assert int(suite.get("errors", "")) == len(suite.findall("testcase/error"))
    assert suite.get("skipped") == "0"
    # NaN and a comma are no time: JavaScript shows NaN, Jenkins 0.
    assert float(suite.get("time", "")) == pytest.approx(sum(float(test.get("time", "")) for test in tests))


@pytest.mark.parametrize("write", WRITERS)
def test_every_problem_has_a_text(write: Any) -> None:
    problems = [*suite_of(write(["a"])).iter("failure")]

    assert problems
    assert all((problem.text or "").strip() and problem.get("message") for problem in problems)


def test_a_problem_without_a_text_shows_its_message() -> None:
    suite = suite_of(document("s", "c", [JunitCase("a", 1, problem="failure", message="It failed.", text=" \n")]))

    assert [problem.text for problem in suite.iter("failure")] == ["It failed."]


def test_no_text_is_larger_than_libxml2_reads() -> None:
    huge = "x" * (LIBXML2_TEXT_MAX + 1)
    problem = JunitCase(huge, 1, problem="error", message=huge, text=huge)
    suite = suite_of(document("s", "c", [problem, JunitCase("b", 2, text=huge)]))

    (error,), (output,) = suite.iter("error"), suite.iter("system-out")
    assert (len(error.get("message", "")), len(error.text or ""), len(output.text or "")) == (
        MESSAGE_MAX,
        TEXT_MAX,
        TEXT_MAX,
    )


def test_the_declared_encoding_is_that_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("locale.getpreferredencoding", lambda *_: "cp1252")

    assert replays(["注文"]).startswith("<?xml version='1.0' encoding='utf-8'?>")


def test_a_clock_that_went_back_gives_no_negative_time() -> None:
    replay = replay_of("x") | {"startedAt": "2026-01-01T00:00:02.500Z", "finishedAt": "2026-01-01T00:00:00.000Z"}

    assert suite_of(replay_report.junit(3, [ReplayOutcome(1, "a", replay)])).get("time") == "0.000"
