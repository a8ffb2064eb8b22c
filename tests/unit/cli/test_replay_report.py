from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from app.cli.remote import Outcome
from app.cli.replay_report import as_json, details, exit_code, headline, junit

COUNTS = {"passed": 0, "failed": 0, "ignored": 0, "not_run": 0, "needs_review": 0}


def outcome(status: str, *steps: dict[str, Any], name: str = "Heat", **more: Any) -> Outcome:
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
    return Outcome(1, name, replay)


PASSED = outcome("passed", {"kind": "answer", "result": "passed"})
FAILED = outcome(
    "failed",
    {
        "kind": "tool_call",
        "result": "failed",
        "reason": "weather was called with other arguments",
        "diff": [{"path": "/city", "expected": "Rome", "actual": "Romeo"}, {"path": "/unit", "actual": "C"}],
    },
)
UNSTARTED = Outcome(1, "Heat", None, "the instance is gone")


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([PASSED, PASSED], 0),
        ([PASSED, FAILED], 1),
        ([outcome("needs_review")], 1),
        ([FAILED, outcome("error")], 2),
        ([outcome("cancelled")], 2),
        ([PASSED, UNSTARTED], 2),
    ],
)
def test_the_exit_code_says_whether_the_draft_holds(outcomes: list[Outcome], code: int) -> None:
    assert exit_code(outcomes) == code


def test_the_line_of_a_replay_says_what_it_found_and_took() -> None:
    assert headline(PASSED) == "PASSED       Heat · 1 passed · 2.5 s · $0.000420"
    assert headline(UNSTARTED) == "ERROR        Heat"


def test_a_failed_step_shows_both_sides_of_each_difference() -> None:
    assert list(details(FAILED)) == [
        "  turn 0, step 0 (tool_call) failed: weather was called with other arguments",
        "    at /city:",
        '      - "Rome"',
        '      + "Romeo"',
        "    at /unit:",
        "      - (absent)",
        '      + "C"',
    ]


def test_long_texts_differ_line_by_line() -> None:
    diff = [{"path": "", "expected": "One\nTwo\nThree", "actual": "One\n2\nThree"}]
    lines = list(details(outcome("failed", {"kind": "answer", "result": "failed", "diff": diff})))

    assert lines[3:] == ["    @@ -1,3 +1,3 @@", "     One", "    -Two", "    +2", "     Three"]


def test_what_passed_says_no_more_and_what_could_not_run_says_why() -> None:
    assert list(details(PASSED)) == []
    assert list(details(UNSTARTED)) == ["  the instance is gone"]
    drifted = outcome("passed", drift={"placeholders": {"tone": "stern"}, "tools": ["gone"]})
    assert [line.split("'")[1] for line in details(drifted)] == ["stern", "gone"]


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
