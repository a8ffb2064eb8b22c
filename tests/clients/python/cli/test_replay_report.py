from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from reprise_client.cli.replay_report import as_json, details, exit_code, headline, junit, markdown
from reprise_client.cli.replay_runner import ReplayOutcome

COUNTS = {"passed": 0, "failed": 0, "ignored": 0, "not_run": 0, "needs_review": 0}


def outcome(status: str, *steps: dict[str, Any], name: str = "Heat", **more: Any) -> ReplayOutcome:
    counts = COUNTS | {step["result"]: 1 for step in steps}
    replay = {
        "status": status,
        "counts": counts,
        "cost": {"total": 0.00042},
        "startedAt": "2026-01-01T00:00:00.000Z",
        "finishedAt": "2026-01-01T00:00:02.500Z",
        "turns": [{"steps": list(steps), "extra": more.pop("extra", [])}],
        **more,
    }
    return ReplayOutcome(1, name, replay)


PASSED = outcome("passed", {"kind": "answer", "result": "passed"})
FAILED = outcome(
    "failed",
    {
        "kind": "tool_call",
        "result": "failed",
        "reason": "weather was called with other arguments",
        "actual": {"name": "weather", "arguments": {"city": "Romeo", "unit": "C"}},
        "diff": [{"path": "/city", "expected": "Rome", "actual": "Romeo"}, {"path": "/unit", "actual": "C"}],
    },
)
UNSTARTED = ReplayOutcome(1, "Heat", None, "the instance is gone")


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([PASSED, PASSED], 0),
        ([PASSED, FAILED], 1),
        ([outcome("needs_review")], 1),
        ([FAILED, outcome("error")], 2),
        ([PASSED, outcome("void")], 2),
        ([outcome("cancelled")], 2),
        ([PASSED, UNSTARTED], 2),
    ],
)
def test_the_exit_code_shows_whether_the_draft_passes(outcomes: list[ReplayOutcome], code: int) -> None:
    assert exit_code(outcomes) == code


def test_a_void_replay_is_reported_with_its_reason_and_as_an_error_of_junit() -> None:
    void = outcome("void", void="An image of turn 1 is not recorded.")

    assert "  void: An image of turn 1 is not recorded." in list(details(void))
    assert ElementTree.fromstring(junit(3, [void])).find(".//error[@type='void']") is not None


def test_the_line_of_a_replay_has_its_result_time_and_cost() -> None:
    assert headline(PASSED) == "PASSED       Heat · 1 passed · 2.5 s · $0.000420"
    assert headline(UNSTARTED) == "ERROR        Heat"


def test_a_failed_step_shows_both_sides_of_each_difference() -> None:
    assert list(details(FAILED)) == [
        "  turn 1, step 1 (tool call) failed: weather was called with other arguments",
        "    at /city:",
        '      - "Rome"',
        '      + "Romeo"',
        "    at /unit:",
        "      - (absent)",
        '      + "C"',
        "    Change the draft. If the call is right, define in the test case how its arguments may differ.",
    ]


def test_reports_lead_to_the_page_of_each_replay_that_did_not_pass() -> None:
    url = "https://reprise.example/projects/1/replays/7"
    failed, passed = outcome("failed", url=url), outcome("passed", url=url)

    assert list(details(failed)) == [f"  {url}"]
    assert list(details(passed)) == []
    failure = ElementTree.fromstring(junit(3, [failed])).find(".//failure")
    assert failure is not None
    assert failure.text == f"  {url}"
    assert f" ([replay]({url}))\n" in markdown(3, [failed])


@pytest.mark.parametrize("url", ["/projects/1/replays/7", "javascript:alert(1)//replays/7", "https://a.example/x)"])
def test_reports_lead_to_no_address_that_is_no_page_of_a_replay(url: str) -> None:
    failed = outcome("failed", url=url)

    assert list(details(failed)) == []
    assert "](" not in markdown(3, [failed])


def test_long_texts_differ_line_by_line() -> None:
    diff = [{"path": "", "expected": "One\nTwo\nThree", "actual": "One\n2\nThree"}]
    lines = list(details(outcome("failed", {"kind": "answer", "result": "failed", "diff": diff})))

    assert lines[3:-1] == ["    @@ -1,3 +1,3 @@", "     One", "    -Two", "    +2", "     Three"]


def test_a_passed_replay_has_no_further_lines_and_an_error_has_its_reason() -> None:
    assert list(details(PASSED)) == []
    assert list(details(UNSTARTED)) == ["  the instance is gone"]
    drifted = outcome("passed", drift={"placeholders": {"tone": "stern"}, "tools": ["gone"]})
    assert [line.split("'")[1] for line in details(drifted)] == ["stern", "gone"]


