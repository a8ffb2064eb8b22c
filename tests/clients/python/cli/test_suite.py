"""`reprise suite` against an instance with one suite and three proposed sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from reprise_client.cli import remote
from reprise_client.cli.remote import Remote
from reprise_client.cli.suite import coverage_lines, suite

PICK: dict[str, Any] = {"preview": "Where\nis \u001b[31mit?", "share": 0.25, "reason": "2 of 4 sessions call `x`."}
PROPOSAL: dict[str, Any] = {
    "summary": "1 session represents 50 % of what happened in 4 sessions.",
    "picks": [{**PICK, "sessionId": f"s{n}", "correctFirst": n == 1} for n in range(25)],
    "passedOver": 1,
    "unread": 0,
    "cut": False,
    "gateCost": {"min": 0.5, "max": 5.0},
}
COVERAGE: dict[str, Any] = {
    "share": 0.7,
    "weeks": [
        {"begins": "2026-11-16", "share": None, "sessions": 0},
        {"begins": "2026-11-23", "share": 0.7, "sessions": 1},
    ],
    "new": [{"sentence": "18 % call `cancel`; no test does.", "sessionId": "s9"}],
    "obsolete": [{"testCaseId": 4, "name": "Old", "reason": "No session calls `x`."}],
    "removable": [],
}


class Instance:
    """Answers, and keeps the requests with a body."""

    def __init__(self, left_out: list[dict[str, str]]) -> None:
        self.left_out = left_out
        self.posted: list[tuple[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.method == "POST":
            self.posted.append((path, json.loads(request.content or b"null")))
        if path.endswith("/suites"):
            return httpx.Response(200, json={"suites": [{"id": 3, "name": "release", "testCases": 2}]})
        if path.endswith("/suite-proposals"):
            return httpx.Response(200, json=PROPOSAL)
        if path.endswith("/coverage"):
            return httpx.Response(200, json=COVERAGE)
        made = {"id": 3, "testCases": [{"calibrationId": None}] * 21}
        return httpx.Response(200, json={"suite": made, "leftOut": self.left_out} if "accept" in path else made)


def run(monkeypatch: pytest.MonkeyPatch, instance: Instance | Shelf, *arguments: str) -> tuple[int, str]:
    connected = Remote("http://reprise", "rp_key", transport=httpx.MockTransport(instance), sleep=lambda _: None)
    monkeypatch.setattr(remote, "connect", lambda _url, _key: connected)
    result = CliRunner().invoke(suite, [*arguments, "--url", "http://reprise", "--api-key", "rp_key", "--prompt", "1"])
    return result.exit_code, result.output


def test_a_proposal_has_a_line_and_a_reason_for_each_session(monkeypatch: pytest.MonkeyPatch) -> None:
    code, output = run(monkeypatch, Instance([]), "propose")
    lines = output.splitlines()
    assert (code, lines[0]) == (0, PROPOSAL["summary"])
    assert lines[1].startswith("  1. s0  +25.0%  Where is ")
    assert "\u001b" not in output
    assert "correct it first" in lines[3]
    assert lines[-1].startswith("One gate would cost about $0.50 to $5.00")


def test_accepting_sends_the_picks_some_at_a_time_and_calibrates_all(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance([])
    code, output = run(monkeypatch, instance, "accept", "release")
    asked, *accepted = [body for path, body in instance.posted if "calibrations" not in path]
    assert (code, asked["suite"]) == (0, "release")
    assert [len(body["picks"]) for body in accepted] == [20, 5]
    assert sum("calibrations" in path for path, _ in instance.posted) == 2
    assert "Calibrating 21 test cases" in output


def test_left_out_sessions_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance([{"sessionId": "s1", "message": "Correct it first."}])
    code, output = run(monkeypatch, instance, "accept", "release", "s1", "s1", "--no-calibrate")
    assert (code, "Left out s1: Correct it first." in output) == (1, True)
    assert instance.posted[-1][1] == {"name": "release", "picks": [{"sessionId": "s1"}]}


def test_sessions_that_are_left_for_a_later_request_are_accepted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance([{"sessionId": "s2", "why": "later", "message": "Accept it again."}])
    code, output = run(monkeypatch, instance, "accept", "release", "s1", "s2", "--no-calibrate")
    picks = [[pick["sessionId"] for pick in body["picks"]] for path, body in instance.posted if "accept" in path]
    assert (code, picks, "Left out" in output) == (0, [["s1", "s2"], ["s2"]], False)


def test_coverage_is_printed_by_week() -> None:
    assert list(coverage_lines(COVERAGE)) == [
        "2026-11-16        -  0 sessions",
        "2026-11-23    70.0%  1 session",
        "New: 18 % call `cancel`; no test does. See session s9.",
        "Obsolete: 4 Old. No session calls `x`.",
    ]


@pytest.mark.parametrize(("least", "code"), [("0.6", 0), ("0.8", 1)])
def test_too_little_coverage_is_an_exit_code(monkeypatch: pytest.MonkeyPatch, least: str, code: int) -> None:
    assert run(monkeypatch, Instance([]), "coverage", "release", "--min", least)[0] == code


def test_an_unknown_suite_could_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    code, output = run(monkeypatch, Instance([]), "coverage", "nightly")
    assert (code, "no suite 'nightly'" in output) == (2, True)


class Shelf:
    """A project with test cases and suites, each by its id."""

    def __init__(self) -> None:
        self.cases: dict[int, Any] = {}
        self.suites: dict[int, dict[str, Any]] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path, body = request.url.path, json.loads(request.content or b"null")
        if path.endswith("/test-cases/import"):
            id_ = next((id_ for id_, known in self.cases.items() if known["name"] == body["name"]), len(self.cases) + 1)
            self.cases[id_] = body
            return httpx.Response(201, json={"id": id_, "name": body["name"]})
        if path.endswith("/export"):
            return httpx.Response(200, json=self.cases[int(path.split("/")[-2])])
        if path.endswith("/suites") and request.method == "GET":
            return httpx.Response(200, json={"suites": [*self.suites.values()]})
        id_ = len(self.suites) + 1 if path.endswith("/suites") else int(path.split("/")[4])
        shown = self.suites.setdefault(id_, {"id": id_, "name": (body or {}).get("name"), "testCases": []})
        known = [case["testCaseId"] for case in shown["testCases"]]
        added = dict.fromkeys([*known, *((body or {}).get("testCaseIds", ()))])
        shown["testCases"] = [{"testCaseId": case_id} for case_id in added]
        return httpx.Response(200, json=shown)


def test_a_suite_is_exported_and_imported_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here, there, file = Shelf(), Shelf(), tmp_path / "release.json"
    here.cases = {n: {"format": "reprise-test-case-2", "name": f"Case {n}", "testCase": {"n": n}} for n in (1, 2)}
    here.suites = {7: {"id": 7, "name": "release", "testCases": [{"testCaseId": 2}, {"testCaseId": 1}]}}
    code, output = run(monkeypatch, here, "export", "release", str(file))
    assert (code, output) == (0, f"{file}: 2 test cases\n")
    written = file.read_bytes()

    for _ in range(2):
        code, output = run(monkeypatch, there, "import", str(file))
        assert (code, output) == (0, "The suite release has 2 test cases.\n")
    assert [case["name"] for case in there.cases.values()] == ["Case 2", "Case 1"]
    assert run(monkeypatch, there, "export", "release", str(file))[0] == 0
    assert file.read_bytes() == written
    assert run(monkeypatch, there, "import", str(file), "--name", "nightly")[0] == 0
    assert [row["name"] for row in there.suites.values()] == ["release", "nightly"]


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": "reprise-suite-1", "name": "x", "testCases": []}'])
def test_a_file_that_is_no_suite_could_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    code, output = run(monkeypatch, Shelf(), "import", str(file))
    assert (code, "is no suite" in output) == (2, True)
