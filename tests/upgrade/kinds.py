"""Data of each kind that release 0.1.0 stores, made through its API."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import full_project
from tests.support.conversations import RecordedCall, RecordedTurn, export
from tests.support.releases import Release
from tests.support.remote_project import RemoteProject

# Release 0.1.0 counted the tokens of calls twice that two instrumentations recorded.
COUNTED_TWICE = ("nan.tools_parallel.1.json", "ptlh.tools_parallel.1.json")
# The prompts that the recorded spans name.
RECORDED_PROMPTS = ("4242", "4243")
START_NS = 1_760_000_000_000_000_000
UNUSUAL = 'Grüße 🦕\t<b>bold</b> & "quoted" {{no placeholder}} \u2028 end'
LONG = "A long answer has many words. " * 2_000


@dataclass(frozen=True)
class Used:
    """What was made: ids by the names of the routes' parameters, each prompt and session, and the runs with a key."""

    values: dict[str, Any]
    prompts: list[int]
    sessions: list[str]
    keyed_runs: dict[str, int]


def use(project: RemoteProject, release: Release) -> Used:
    """Make data of each kind with a key that may do everything; the spans are those recorded until the release."""
    values = full_project.known_to_the_first_release(project) | full_project.organization(project)
    recorded = _recorded(project, release.root / "tests" / "data" / "otlp")
    edited = _edited(project)
    prompts = [values["prompt_id"], *recorded, edited]
    _organization(project)
    values["vendor"] = "OPENAI"
    keyed = {key: keyed_run(project, edited, key) for key in ("first-key", "second-key")}
    sessions = [entry["id"] for entry in project.get("/api/v1/sessions?limit=100").json["sessions"]]
    _scored(project, sessions)
    return Used(values, prompts, sessions, keyed)


def keyed_run(project: RemoteProject, prompt_id: int, key: str) -> int:
    """Return the run of an `Idempotency-Key`."""
    asked = {"id": prompt_id, "question": f"{UNUSUAL} {key}"}
    answer = project.ask("POST", "/api/v1/prompts/run", json=asked, headers={"Idempotency-Key": key})
    assert answer.status_code == 200, answer.text
    return int(answer.headers["X-Run-Id"])


def _recorded(project: RemoteProject, folder: Path) -> list[int]:
    """Store what libraries exported, for two new prompts."""
    prompts = [_prompt(project, f"Recorded {name}") for name in RECORDED_PROMPTS]
    batches = [path for path in sorted(folder.glob("*.[0-9].json")) if path.name not in COUNTED_TWICE]
    for path in batches:
        _send(project, "/api/public/otel/v1/traces", _renamed(path, prompts))
    # These name no prompt.
    for path in sorted(folder.glob("logs/*.json")):
        signal = path.name.split(".")[-2]
        _send(project, f"/api/public/prompts/{prompts[0]}/otel/v1/{signal}", path.read_bytes())
    return prompts


def _renamed(path: Path, prompts: list[int]) -> bytes:
    text = path.read_text()
    for name, prompt_id in zip(RECORDED_PROMPTS, prompts, strict=True):
        text = text.replace(f'"intValue":"{name}"', f'"intValue":"{prompt_id}"')
        text = text.replace(f'"intValue":{name}}}', f'"intValue":{prompt_id}}}')
    return text.encode()


def _send(project: RemoteProject, path: str, body: bytes) -> None:
    answer = project.ask("POST", path, data=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200, answer.text


def _edited(project: RemoteProject) -> int:
    """Make a prompt with three versions, a draft, a label with a split, unusual texts, and its own test case."""
    prompt_id = _prompt(project, UNUSUAL)
    path = f"/api/v1/prompts/{prompt_id}"
    hashes = []
    for text in ("One.", f"Two: {UNUSUAL}", LONG):
        assert project.ask("PATCH", path, json={"value": text}).status_code == 200
        hashes.append(_created(project, f"{path}/commit", {"message": UNUSUAL})["commitHash"])
    label = f"{path}/labels/canary"
    assert project.put(label, json={"commitHash": hashes[0]}).status_code == 200
    assert project.put(label, json={"commitHash": hashes[1], "share": 0.1}).status_code == 200
    assert project.ask("PATCH", path, json={"value": "A draft that is not committed"}).status_code == 200
    called = RecordedTurn(UNUSUAL, LONG, (RecordedCall("look_up", {"id": UNUSUAL}, {"found": [1, None, 2.5]}),))
    failed = RecordedTurn("Again?", "No.", (RecordedCall("look_up", {"id": 2}, error="no such id"),))
    assert project.send(export(prompt_id, UNUSUAL, (called, failed), start_ns=START_NS)).status_code == 200
    case = {"name": UNUSUAL, "question": "Who?", "expectedAnswer": "No one at all."}
    test_case = _created(project, f"{path}/test-cases", case)["id"]
    full_project.replayed(project, test_case)
    return prompt_id


def _organization(project: RemoteProject) -> None:
    policy = {
        "retentionDays": {"spans": 36_000, "rejectedSpans": 36_000},
        "masking": [{"kind": "pattern", "value": "secret-[0-9]+", "replacement": "[gone]"}],
    }
    assert project.put("/api/v1/data-policy", json=policy).status_code == 200
    assert project.put("/api/v1/credentials/OPENAI", json={"apiKey": "sk-0123456789abcdef"}).status_code == 200


def _scored(project: RemoteProject, sessions: list[str]) -> None:
    for number, session in enumerate(sessions[:6]):
        value = (True, 0.25, UNUSUAL[:20])[number % 3]
        score = {"name": f"kind {number % 3}", "value": value, "comment": UNUSUAL, "target": {"sessionId": session}}
        _created(project, "/api/v1/scores", score)


def _prompt(project: RemoteProject, name: str) -> int:
    prompt_id: int = _created(project, "/api/v1/prompts", {"name": name, "value": "Help."})["prompt"]["id"]
    return prompt_id


def _created(project: RemoteProject, path: str, body: dict[str, Any]) -> Any:
    answer = project.post(path, json=body)
    assert answer.status_code == 201, (path, answer.status_code, answer.text)
    return answer.json