REFUNDED = {"kind": "tool_call", "name": "refund", "arguments": {"id": 7}, "effect": "write", "answeredBy": "none"}
SEARCHED = {"kind": "tool_call", "name": "search", "arguments": {"q": 1}, "effect": "read", "answeredBy": "borrowed"}
VIOLATION = {
    "kind": "extra_write",
    "tool": "refund",
    "turn": 0,
    "arguments": {"id": 7},
    "message": "Turn 1: refund was called twice.",
}
LOST = VIOLATION | {"kind": "lost_tool", "tool": "send", "arguments": None, "message": "Turn 2: send is gone."}


def violating() -> ReplayOutcome:
    failed = {"kind": "answer", "result": "failed", "reason": "the answer lost $5"}
    return outcome("failed", failed, extra=[REFUNDED], violations=[VIOLATION, LOST])


def test_violations_come_before_the_steps_that_failed() -> None:
    assert headline(violating()) == "FAILED       Heat · 2 violations · 1 failed · 2.5 s · $0.000420"
    assert list(details(violating())) == [
        "  violation: refund made a write that is not in the recording. Turn 1: refund was called twice.",
        "  violation: send is no longer offered. Turn 2: send is gone.",
        "  turn 1, step 1 (answer) failed: the answer lost $5",
        "    Change the draft so that it gives an answer, or turn the step off in the test case.",
        '  turn 1, beyond the recording: refund {"id": 7} (writes, not answered)',
    ]


@pytest.mark.parametrize(("external", "noun"), [(None, "draft"), ({"name": "a", "revision": "b"}, "program")])
def test_a_tool_that_is_gone_is_gone_from_what_was_played(external: dict[str, Any] | None, noun: str) -> None:
    candidate = {"kind": "external" if external else "draft", "external": external}
    lacking = outcome("passed", drift={"placeholders": {}, "tools": ["send"]}, candidate=candidate)

    assert list(details(lacking)) == [f"  the {noun} has no tool 'send' any more"]


def test_a_replay_that_passed_shows_what_it_called_beyond_the_recording() -> None:
    passed = outcome("passed", {"kind": "answer", "result": "passed"}, extra=[SEARCHED])

    assert list(details(passed)) == [
        '  turn 1, beyond the recording: search {"q": 1} (reads, borrowed from another turn)'
    ]


def test_a_call_of_a_replay_of_an_older_release_is_shown_by_its_name_and_arguments() -> None:
    old = {"kind": "tool_call", "name": "search", "arguments": {"q": 1}}
    text = {"kind": "answer", "text": "Hm."}

    assert list(details(outcome("passed", extra=[old, text]))) == [
        '  turn 1, beyond the recording: search {"q": 1}',
        '  turn 1, beyond the recording: the answer "Hm."',
    ]


def test_the_message_of_a_junit_failure_starts_with_the_violations() -> None:
    failure = ElementTree.fromstring(junit(7, [violating()])).find("testsuite/testcase/failure")

    assert failure is not None
    assert (failure.get("message") or "").startswith(
        "Turn 1: refund was called twice.; Turn 2: send is gone.; FAILED       Heat"
    )
    assert (failure.text or "").startswith(
        "  violation: refund made a write that is not in the recording. Turn 1: refund was called twice."
    )


def test_a_violation_without_a_failed_step_fails_the_replay() -> None:
    only = outcome("failed", {"kind": "answer", "result": "passed"}, violations=[VIOLATION])

    assert exit_code([only]) == 1
    assert json.loads(as_json(7, [only]))["replays"][0]["replay"]["violations"] == [VIOLATION]


def test_junit_counts_failures_and_errors_apart() -> None:
    suite = ElementTree.fromstring(junit(7, [PASSED, FAILED, UNSTARTED])).find("testsuite")

    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "time")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
        "time": "5.000",
    }
    assert [[child.tag for child in case] for case in suite] == [[], ["failure"], ["error"]]
    assert "Romeo" in (suite[1][0].text or "")


def test_junit_stays_xml_whatever_a_name_or_an_answer_holds() -> None:
    diff = [{"path": "", "expected": "a", "actual": "\x00\x1b[31m<b>&\ufffe"}]
    nasty = outcome("failed", {"kind": "answer", "result": "failed", "diff": diff}, name="\x01<&>\"'\ud800")

    case = ElementTree.fromstring(junit(7, [nasty])).find("testsuite/testcase")

    assert case is not None
    assert case.get("name") == "\ufffd<&>\"'\ufffd"


def test_json_has_everything() -> None:
    report = json.loads(as_json(7, [PASSED, UNSTARTED]))

    assert (report["promptId"], report["exitCode"]) == (7, 2)
    assert report["replays"][0]["replay"] == PASSED.replay
    assert (report["replays"][1]["status"], report["replays"][1]["problem"]) == ("error", "the instance is gone")


