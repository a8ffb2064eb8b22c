"""The things that people work with, made by the API and full of markup: versions, a run, a test case, a replay."""

from __future__ import annotations

import time
from typing import Any

from tests.support import conversations
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.http_client import Client
from tests.support.waiting import wait_until

LOST = RecordedCall("close_order", {"reason": "It was refunded to the customer"}, {"closed": True})
ONE_OF = {"match": "one_of", "values": ["A-1", "A-2"]}


def seed_work(client: Client, prompt_id: int, session_id: str, text: str) -> dict[str, Any]:
    """Ids by what they are of, and a version's hash; each page shows `text`."""
    values = [{"name": text, "content": text, "isDefault": True}, {"name": "plain", "content": "you"}]
    changed = {
        "value": f"# Role\n{{{{name}}}}\n{text}",
        "placeholders": [{"key": "name", "description": text, "values": values}],
        "languageModelConfig": {"tools": [{"name": "get_order", "description": text}], "stop": [text[:100]]},
        "assertionValue": text,
    }
    assert client.request("PATCH", f"/api/v1/prompts/{prompt_id}", payload=changed).status == 200
    committed = client.post(f"/api/v1/prompts/{prompt_id}/commit", {"message": text})
    run = client.post("/api/v1/prompts/run", {"id": prompt_id, "question": text})
    case = client.post(f"/api/v1/sessions/{session_id}/test-cases", {"name": text[:128]}).json()
    replay = client.post(f"/api/v1/test-cases/{case['id']}/replays").json()
    assert (committed.status, run.status) == (201, 200)
    seed_labels(client, prompt_id)
    wait_until(lambda: ended(client, replay["id"]), "the replay")
    return {
        "run": run.headers["X-Run-Id"],
        "case": case["id"],
        "replay": replay["id"],
        "suite": client.post(f"/api/v1/prompts/{prompt_id}/suites", _suite(text, case["id"])).json()["id"],
        **dict(zip(("prompt_of_finding", "finding"), seed_findings(client, text, count=1), strict=True)),
        "map": client.post(f"/api/v1/prompts/{prompt_id}/guard-maps", {"detect": 0.9}).json()["id"],
        "schedule": client.post(
            f"/api/v1/prompts/{prompt_id}/schedules", {"cron": "0 3 * * *", "kind": "watch"}
        ).json()["id"],
        "audit": client.post(f"/api/v1/prompts/{prompt_id}/judge-audits", {"probes": 2}).json()["id"],
        "calibration": client.post(f"/api/v1/test-cases/{case['id']}/calibrations").json()["id"],
        "experiment": experimented(client, prompt_id),
        "version": committed.json()["commitHash"],
        "program": seed_program(client, case["id"], text),
        **seed_violations(client, text),
    }


def seed_findings(client: Client, text: str, *, count: int) -> tuple[int, str]:
    """Send sessions in which a tool fails to a new prompt, and return the ids of the prompt and of their finding."""
    prompt_id = client.post("/api/v1/prompts", {"name": text, "value": text}).json()["prompt"]["id"]
    asked = RecordedTurn(text, text, (RecordedCall(text[:60], {}, None, error=text),))
    for number in range(count):
        batch = conversations.export(prompt_id, f"{text} {number}", (asked,), start_ns=time.time_ns() - 10**10)
        client.request("POST", "/api/public/otel/v1/traces", body=batch, headers={"Content-Type": "application/json"})
    path = f"/api/v1/prompts/{prompt_id}/findings"

    def found() -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = client.get(path).json()["findings"]
        return [finding for finding in listed if finding["sessions"] == count]

    wait_until(found, "the finding")
    return prompt_id, found()[0]["id"]


def _suite(text: str, test_case_id: int) -> dict[str, Any]:
    return {"name": text[:100], "testCaseIds": [test_case_id]}


def seed_labels(client: Client, prompt_id: int) -> None:
    """Make labels in each of their states: moved, split and guarded."""
    versions = client.get(f"/api/v1/prompts/{prompt_id}/versions").json()["versions"]
    newest, oldest = versions[0]["commitHash"], versions[-1]["commitHash"]
    path = f"/api/v1/prompts/{prompt_id}/labels"
    for label, commit_hash, more in (
        ("staging", oldest, {}),
        ("staging", newest, {}),
        ("production", oldest, {}),
        ("production", newest, {"share": 0.125, "guarded": True}),
    ):
        assert client.request("PUT", f"{path}/{label}", payload={"commitHash": commit_hash, **more}).status == 200


def seed_violations(client: Client, text: str) -> dict[str, Any]:
    """{failing, failing_case, failing_experiment}: a replay that breaks rules, of a test case with rules of all kinds.

    The builtin `demo-agent` calls each tool of the draft once.
    """
    tools = [{"name": name, "description": text} for name in ("get_order", "refund_order", "send_mail")]
    prompt = {"name": text, "value": text, "languageModelName": "demo-agent", "languageModelConfig": {"tools": tools}}
    prompt_id = client.post("/api/v1/prompts", prompt).json()["prompt"]["id"]
    asked = RecordedTurn(text, f"{text} 40.00 EUR", (RecordedCall("get_order", {}, {"total": text}), LOST))
    batch = conversations.export(prompt_id, text, (asked,), start_ns=1_760_000_000_000_000_000)
    client.request("POST", "/api/public/otel/v1/traces", body=batch, headers={"Content-Type": "application/json"})
    (entry,) = client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
    rules = {
        "send_mail": {"never": True, "arguments": {"/body": "facts"}},
        "get_order": {"maxCalls": 3, "onMissing": "static", "result": text, "arguments": {"/q": ONE_OF}},
    }
    case = client.post(f"/api/v1/sessions/{entry['id']}/test-cases", {"name": text[:128], "tools": rules}).json()
    replay = client.post(f"/api/v1/test-cases/{case['id']}/replays").json()
    wait_until(lambda: ended(client, replay["id"]), "the replay")
    found = client.get(f"/api/v1/replays/{replay['id']}").json()["violations"]
    assert {each["kind"] for each in found} == {"extra_write", "lost_tool", "never"}
    failing = experimented(client, prompt_id, languageModelNames=["echo"])
    return {"failing": replay["id"], "failing_case": case["id"], "failing_experiment": failing}


def seed_program(client: Client, test_case_id: int, text: str) -> int:
    """Return the id of the replay of a program, which was asked once and then cancelled."""
    candidate = {"external": {"name": text[:100], "revision": text[:40], "dirty": True}}
    started = client.post(f"/api/v1/test-cases/{test_case_id}/replays", {"candidate": candidate}).json()
    path = f"/api/v1/replays/{started['id']}"
    assert client.post(f"{path}/turns").status == 200
    assert client.post(f"{path}/cancel").status == 200
    return int(started["id"])


def experimented(client: Client, prompt_id: int, **body: Any) -> int:
    """The id of an experiment that has ended."""
    path = client.post(f"/api/v1/prompts/{prompt_id}/experiments", {"detect": 0.7, **body}).headers["Location"]
    wait_until(lambda: client.get(path).json()["finishedAt"], "the experiment")
    return int(path.rpartition("/")[2])


def ended(client: Client, replay_id: int) -> bool:
    return client.get(f"/api/v1/replays/{replay_id}").json()["status"] not in ("queued", "running")
