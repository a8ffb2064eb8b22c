"""The requests of which every crash point is tried: how each is prepared, sent, and looked up afterwards."""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import text

from tests.support.conversations import RecordedCall, RecordedTurn, export
from tests.support.world import World

BEGAN_NS = 1_760_000_000_000_000_000
TURNS = [RecordedTurn(f"Question {n}", f"Answer {n}", (RecordedCall("look_up", {"n": n}, "here"),)) for n in range(3)]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    json: Any = None
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def sent_by(self, world: World) -> dict[str, Any]:
        """The request as JSON, with the key of the world."""
        body = b64encode(self.body).decode() if self.body else None
        headers = world.headers | self.headers | ({"Content-Type": "application/json"} if self.body else {})
        return {"method": self.method, "path": self.path, "json": self.json, "body": body, "headers": headers}


class Sent(Protocol):
    def sent_by(self, world: World) -> dict[str, Any]:
        """Return it as JSON for the victim."""
        ...


State = dict[str, Any]
"""What is stored of an operation, without ids and times that differ between two worlds."""


@dataclass(frozen=True)
class Operation:
    """`prepare` returns what the victim is sent, `state` what is stored.

    `again`: a request is sent again after the crash. A run is not: the clock ends it after a minute without a
    heartbeat, and who sends it again waits for that. `settle` does what the clock and the workers do with work after a
    crash. `is_whole` is False for work of several transactions, which a crash may leave between two of them;
    `is_accepted` for work that no row asks for until it has begun.
    """

    prepare: Callable[[World], Sent]
    state: Callable[[World], State]
    again: bool = False
    settle: Callable[[World], None] | None = None
    is_whole: bool = True
    is_accepted: bool = True


def store(world: World, batch: bytes) -> None:
    """Store a batch in this process, which has no workers: those of the victim do its work."""
    assert world.container.services.ingest.store(world.project_id, batch).outcome == "stored"


def _batch(prompt_id: int) -> bytes:
    return export(prompt_id, "c", TURNS, start_ns=BEGAN_NS)


def _traces(world: World) -> Request:
    return Request("POST", "/api/public/otel/v1/traces", body=_batch(world.prompt()))


def _resent(world: World) -> Request:
    request = _traces(world)
    store(world, request.body or b"")
    return request


def _partly_stored(world: World) -> Request:
    prompt_id = world.prompt()
    store(world, export(prompt_id, "c", TURNS[:2], start_ns=BEGAN_NS))
    return Request("POST", "/api/public/otel/v1/traces", body=_batch(prompt_id))


def _spans(world: World) -> State:
    listed = world.get("/api/v1/sessions").json["sessions"]
    shown = [world.get(f"/api/v1/sessions/{row['id']}").json for row in listed]
    return {
        "spans": world.count("spans"),
        "turns": [[turn["user"], len(turn["steps"])] for session in shown for turn in session["turns"]],
        "sums": [[row["turns"], row["toolCalls"], row["errors"]] for row in listed],
    }


def new_prompt(world: World) -> int:
    prompt_id: int = world.post("/api/v1/prompts", json={"name": "A", "value": "One."}).json["prompt"]["id"]
    return prompt_id


def _prompt(world: World) -> str:
    return f"/api/v1/prompts/{new_prompt(world)}"


def _commit(world: World) -> Request:
    path = _prompt(world)
    assert world.patch(path, json={"value": "Two."}).status_code < 300
    return Request("POST", f"{path}/commit", json={"message": "second"})


def _change(world: World) -> Request:
    return Request("PATCH", _prompt(world), json={"value": "Two.", "placeholders": []})


def _label(world: World) -> Request:
    path = _prompt(world)
    commit_hash = world.get(path).json["commitHash"]
    return Request("PUT", f"{path}/labels/production", json={"commitHash": commit_hash})


def _prompts(world: World) -> State:
    prompts = [world.get(f"/api/v1/prompts/{row['id']}").json for row in world.get("/api/v1/prompts").json["prompts"]]
    return {
        "drafts": [prompt["value"] for prompt in prompts],
        "versions": [
            [version["message"] for version in world.get(f"/api/v1/prompts/{prompt['id']}/versions").json["versions"]]
            for prompt in prompts
        ],
        "labels": [
            [label["label"] for label in world.get(f"/api/v1/prompts/{prompt['id']}/labels").json["labels"]]
            for prompt in prompts
        ],
        "audited": audited(world),
    }


def audited(world: World) -> list[str]:
    statement = text("SELECT action FROM audit_log WHERE project_id = :id ORDER BY id")
    with world.container.database.read() as connection:
        return list(connection.scalars(statement, {"id": world.project_id}))


def _run(world: World) -> Request:
    prompt_id = new_prompt(world)
    headers = {"Idempotency-Key": secrets.token_hex(8)}
    return Request("POST", "/api/v1/prompts/run", json={"id": prompt_id, "question": "Well?"}, headers=headers)


def _runs(world: World) -> State:
    return {"runs": world.count("runs")}


def _deletion(world: World) -> Request:
    store(world, _batch(world.prompt()))
    (row,) = world.get("/api/v1/sessions").json["sessions"]
    return Request("DELETE", f"/api/v1/sessions/{row['id']}")


REQUESTS = {
    "a new batch": Operation(_traces, _spans, again=True),
    "a batch that is sent again": Operation(_resent, _spans, again=True),
    "a batch that is stored in part": Operation(_partly_stored, _spans, again=True),
    "a change of a draft": Operation(_change, _prompts, again=True),
    "a commit": Operation(_commit, _prompts, again=True),
    "a label": Operation(_label, _prompts, again=True),
    "a run with an Idempotency-Key": Operation(_run, _runs),
    "a deleted session": Operation(_deletion, _spans, again=True),
}