FOUND = {"kind": "contradicts", "recorded": "5 EUR", "produced": "6 EUR", "matters": True, "why": "The price differs."}
JUDGED = {
    "kind": "answer",
    "result": "failed",
    "reason": "The price differs.",
    "expected": "Rooms: " + "quiet " * 100 + "for 5 EUR.",
    "actual": "For 6 EUR\nwith breakfast.",
    "diff": [{"path": "", "expected": "a", "actual": "b"}],
    "findings": [FOUND, FOUND | {"kind": "missing", "produced": "", "why": "It is \x1b[2J\nnot quiet."}],
}


def test_a_step_that_a_judge_failed_shows_its_findings_with_the_quotes_in_both_texts() -> None:
    lines = list(details(outcome("failed", JUDGED)))

    assert lines[0] == "  turn 1, step 1 (answer) failed: The price differs."
    assert lines[1] == "    Contradiction: The price differs."
    assert lines[2].startswith("      - …")
    assert lines[2].endswith("quiet for »5 EUR«.")
    assert lines[3] == "      + For »6 EUR« with breakfast."
    assert lines[4] == "    Missing: It is \\u001b[2J\\nnot quiet."
    assert lines[6] == "      + For 6 EUR with breakfast."
    assert len(lines) == 8


def test_the_findings_about_arguments_quote_their_json() -> None:
    sides = {"expected": {"name": "send", "arguments": {"to": "5 EUR"}}, "actual": {"arguments": {"to": "6 EUR"}}}
    lines = list(details(outcome("failed", JUDGED | {"kind": "tool_call"} | sides)))

    assert lines[2:4] == ['      - {"to": "»5 EUR«"}', '      + {"to": "»6 EUR«"}']


def test_junit_has_the_findings() -> None:
    (failure,) = ElementTree.fromstring(junit(7, [outcome("failed", JUDGED)])).iter("failure")

    assert "Contradiction: The price differs." in (failure.text or "")
    assert "»6 EUR«" in (failure.text or "")


def test_junit_gives_each_test_case_a_name_that_no_other_has() -> None:
    def outcome(test_case_id: int, name: str) -> ReplayOutcome:
        return ReplayOutcome(test_case_id, name, None, "gone")

    outcomes = [outcome(1, "dup"), outcome(2, "dup"), outcome(3, "a\x01"), outcome(4, "a\x02"), outcome(5, "single")]

    named = [case.get("name") for case in ElementTree.fromstring(junit(7, outcomes)).iter("testcase")]

    assert named == ["dup (1)", "dup (2)", "a\ufffd (3)", "a\ufffd (4)", "single"]


def test_a_replay_with_faults_names_the_calls_that_failed_on_purpose() -> None:
    fault = {"tool": "refund", "call": 1, "kind": "timeout"}
    failed = ReplayOutcome(1, "Refund", {**(FAILED.replay or {}), "faults": [fault]})

    assert next(details(failed)) == "  failed on purpose: call 2 of refund does not answer in time"


def test_a_replay_that_passed_without_all_that_the_recorded_model_saw_shows_that_in_junit() -> None:
    fidelity = {"complete": False, "missing": [{"kind": "image", "turn": 1, "message": "an image is lacking"}]}
    passed = outcome("passed", acceptedPartial=True, fidelity=fidelity)

    shown = ElementTree.fromstring(junit(3, [passed])).findtext(".//system-out")

    assert shown == "  played without all that the recorded model saw: turn 2: an image is lacking"
    assert ElementTree.fromstring(junit(3, [outcome("passed")])).find(".//system-out") is None


def test_each_of_the_last_lines_of_a_program_is_a_line_with_a_mark() -> None:
    problem = "The program ended before it answered. Its last lines:\n  | Traceback:\n  | ImportError: no agent\nPASSED"

    assert list(details(ReplayOutcome(1, "Heat", None, problem))) == [
        "  The program ended before it answered. Its last lines:",
        "    | Traceback:",
        "    | ImportError: no agent\\nPASSED",
    ]


FORGED = "x\nPASSED       Refund · 3 passed"


def test_no_text_of_a_model_or_a_tool_begins_a_line() -> None:
    step = {"kind": "tool_call", "result": "failed", "reason": FORGED, "diff": [{"path": f"/{FORGED}", "actual": 1}]}
    violation = {"tool": FORGED, "kind": "extra_write", "message": FORGED}
    extra = {"kind": "tool_call", "name": FORGED, "arguments": {}}
    forged = outcome("failed", step, violations=[violation], extra=[extra], error=FORGED, void=FORGED)
    unstarted = ReplayOutcome(1, FORGED, None, FORGED)

    for lines in ([headline(forged), *details(forged)], [headline(unstarted), *details(unstarted)]):
        assert "\\nPASSED" in "".join(lines)
        assert "\n" not in "".join(lines)
    assert not any(line.startswith("PASSED") for line in junit(3, [forged, unstarted]).splitlines())
