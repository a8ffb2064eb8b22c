"""`reprise findings` against an instance with two findings."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from reprise_client.cli import remote
from reprise_client.cli.findings import findings
from reprise_client.cli.remote import Remote

ID = "0f" * 16
FINDING: dict[str, Any] = {
    "id": ID,
    "title": "`ref\u001b[31mund` fails",
    "state": "open",
    "reopened": True,
    "assignee": "ada@example.com",
    "solvedVersion": "4f53a0b1" + "0" * 32,
    "solvedAt": "2026-11-28T02:00:00.000Z",
    "sessions": 1200,
    "share": 0.125,
    "trend": "up",
    "recent": 900,
    "before": 300,
    "cost": 1.5,
}
DETAIL: dict[str, Any] = {
    "finding": FINDING,
    "sessionIds": ["a1", "b2"],
    "testCases": [{"testCaseId": 5, "name": "Refund", "class": "regressed"}],
    "experimentId": 9,
    "verdict": None,
}


class Instance:
    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else dict(request.url.params)
        self.asked.append((request.method, request.url.path, body))
        if request.url.path.endswith("/findings"):
            other = FINDING | {"state": "in_work", "reopened": False, "assignee": None, "title": "An error"}
            return httpx.Response(200, json={"findings": [FINDING, other], "more": 3, "unread": 1})
        return httpx.Response(200, json=DETAIL)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, Instance]:
    instance = Instance()
    connected = Remote("http://reprise", "rp_key", transport=httpx.MockTransport(instance), sleep=lambda _: None)
    monkeypatch.setattr(remote, "connect", lambda _url, _key: connected)
    answer = CliRunner().invoke(
        findings, [*arguments, "--prompt", "3", "--url", "http://reprise", "--api-key", "rp_key"]
    )
    return answer.exit_code, answer.output, instance


def test_a_list_has_a_line_for_each_finding_and_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    code, output, instance = run(monkeypatch, "list", "--state", "open", "--days", "7")
    assert code == 0
    assert "\u001b" not in output
    first, second, more, unread = output.splitlines()
    assert first.startswith(f"{ID}\treopened, ada@example.com\t1,200 (12.5%, up)\t")
    assert second == f"{ID}\tin_work\t1,200 (12.5%, up)\tAn error"
    assert (more, unread) == ("3 more have fewer sessions.", "1 sessions were not read.")
    assert instance.asked == [("GET", "/api/v1/prompts/3/findings", {"days": "7", "state": "open"})]


def test_a_finding_is_shown_with_its_sessions_and_test_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    code, output, _ = run(monkeypatch, "show", ID)
    assert code == 0
    assert "Last 7 days: 900; the 7 days before: 300; cost $1.5" in output
    assert "Solved by version 4f53a0b10000 at 2026-11-28" in output
    assert "Test case 5 Refund: regressed\nExperiment 9: not decided\nSession a1\nSession b2\n" in output


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (("--state", "solved", "--solved-version", "4f53"), {"state": "solved", "solvedVersion": "4f53"}),
        (("--assignee", "ada@example.com"), {"assignee": "ada@example.com"}),
        (("--assignee", "", "--state", "open"), {"state": "open", "assignee": None}),
    ],
)
def test_a_change_sends_what_is_named(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], body: dict[str, Any]
) -> None:
    code, output, instance = run(monkeypatch, "change", ID, *arguments)
    assert (code, output.split("\t")[0]) == (0, ID)
    assert instance.asked == [("PATCH", f"/api/v1/prompts/3/findings/{ID}", body)]


def test_a_change_of_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, instance = run(monkeypatch, "change", ID)
    assert code != 0
    assert instance.asked == []


def test_each_command_prints_the_answer_of_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    _, output, _ = run(monkeypatch, "show", ID, "--json")
    assert json.loads(output) == DETAIL
