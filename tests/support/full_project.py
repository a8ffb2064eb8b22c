"""A project with one of everything that the API has an address for."""

from __future__ import annotations

from typing import Any, Protocol

from app.models.findings import findings
from app.models.queries import insert_row
from app.suites.findings import Subject
from tests.support.conversations import RecordedTurn, export
from tests.support.waiting import wait_until

# No other project has it, so an answer that has it has leaked.
MARK = "Quetzalcoatlus"
TURNS = (RecordedTurn(f"What is a {MARK}?", f"A {MARK} is a pterosaur."), RecordedTurn("Thanks!", "You are welcome."))
PLACEHOLDER = {"key": "tone", "values": [{"name": "kind", "content": "kind", "isDefault": True}]}


class Answered(Protocol):
    """The parts of an answer that are read here."""

    @property
    def status_code(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def json(self) -> Any: ...
    @property
    def headers(self) -> Any: ...


class Project(Protocol):
    """Speaks to the API as a project: `World`, or a client of a server elsewhere."""

    def get(self, path: str) -> Answered: ...
    def post(self, path: str, *, json: Any) -> Answered: ...
    def put(self, path: str, *, json: Any) -> Answered: ...
    def send(self, batch: bytes) -> Answered: ...


def everything(world: Project) -> dict[str, Any]:
    """The ids, by the names that the parameters of routes have."""
    made = known_to_the_first_release(world)
    prompt = f"/api/v1/prompts/{made['prompt_id']}"
    suite = {"name": MARK, "testCaseIds": [made["test_case_id"]]}
    return made | {
        "suite_id": _made(world, f"{prompt}/suites", suite)["id"],
        "map_id": _worked(world, prompt, "guard-maps", {"detect": 0.9}),
        "schedule_id": _made(world, f"{prompt}/schedules", {"cron": "0 3 * * *", "suite": None})["id"],
        "finding_id": decided(world, made["prompt_id"]),
        "agent": adopted(world),
        "audit_id": _worked(world, prompt, "judge-audits", {"probes": 1}),
        "file": 0,
        "model": "nowhere:generateContent",
    }


def known_to_the_first_release(world: Project) -> dict[str, Any]:
    """As `everything`, of the kinds that release 0.1.0 has."""
    prompt_id = _made(world, "/api/v1/prompts", new_prompt())["prompt"]["id"]
    prompt = f"/api/v1/prompts/{prompt_id}"
    run = world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": MARK})
    assert run.status_code == 200, run.text
    assert world.send(export(prompt_id, MARK, TURNS, start_ns=1_760_000_000_000_000_000)).status_code == 200
    session_id = next(entry["id"] for entry in world.get(f"{prompt}/logs").json["entries"] if entry["type"] == "otel")
    case = _made(world, f"/api/v1/sessions/{session_id}/test-cases", {"name": MARK})
    return {
        "prompt_id": prompt_id,
        "commit_hash": world.get(prompt).json["commitHash"],
        "run_id": int(run.headers["X-Run-Id"]),
        "session_id": session_id,
        "score_id": _made(world, "/api/v1/scores", _score(session_id))["id"],
        "check_id": _made(world, f"{prompt}/online-checks", {"name": MARK, "kind": "contains", "value": MARK})["id"],
        "filter_id": _made(world, "/api/v1/session-filters", _filter(prompt_id))["id"],
        "test_case_id": case["id"],
        "key_id": _made(world, "/api/v1/api-keys", {"name": MARK})["id"],
        "replay_id": replayed(world, case["id"]),
        "calibration_id": _calibrated(world, case["id"]),
        "label": _labelled(world, prompt),
        "experiment_id": _experimented(world, prompt_id),
        "step": 0,
        "turn": 1,
        "text": "user",
        "attribute": 0,
        "kind": "sessions",
    }


def decided(world: Any, prompt_id: int) -> str:
    """Store that somebody works on a finding, and return its id; a server elsewhere has none."""
    subject, container = Subject("score", MARK), getattr(world, "container", None)
    if container:
        row = {"project_id": world.project_id, "prompt_id": prompt_id, "digest": subject.digest, "subject": subject}
        with container.database.write() as connection:
            insert_row(connection, findings, **row, state="in_work", changed_at=container.now())
    return subject.digest.hex()


def adopted(world: Project) -> str:
    """Make an agent of its first trace; its name is `MARK`."""
    chat = {"gen_ai.operation.name": "chat", "gen_ai.system_instructions": f'[{{"type": "text", "content": "{MARK}"}}]'}
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "chat", "startTimeUnixNano": "1760000000000000000"}
    span["endTimeUnixNano"] = "1760000001000000000"
    pairs = [{"key": name, "value": {"stringValue": value}} for name, value in chat.items()]
    batch = {"resourceSpans": [{"scopeSpans": [{"spans": [span | {"attributes": pairs}]}]}]}
    sent = world.post(f"/api/public/agents/{MARK}/otel/v1/traces", json=batch)
    assert sent.status_code == 200, sent.text
    return MARK


