"""An experiment is described in a sentence, and in a comment on a pull request."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reprise_formats.experiment_failures import first_failing
from reprise_formats.experiment_report import advice, markdown, sentence
from reprise_formats.experiment_summary import CLASSES
from reprise_formats.replay_steps import changed_lines

from tests.support.experiments import BASELINE, DRAFT, case, experiment, side

VIOLATION = {
    "testCaseId": 2,
    "replayId": 21,
    "kind": "extra_write",
    "tool": "refund_order",
    "turn": 0,
    "arguments": {},
    "message": "Turn 1: the draft calls refund_order once more.",
}


def compared(name: str, rank: int, verdict: str, **classes: int) -> dict[str, Any]:
    return {"name": name, "rank": rank, "verdict": verdict, "classes": classes, "violated": 0}


SEVERAL = [compared("*brief*", 1, "passed", improved=1), compared("wordy", 2, "failed", regressed=2)]


def test_several_candidates_are_a_table_in_the_comment_and_the_sentence_names_the_first() -> None:
    found = experiment(cases(2), candidates=SEVERAL)

    assert sentence(found).startswith("1 of 2 candidates passed; first is *brief*: 2 tests pass as often as with ")
    shown = unescape(markdown(found))
    assert "| 1 | *brief* | Passed | 1 test better |\n| 2 | wordy | Failed | 2 tests worse |" in shown
    assert "| Test | Result | *brief* |" in shown
    assert "| *brief* |" not in markdown(found)


def test_blind_tests_are_named_and_are_no_part_of_what_would_have_shown() -> None:
    tests = [*cases(2), cases(1, "stable_fail", 3)[0] | {"blind": True}]
    passed = experiment(tests, blind=1, sighted=2)
    undecided = experiment(tests, verdict="inconclusive", reason="1 of 3.", blind=3, sighted=0)

    assert sentence(passed).endswith(
        "(4 replays each); 1 test is blind, as version 4f53a0b1 passes it too rarely; $0.31"
    )
    assert "| test 3 | always fails, blind |" in markdown(passed)
    assert advice(undecided).startswith("Calibrate or fix the blind tests")


def test_replays_that_decided_nothing_ask_for_a_decision() -> None:
    waiting = case(1, "test 1", "undecided", side(0, 4) | {"undecided": 4}, side(4, 4))

    told = advice(experiment([waiting], verdict="inconclusive", reason="Too few replays were decided."))

    assert told.startswith("Decide what needs review")
    assert "add --no-reuse" in told


def test_a_judge_that_lets_errors_pass_is_to_be_replaced_and_its_audit_is_named_once() -> None:
    sentence_of_audit = "The judge noticed 0 of 30 planted errors (0–11 %)."
    reason = f"{sentence_of_audit.removesuffix('.')}, and 80 % is the least (minJudgeCaught)"
    waiting = case(1, "test 1", "undecided", side(0, 4) | {"undecided": 1}, side(4, 4))
    blamed = experiment(
        [waiting], verdict="inconclusive", reason=reason, judgeAudit={"id": 1, "sentence": sentence_of_audit}
    )

    assert advice(blamed) == (
        "This judge lets wrong answers pass. Choose another one, or change it and run `reprise judge audit`, and start "
        "the experiment again."
    )
    assert markdown(blamed).count("0 of 30") == 1


def test_the_advice_names_what_is_to_be_changed() -> None:
    program = {"kind": "external", "commitHash": None, "fingerprint": "d" * 64}
    program |= {"external": {"name": "shop", "revision": "r1", "dirty": False}}
    same = {"verdict": "passed", "baseline": program}

    assert "fix the prompt" in advice(experiment(WORSE, verdict="failed"))
    assert "fix the program" in advice(experiment(WORSE, verdict="failed", candidate=program))
    assert advice(experiment(candidate=program, **same)).startswith("Change the program, and start it again")


def cases(count: int, kind: str = "stable_pass", first: int = 1) -> list[dict[str, Any]]:
    rates = {"stable_pass": (4, 4), "improved": (4, 0), "stable_fail": (0, 0), "flaky": (2, 2), "undecided": (3, 4)}
    new, old = rates.get(kind, (1, 4))
    return [
        case(n, f"test {n}", kind, side(new, 4, first_replay=n * 100), side(old, 4, first_replay=n * 100 + 50))
        for n in range(first, first + count)
    ]


WORSE = [*cases(18), *cases(2, "regressed", 19)]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            experiment(WORSE, verdict="failed", pValue=0.004, reused=14),
            "2 of 20 tests got worse than version 4f53a0b1 (p < 0.01); 14 replays reused, $0.31",
        ),
        (
            experiment(cases(20)),
            "20 tests pass as often as with version 4f53a0b1; a step that fails more than 44 % of the time would have "
            "shown (4 replays each); $0.31",
        ),
        (
            experiment([*cases(1), *cases(1, "stable_fail", 2), *cases(1, "improved", 3)], detectable=None),
            "1 of 3 tests got better than with version 4f53a0b1, and none got worse, though 1 always fails; $0.31",
        ),
        (
            experiment(cases(1), baseline=None, cost={"total": 0}),
            "1 test passes as often as asked; a step that fails more than 44 % of the time would have shown "
            "(4 replays each); $0",
        ),
        (
            experiment(cases(2), verdict="failed", violations=[VIOLATION], pValue=None),
            "1 violation in 1 test; $0.31",
        ),
        (
            experiment([*cases(1), *cases(1, "undecided", 2)], verdict="failed", baseline=None, minPassRate=0.9),
            "1 of 2 tests did not pass every time, and 90 % of the replays have to pass; $0.31",
        ),
        (
            experiment(cases(1), verdict="failed", reason="The candidate took 3 times as long as the baseline."),
            "The candidate took 3 times as long as the baseline; $0.31",
        ),
        (
            experiment(cases(1), verdict="inconclusive", reason="Nothing was decided when the cost reached $0.50."),
            "Undecided: nothing was decided when the cost reached $0.50; $0.31",
        ),
        (
            experiment(WORSE, status="running", verdict=None, progress={"done": 12, "total": 20}),
            "12 of 20 replays; 2 of 20 tests got worse than version 4f53a0b1; $0.31",
        ),
        (
            experiment(status="queued", verdict=None, progress={"done": 0, "total": 20}, cost=0),
            "Waiting to start: 0 of 20 replays; $0",
        ),
        (experiment(status="cancelled", verdict=None), "Cancelled after 20 of 20 replays, without a verdict; $0.31"),
        (experiment(status="error", verdict=None, reason="No credential."), "It could not run: No credential; $0.31"),
    ],
)
def test_the_sentence_of_an_experiment(found: dict[str, Any], said: str) -> None:
    assert sentence(found) == said


def test_an_entry_of_a_list_has_the_same_sentence_without_its_test_cases() -> None:
    whole = experiment(WORSE, verdict="failed", pValue=0.004, reused=14)
    entry = {name: value for name, value in whole.items() if name not in ("testCases", "models")}

    assert sentence(entry | {"classes": {"stable_pass": 18, "regressed": 2}}) == sentence(whole)


@pytest.mark.parametrize("verdict", ["passed", "failed", "inconclusive"])
def test_every_verdict_comes_with_what_to_do_next(verdict: str) -> None:
    assert advice(experiment(cases(3), verdict=verdict)).endswith(".")


@pytest.mark.parametrize(
    ("audit", "words"),
    [
        (None, "start the experiment again."),
        ({"id": 1, "sentence": None}, "The audit of the judge has not ended."),
        ({"id": 1, "sentence": "The judge noticed 9 of 10."}, "The judge noticed 9 of 10."),
    ],
)
def test_a_verdict_has_the_sentence_of_the_audit_or_that_it_has_not_ended(audit: Any, words: str) -> None:
    found = experiment(WORSE, verdict="failed", judgeAudit=audit)

    assert advice(found).endswith(words)
    assert words in markdown(found)
    assert "audit" not in advice(found | {"verdict": None, "status": "running"})


def test_the_comment_quotes_what_a_judge_found_in_the_first_failing_replay() -> None:
    finding = {"kind": "contradicts", "why": "The *refund* ends.", "recorded": "within 30", "produced": "after 30"}
    step = {
        "kind": "answer",
        "result": "failed",
        "reason": "the judge refused it",
        "expected": "You get it within 30 days.",
        "actual": "You get it after 30 days.",
        "findings": [finding],
    }
    failing = first_failing(experiment(WORSE))

    written = markdown(experiment(WORSE, verdict="failed"), {failing[0]: {"turns": [{"steps": [step], "extra": []}]}})

    assert "### What went wrong" in written
    shown = unescape(written).replace("\u200b", "")
    assert "turn 1, step 1 (answer) failed: the judge refused it" in shown
    assert "- Contradiction: The *refund* ends." in shown
    assert "- You get it »within 30« days." in shown
    assert "+ You get it »after 30« days." in shown
    assert "*refund*" not in written
    assert "went wrong" not in markdown(experiment(WORSE, verdict="failed"))


def test_long_texts_are_compared_by_their_lines_in_linear_time() -> None:
    before, after = [f"line {n}" for n in range(50_000)], [f"line {n}" for n in range(50_000)]
    after[25_000:25_001] = ["another", "two"]

    assert list(changed_lines(before, after)) == ["-line 25000", "+another", "+two"]
    assert list(changed_lines(["a"], ["a", "a"])) == ["+a"]
    assert list(changed_lines(before, before)) == []


def test_a_passed_verdict_warns_when_tests_guard_little() -> None:
    assert "Calibrate" in advice(experiment([*cases(1), *cases(1, "flaky", 2)]))
    assert "Calibrate" not in advice(experiment(cases(2)))


def test_a_candidate_that_equals_its_baseline_is_named_so() -> None:
    same = {**DRAFT, "fingerprint": BASELINE["fingerprint"]}
    passed = experiment(cases(2), candidate=same)

    assert sentence(passed) == "Nothing was compared: the draft is the same as version 4f53a0b1; $0.31"
    assert advice(passed) == "Change the prompt, and start it again: this is no result about a change."
    assert advice(experiment(cases(2), candidate=same, verdict="inconclusive")).startswith("Start it again")


def test_a_comment_lists_what_newly_fails_first_and_links_its_replays() -> None:
    written = markdown(experiment(WORSE, verdict="failed", pValue=0.004))

    rows = [line for line in written.splitlines() if line.startswith("| test")]
    assert [row.split(" |")[0] for row in rows[:3]] == ["| test 19", "| test 20", "| test 1"]
    assert "| **worse** | 1 of 4, $0.04, 1.2 s | 4 of 4, $0.04, 1.2 s |" in rows[0]
    assert "[1900](https://reprise.example/projects/1/replays/1900)" in rows[0]
    assert written.endswith("\n[The experiment](https://reprise.example/projects/1/experiments/7)\n")
    assert written.startswith("**Failed.** 2 of 20 tests got worse than version 4f53a0b1 (p < 0.01); $0.31.\n")


def test_a_test_case_that_breaks_a_rule_comes_before_all_others() -> None:
    found = [*cases(2), *cases(1, "regressed", 3)]
    written = markdown(experiment(found, verdict="failed", violations=[VIOLATION]))

    assert written.index("| test 2") < written.index("| test 3") < written.index("| test 1")
    assert "once more. ([21](https://reprise.example/projects/1/replays/21))" in written


def test_a_comment_compares_models() -> None:
    models = [{"languageModelName": "gpt|5", "testCases": cases(2, "regressed")}]

    written = markdown(experiment(cases(2), models=models))

    assert "| The draft's own | 8 of 8 | $0.01 |\n| gpt&#124;5 | 2 of 8 | $0.01 |" in written


@pytest.mark.parametrize("url", [None, "", "javascript:alert(1)", "/projects/1/experiments/7", "https://x.y/(z"])
def test_a_comment_without_an_address_has_no_links(url: str | None) -> None:
    assert "](" not in markdown(experiment(WORSE, verdict="failed", url=url))


def test_an_address_that_a_browser_fills_in_leads_to_replays() -> None:
    written = markdown(experiment(WORSE, verdict="failed", url="$BASE_URL/projects/1/experiments/7"))
    assert "[1900]($BASE_URL/projects/1/replays/1900)" in written


HOSTILE = st.text() | st.sampled_from(
    [
        "a | b",
        "`code`",
        "line\nbreak",
        "@somebody",
        "[x](javascript:1)",
        "<b>",
        ":tada:",
        "![i](x)",
        "\\|",
        "#12",
        "\ud800",
    ]
)
SIDES = st.builds(lambda a, b, c: side(min(a, b), b, reused=c), *[st.integers(0, 30)] * 3)
CONTENTS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["draft", "version", "overlay"]),
        "commitHash": st.none() | st.just("4f53a0b1" * 5),
        "fingerprint": st.sampled_from("ab"),
    }
)
CASES = st.lists(
    st.builds(case, st.integers(1, 5), HOSTILE, st.sampled_from([*CLASSES]), SIDES, SIDES),
    unique_by=lambda c: c["testCaseId"],
)
SHAPES = st.builds(
    experiment,
    CASES,
    verdict=st.sampled_from(["passed", "failed", "inconclusive"]),
    reason=st.none() | HOSTILE,
    candidate=CONTENTS,
    baseline=st.none() | CONTENTS,
    minPassRate=st.none() | st.floats(0, 1),
    pValue=st.none() | st.floats(0, 1),
    violations=st.lists(st.fixed_dictionaries({"message": HOSTILE, "testCaseId": st.integers(1, 5)}), max_size=30),
    detectable=st.none() | st.floats(0.01, 0.99),
    cost=st.floats(0, 1e9),
    url=st.none() | HOSTILE,
    models=st.lists(st.fixed_dictionaries({"languageModelName": HOSTILE, "testCases": CASES}), max_size=3),
) | st.builds(
    experiment,
    CASES,
    status=st.sampled_from(["queued", "running", "cancelled", "error"]),
    verdict=st.none(),
    reason=st.none() | HOSTILE,
)


@given(SHAPES)
def test_the_line_of_every_experiment_can_be_printed(found: dict[str, Any]) -> None:
    for line in (sentence(found), advice(found)):
        assert line
        assert len(line.splitlines()) == 1
        assert line.encode()


@given(SHAPES)
def test_no_text_of_others_becomes_markup_in_a_comment(found: dict[str, Any]) -> None:
    written = markdown(found)

    rows = [line for line in written.splitlines() if line.startswith("| ")]
    assert all(row.count("|") in (4, 5, 6) for row in rows)
    assert not set(written.replace("p < 0", "").replace("<$0.0001", "")) & set("`<@!~{}\\")
    assert "javascript:" not in written


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=100))
def test_a_name_of_any_characters_is_shown_unchanged(name: str) -> None:
    written = markdown(experiment([case(1, name, "flaky", side(1, 2), side(2, 2))]))

    (row,) = [line for line in written.splitlines() if "passes sometimes" in line]
    assert unescape(row.split(" | ")[0]).replace("\u200b", "").removeprefix("| ") == name


def test_a_comment_fits_whatever_it_is_about() -> None:
    long = [case(n, "|@" * 400, "regressed", side(0, 100), side(100, 100)) for n in range(1000)]
    messages = [VIOLATION | {"message": "@" * 5000}] * 500

    written = markdown(experiment(long, verdict="failed", violations=messages, reason="|" * 10_000))

    assert len(written.encode()) < 60_000
    assert "The rest is too long to be shown here." in written
    assert written.endswith("experiments/7)\n")
