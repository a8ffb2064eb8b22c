"""What people work with, made by the API and full of markup: versions, a run, a test case, a replay."""

from __future__ import annotations

from typing import Any

from tests.support.http_client import Client
from tests.support.waiting import wait_until


def seed_work(client: Client, prompt_id: int, session_id: str, text: str) -> dict[str, Any]:
    """{run, case, replay, version} ids and the hash; each page of them shows `text`."""
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
    wait_until(lambda: ended(client, replay["id"]), "the replay", 30)
    return {
        "run": run.headers["X-Run-Id"],
        "case": case["id"],
        "replay": replay["id"],
        "version": committed.json()["commitHash"],
    }


def ended(client: Client, replay_id: int) -> bool:
    return client.get(f"/api/v1/replays/{replay_id}").json()["status"] not in ("queued", "running")