def organization(world: Project) -> dict[str, Any]:
    """Make the things of an organization, as `everything`; needs a key with the scope `admin`, and a member."""
    model = {"name": MARK, "baseUrl": f"http://127.0.0.1:9/{MARK}"}
    price = {"model": MARK, "promptPrice": 1, "completionPrice": 2}
    hook = _made(world, "/api/v1/webhooks", {"url": f"https://{MARK}.invalid", "events": ["label.moved"]})
    tested = world.post(f"/api/v1/webhooks/{hook['id']}/test", json={})
    assert tested.status_code == 202, tested.text
    rule = {"metric": "cost", "threshold": 1, "windowMinutes": 1440}
    return {
        "rule_id": _made(world, "/api/v1/alert-rules", rule)["id"],
        "webhook_id": hook["id"],
        "delivery_id": tested.json["id"],
        "vendor": "ANTHROPIC",
        "model_id": _made(world, "/api/v1/models", model)["id"],
        "price_id": _made(world, "/api/v1/model-prices", price)["id"],
        "project_id": _made(world, "/api/v1/projects", {"name": MARK})["id"],
        "invitation_id": _made(world, "/api/v1/invitations", {"email": f"{MARK}@example.org", "role": "viewer"})["id"],
        "user_id": world.get("/api/v1/members").json["members"][0]["userId"],
    }


def new_prompt() -> dict[str, Any]:
    return {"name": MARK, "value": f"Know all about the {MARK}, be {{{{tone}}}}.", "placeholders": [PLACEHOLDER]}


def _score(session_id: str) -> dict[str, Any]:
    return {"id": f"{MARK}-{session_id}", "name": MARK, "value": MARK, "target": {"sessionId": session_id}}


def _filter(prompt_id: int) -> dict[str, Any]:
    return {"name": f"{MARK} {prompt_id}", "filters": {"q": MARK}}


def _labelled(world: Project, prompt: str) -> str:
    body = {"commitHash": world.get(prompt).json["commitHash"]}
    labelled = world.put(f"{prompt}/labels/{MARK}", json=body)
    assert labelled.status_code == 200, labelled.text
    return MARK


def replayed(world: Project, test_case_id: int) -> int:
    accepted = world.post(f"/api/v1/test-cases/{test_case_id}/replays", json={})
    assert accepted.status_code == 202, accepted.text
    replay_id: int = accepted.json["id"]
    wait_until(lambda: world.get(f"/api/v1/replays/{replay_id}").json["finishedAt"], f"replay {replay_id}")
    return replay_id


def _made(world: Project, path: str, body: dict[str, Any]) -> Any:
    made = world.post(path, json=body)
    assert made.status_code == 201, made.text
    return made.json


def _calibrated(world: Project, test_case_id: int) -> int:
    accepted = world.post(f"/api/v1/test-cases/{test_case_id}/calibrations", json={"repeats": 2})
    assert accepted.status_code == 202, accepted.text
    path = accepted.headers["Location"]
    wait_until(lambda: world.get(path).json["status"] not in ("queued", "running"), path)
    calibration_id: int = accepted.json["id"]
    return calibration_id


def _worked(world: Project, prompt: str, kind: str, body: dict[str, Any]) -> int:
    """Start work of a prompt, such as guard maps, and wait for its end; returns its id."""
    accepted = world.post(f"{prompt}/{kind}", json=body)
    assert accepted.status_code == 202, accepted.text
    id_: int = accepted.json["id"]
    wait_until(lambda: world.get(f"/api/v1/{kind}/{id_}").json["finishedAt"], f"{kind} {id_}")
    return id_


def _experimented(world: Project, prompt_id: int) -> int:
    accepted = world.post(f"/api/v1/prompts/{prompt_id}/experiments", json={"detect": 0.9})
    assert accepted.status_code == 202, accepted.text
    path = accepted.headers["Location"]

    def ended() -> bool:
        experiment = world.get(path).json
        # The audit of its judge may end later, and adds a sentence.
        audit = experiment.get("judgeAudit")
        return bool(experiment["finishedAt"]) and (audit is None or audit["sentence"] is not None)

    wait_until(ended, path)
    experiment_id: int = accepted.json["id"]
    return experiment_id
