"""`reprise schedules` against an instance with two schedules."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from reprise_client.cli import remote
from reprise_client.cli.remote import Remote
from reprise_client.cli.schedules import run_lines, schedules, watch_lines

NIGHTLY: dict[str, Any] = {
    "id": 3,
    "kind": "watch",
    "cron": "0 3 * * *",
    "timezone": "Europe/Berlin",
    "suite": None,
    "enabled": True,
    "nextDueAt": "2026-11-29T02:00:00.000Z",
}
PAUSED = NIGHTLY | {"id": 4, "suite": "re\u001b[31mlease", "enabled": False, "nextDueAt": None}
RUN: dict[str, Any] = {
    "dueAt": "2026-11-28T02:00:00.000Z",
    "missed": 0,
    "experimentId": 9,
    "status": "finished",
    "verdict": "failed",
    "reason": None,
    "played": 20,
    "passed": 15,
    "dropped": 1,
}
WATCH: dict[str, Any] = {
    "since": "2026-11-01T02:00:00.000Z",
    "commitHash": "4f53a0b1" + "0" * 32,
    "models": ["gpt-4o-2024-08-06"],
    "testCases": [
        {
            "testCaseId": 5,
            "variant": 1,
            "name": "Book\u001b[31m",
            "state": "dropped",
            "referencePassed": 95,
            "referenceFailed": 5,
            "sincePassed": 20,
            "sinceFailed": 10,
            "changes": [{"text": "Answers are in Ger\u001b[31mman in 3 of 30 replays, in the reference in 0 of 300."}],
        }
    ],
}


class Instance:
    """Answers, and keeps the bodies that it gets."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.method != "GET":
            self.sent.append((request.method, path, json.loads(request.content or b"null")))
        if request.method == "DELETE":
            return httpx.Response(204)
        if request.method == "PATCH":
            return httpx.Response(200, json=PAUSED)
        if request.method == "POST":
            return httpx.Response(201, json=NIGHTLY)
        if path.endswith("/reference"):
            return httpx.Response(200, json=WATCH)
        if path.endswith("/runs"):
            return httpx.Response(200, json={"runs": [RUN]})
        return httpx.Response(200, json={"schedules": [NIGHTLY, PAUSED]})


def run(monkeypatch: pytest.MonkeyPatch, instance: Instance, *arguments: str) -> tuple[int, str]:
    connected = Remote("http://reprise", "rp_key", transport=httpx.MockTransport(instance), sleep=lambda _: None)
    monkeypatch.setattr(remote, "connect", lambda _url, _key: connected)
    result = CliRunner().invoke(schedules, [*arguments, "--url", "http://reprise", "--api-key", "rp_key"])
    return result.exit_code, result.output


def test_schedules_are_listed_without_hidden_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    code, output = run(monkeypatch, Instance(), "list", "--prompt", "1")
    assert (code, "\u001b" in output) == (0, False)
    first, second = output.splitlines()
    assert first == "3\twatch\t0 3 * * * Europe/Berlin\tall test cases\t2026-11-29T02:00:00.000Z"
    assert (second.startswith("4\t"), second.endswith("\tpaused")) == (True, True)


def test_a_schedule_is_made_with_the_named_options_only(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance()
    options = ("--kind", "watch", "--timezone", "Europe/Berlin", "--max-cost", "0.5")
    code, output = run(monkeypatch, instance, "add", "0 3 * * *", "--prompt", "1", *options)
    assert (code, output) == (0, "Schedule 3 is due next at 2026-11-29T02:00:00.000Z.\n")
    body = {"cron": "0 3 * * *", "kind": "watch", "timezone": "Europe/Berlin", "maxCost": 0.5}
    assert instance.sent == [("POST", "/api/v1/prompts/1/schedules", body)]


@pytest.mark.parametrize(("command", "enabled"), [("pause", False), ("resume", True)])
def test_a_schedule_is_paused_and_resumed(monkeypatch: pytest.MonkeyPatch, command: str, enabled: bool) -> None:
    instance = Instance()
    assert run(monkeypatch, instance, command, "4")[0] == 0
    assert instance.sent == [("PATCH", "/api/v1/schedules/4", {"enabled": enabled})]


def test_a_schedule_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance()
    assert run(monkeypatch, instance, "delete", "4") == (0, "Deleted schedule 4\n")
    assert [sent[:2] for sent in instance.sent] == [("DELETE", "/api/v1/schedules/4")]


def test_the_history_names_verdicts_and_what_was_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, Instance(), "history", "3") == (
        0,
        f"{RUN['dueAt']}\tfailed\texperiment 9\t15 of 20 passed, 1 dropped\n",
    )
    none: dict[str, Any] = {"played": None, "experimentId": None, "status": None, "verdict": None}
    refused = RUN | none | {"reason": "The suite is gone.", "missed": 2}
    deleted = RUN | {"played": None, "status": None, "verdict": None}
    assert list(run_lines([refused, deleted])) == [
        f"{RUN['dueAt']}\tnot started\tThe suite is gone.\t2 missed before",
        f"{RUN['dueAt']}\tdeleted\texperiment 9",
    ]


def test_a_watch_shows_what_dropped_and_begins_a_new_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    code, output = run(monkeypatch, Instance(), "watch", "3")
    assert (code, "\u001b" in output) == (0, False)
    first, second, third = output.splitlines()
    assert first.endswith("version 4f53a0b1; the vendor reported gpt-4o-2024-08-06")
    assert second.startswith("dropped\t95 of 100 before\t20 of 30 since\tBook")
    assert second.endswith(", variant 1")
    assert third.startswith("warning\tAnswers are in Ger")
    assert "in the reference in 0 of 300. It has not been checked whether that matters.\tBook" in third
    instance = Instance()
    assert run(monkeypatch, instance, "new-reference", "3") == (0, "The next run begins a new reference.\n")
    assert [sent[:2] for sent in instance.sent] == [("DELETE", "/api/v1/schedules/3/reference")]
    assert list(watch_lines({"since": None})) == ["The next run begins the reference."]


COVERED: dict[str, Any] = {
    "dueAt": "2026-11-28T02:00:00.000Z",
    "missed": 2,
    "sessions": 1200,
    "coverage": 0.714,
    "new": 3,
    "isLow": True,
}


def test_a_run_of_coverage_has_its_share() -> None:
    few = COVERED | {"sessions": 3, "coverage": None, "new": 0, "isLow": False, "missed": 0}
    assert [*run_lines([COVERED, few])] == [
        "2026-11-28T02:00:00.000Z\ttoo low\t71.4% of 1,200 sessions, 3 new\t2 missed before",
        "2026-11-28T02:00:00.000Z\tunknown\tno share of 3 sessions, 0 new",
    ]


def test_a_coverage_is_scheduled_with_its_least_share(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance()
    options = ("--kind", "suite-coverage", "--suite", "release", "--min-coverage", "0.8")
    assert run(monkeypatch, instance, "add", "0 7 * * 1", "--prompt", "3", *options)[0] == 0
    ((_, _, body),) = instance.sent
    assert (body["kind"], body["minCoverage"], "repeats" in body) == ("suite-coverage", 0.8, False)
