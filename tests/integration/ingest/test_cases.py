"""Each batch of tests/data/ingest_cases becomes the sessions that the case names, however the batch arrives.

`still_wrong.txt` lists the cases that are read wrongly. A mended case needs its line removed there.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import protobuf
from tests.support.ingest_cases import Case, cases, read_wrongly
from tests.support.world import World

CASES = cases()
STILL_WRONG = read_wrongly()
STILL = pytest.mark.xfail(reason="read wrongly", strict=True, raises=AssertionError)
TOKENS = ("inputTokens", "outputTokens")


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=STILL if case.name in STILL_WRONG else ()) for case in CASES],
)
def test_a_batch_becomes_the_sessions_that_its_sender_meant(world: World, case: Case) -> None:
    read = [read_back(world, case, send(world, case)) for send in (send_at_once, send_in_pieces)]
    assert read == [case.sessions, case.sessions]


def test_the_cases_that_are_still_wrong_exist() -> None:
    assert {case.name for case in CASES} >= STILL_WRONG


def send_at_once(world: World, case: Case) -> int:
    """Everything in one batch of JSON."""
    prompt_id, sent = world.prompt(), case.sent()
    post(world, case, prompt_id, "traces", json.dumps(sent.at_once()).encode(), "application/json")
    if sent.records:
        body = json.dumps(records_of(sent.records)).encode()
        post(world, case, prompt_id, "logs", body, "application/json")
    return prompt_id


def send_in_pieces(world: World, case: Case) -> int:
    """Each span in a batch of protobuf, the last one first, and each batch twice; log records before the spans."""
    prompt_id, sent = world.prompt(), case.sent()
    for record in sent.records:
        post(world, case, prompt_id, "logs", protobuf.logs(records_of([record])))
    for batch in sent.in_pieces():
        for _ in range(2):
            post(world, case, prompt_id, "traces", protobuf.traces(batch))
    return prompt_id


def records_of(records: list[dict[str, Any]]) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"scope": {"name": "test"}, "logRecords": records}]}]}


def post(
    world: World, case: Case, prompt_id: int, signal: str, body: bytes, media_type: str = "application/x-protobuf"
) -> None:
    headers = {"Content-Type": media_type} | case.headers(world.key)
    answer = world.post(f"/api/public/prompts/{prompt_id}/otel/v1/{signal}", body=body, headers=headers)
    assert answer.status_code == 200, answer.text


def read_back(world: World, case: Case, prompt_id: int) -> list[dict[str, Any]]:
    """The sessions of the prompt, each with the keys that the case names. All places that show totals must agree."""
    headers = case.headers(world.key)
    answer = world.get(f"/api/v1/sessions?promptId={prompt_id}", headers=headers)
    assert answer.status_code == 200, answer.text
    rows = sorted(answer.json["sessions"], key=lambda row: str(row["startedAt"]))
    wanted: list[dict[str, Any]] = case.sessions + [{"turns": []}] * len(rows)
    shown = [world.get(f"/api/v1/sessions/{row['id']}", headers=headers).json for row in rows]
    check_totals(world, prompt_id, rows, shown)
    return [session_of(*session) for session in zip(shown, rows, wanted, strict=False)]


def check_totals(world: World, prompt_id: int, rows: list[Any], shown: list[Any]) -> None:
    sums = [tokens(session["usage"]) for session in shown]
    assert [tokens(row["usage"]) for row in rows] == sums, "the list and the session have other tokens"
    assert [row["cost"] for row in rows] == pytest.approx([total_cost(session) for session in shown])
    log = {entry["id"]: entry for entry in world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]}
    assert [tokens(log[row["id"]]["usage"]) for row in rows] == sums, "the log and the session have other tokens"
    observed = world.get(f"/api/v1/usage/observed?promptId={prompt_id}&from=2026-11-01&to=2026-11-30").json["total"]
    counted = [observed["tokens"]["prompt"], observed["tokens"]["completion"]]
    assert counted == [sum(column) for column in zip(*sums, strict=True)] or not sums


def total_cost(session: dict[str, Any]) -> float | None:
    return session["cost"] and session["cost"]["total"]


def tokens(usage: dict[str, int]) -> list[int]:
    return [usage[name] for name in TOKENS]


def session_of(shown: dict[str, Any], row: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    turns = [turn_of(*turn) for turn in zip(shown["turns"], wanted["turns"] + [{}] * len(shown["turns"]), strict=False)]
    session = {"conversationId": shown["conversationId"], "turns": turns}
    if wanted.get("conversationId") == "*":
        session["conversationId"] = "*"
    if "userId" in wanted:
        session["userId"] = shown["userId"]
    if "listed" in wanted:
        session["listed"] = {name: (row | row["usage"])[name] for name in wanted["listed"]}
    return session


def turn_of(shown: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    turn = {
        "user": shown["user"],
        "steps": [step_of(step) for step in shown["steps"]],
        "usage": {name: shown["usage"].get(name, 0) for name in wanted.get("usage", ())},
        "offered": [tool if isinstance(tool, str) else tool["name"] for tool in shown["offeredTools"] or ()],
        "placeholders": shown["placeholders"],
        "warned": warned(shown["warnings"], wanted.get("warned", [])),
    }
    return {name: value for name, value in turn.items() if name in {"user", "steps"} | wanted.keys()}


def warned(warnings: list[str], wanted: list[str]) -> list[str]:
    """The wanted words that the warnings have, or lack where a minus is before them; else the warnings."""
    text = " ".join(warnings).lower()
    right = [word for word in wanted if (word.removeprefix("-") in text) != word.startswith("-")]
    return wanted if warnings and right == wanted else warnings


def step_of(shown: dict[str, Any]) -> list[Any]:
    if shown["kind"] == "answer":
        return ["answer", shown["text"]]
    return ["tool", *(shown[name] for name in ("name", "arguments", "result", "error"))]
