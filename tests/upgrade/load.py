"""Clients that work while an installation is upgraded. Each repeats a refused request once, after a pause."""

from __future__ import annotations

import http.client
import itertools
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.support.exports import export, span
from tests.support.http_client import Answer
from tests.support.remote_project import RemoteProject
from tests.support.rotation import Rotation
from tests.support.waiting import wait_until

SPANS = 4
PAUSE_S = 0.5
TEMPORARY = {502, 503, 504}
ROUNDS = 3
"""Answers of each kind that `Load.go_on` waits for."""
GIVE_UP_S = 30


@dataclass
class Acknowledged:
    """What was answered with success: conversations, runs by their key, replays, texts of versions, scores."""

    conversations: list[str] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)
    replays: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    scores: list[str] = field(default_factory=list)

    def count(self) -> int:
        return sum(map(len, (self.conversations, self.runs, self.replays, self.texts, self.scores)))


class Load:
    """Sends batches, reads, runs, replays, commits and scores to the servers of a rotation until the block ends.

    What was acknowledged is read at once, from the next server. `failures` has requests that were refused twice, and
    answers that lack what was acknowledged.
    """

    def __init__(self, urls: Sequence[str], project: RemoteProject) -> None:
        self.rotation = Rotation(urls, project.key)
        self.acknowledged = Acknowledged()
        self.failures: list[str] = []
        self.refused = 0
        self.longest_s = 0.0
        self.requests: Counter[str] = Counter()
        prompt = project.post("/api/v1/prompts", json={"name": "Under load", "value": "0"}).json["prompt"]
        self.prompt_id = int(prompt["id"])
        self._prompt = f"/api/v1/prompts/{self.prompt_id}"
        case = {"name": "Load", "question": "Who?", "expectedAnswer": "Who?"}
        self._test_case = int(project.post(f"{self._prompt}/test-cases", json=case).json["id"])
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._calls = {
            "batch": self._send_batch,
            "run": self._run,
            "replay": self._replay,
            "version": self._commit,
            "score": self._score,
        }
        self._threads = [threading.Thread(target=self._repeat, args=item) for item in self._calls.items()]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def go_on(self) -> None:
        """Wait until every kind of call has succeeded some more times, or one has failed."""
        before = Counter(self.requests)
        wait_until(
            lambda: self.failures or all(self.requests[kind] >= before[kind] + ROUNDS for kind in self._calls),
            "more answers",
        )

    def _repeat(self, kind: str, call: Callable[[str], None]) -> None:
        for number in itertools.count():
            if self._stop.wait(0.05):
                return
            try:
                call(f"{kind}-{number}-{secrets.token_hex(4)}")
            except AssertionError as error:
                self.failures.append(f"{kind}: {error}")
                return
            with self._lock:
                self.requests[kind] += 1

    def _send_batch(self, name: str) -> None:
        trace = secrets.token_hex(16)
        attributes = {
            "service.prompt.id": self.prompt_id,
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": name,
        }
        spans = (span(attributes, traceId=trace, spanId=f"{number + 1:016x}") for number in range(SPANS))
        headers = {"Content-Type": "application/json"}
        self._asked("POST", "/api/public/otel/v1/traces", 200, body=export(*spans), headers=headers)
        self.acknowledged.conversations.append(name)
        sessions = self._asked("GET", f"/api/v1/sessions?conversationId={name}", 200).json()["sessions"]
        assert len(sessions) == 1, f"session {name} is not listed"
        turns = self._asked("GET", f"/api/v1/sessions/{sessions[0]['id']}", 200).json()["turns"]
        assert len(turns) == 1, f"session {name} has {len(turns)} turns"

    def _run(self, name: str) -> None:
        headers = {"Idempotency-Key": name}
        asked = {"id": self.prompt_id, "question": name}
        answer = self._asked("POST", "/api/v1/prompts/run", 200, payload=asked, headers=headers)
        run_id = int(answer.headers["X-Run-Id"])
        self.acknowledged.runs[name] = run_id
        again = self._asked("POST", "/api/v1/prompts/run", 200, payload=asked, headers=headers)
        assert int(again.headers["X-Run-Id"]) == run_id, f"key {name} made a second run"

    def _replay(self, name: str) -> None:
        answer = self._asked("POST", f"/api/v1/test-cases/{self._test_case}/replays", 202, payload={})
        replay_id = int(answer.json()["id"])
        self.acknowledged.replays.append(replay_id)
        path, until = f"/api/v1/replays/{replay_id}", time.monotonic() + GIVE_UP_S
        while not (replay := self._asked("GET", path, 200).json())["finishedAt"]:
            assert time.monotonic() < until, f"replay {replay_id} did not end"
            self._stop.wait(0.1)
        assert replay["status"] == "passed", f"replay {replay_id}: {replay['status']}"

    def _commit(self, name: str) -> None:
        self._asked("PATCH", self._prompt, 200, payload={"value": name})
        # 409 if the first of two requests was done, and its answer lost.
        self._asked("POST", f"{self._prompt}/commit", 201, 409, payload={})
        self.acknowledged.texts.append(name)
        assert self._asked("GET", self._prompt, 200).json()["value"] == name, f"text {name} is not there"

    def _score(self, name: str) -> None:
        if not self.acknowledged.runs:
            return
        run_id = list(self.acknowledged.runs.values())[-1]
        score = {"id": name, "name": "Load", "value": 1, "target": {"runId": run_id}}
        self._asked("POST", "/api/v1/scores", 201, 200, payload=score)
        self.acknowledged.scores.append(name)
        assert self._asked("GET", f"/api/v1/scores/{name}", 200).json()["value"] == 1

    def _asked(self, method: str, path: str, *expected: int, **sent: Any) -> Answer:
        """Return the answer of the first or the second try, which must have an expected status."""
        answer, pause_s = self._try(method, path, **sent)
        if isinstance(answer, str) or answer.status in TEMPORARY:
            with self._lock:
                self.refused += 1
            time.sleep(pause_s)
            answer, _ = self._try(method, path, **sent)
        assert not isinstance(answer, str), f"{method} {path}: {answer}"
        assert answer.status in expected, f"{method} {path}: {answer.status} {answer.body[:300]!r}"
        return answer

    def _try(self, method: str, path: str, **sent: Any) -> tuple[Answer | str, float]:
        """Return an answer, or why there is none, and the pause until another try."""
        began = time.monotonic()
        with self.rotation.client() as client:
            try:
                answer = client.request(method, path, **sent)
            except (OSError, http.client.HTTPException) as error:
                return f"{client.base_url} {error!r}", PAUSE_S
        with self._lock:
            self.longest_s = max(self.longest_s, time.monotonic() - began)
        return answer, float(answer.headers.get("Retry-After", PAUSE_S))


def own_project(administrator: RemoteProject) -> RemoteProject:
    """Make a project for the load, so that the answers of the other project do not change."""
    made = administrator.post("/api/v1/projects", json={"name": "Under load"}).json
    key = administrator.post(f"/api/v1/projects/{made['id']}/api-keys", json={"name": "Load"}).json["key"]
    return RemoteProject(administrator.url, key)


def lost(project: RemoteProject, load: Load) -> list[str]:
    """Return what was acknowledged and is not stored, or stored twice."""
    acknowledged = load.acknowledged
    wrong = []
    for name in acknowledged.conversations:
        sessions = project.get(f"/api/v1/sessions?conversationId={name}").json["sessions"]
        turns = [
            turn for session in sessions for turn in project.get(f"/api/v1/sessions/{session['id']}").json["turns"]
        ]
        if len(turns) != 1:
            wrong.append(f"session {name} has {len(turns)} turns")
    for key, run_id in acknowledged.runs.items():
        run = project.get(f"/api/v1/runs/{run_id}").json
        if (run.get("status"), run.get("question")) != ("done", key):
            wrong.append(f"run {run_id} is {run}")
    for replay_id in acknowledged.replays:
        replay = project.get(f"/api/v1/replays/{replay_id}").json
        if replay.get("status") != "passed":
            wrong.append(f"replay {replay_id} is {replay.get('status')}")
    stored = sorted(_texts(project, load.prompt_id))
    if missing := set(acknowledged.texts) - set(stored):
        wrong.append(f"{len(missing)} texts of versions are lost")
    if len(stored) != len(set(stored)):
        wrong.append("a version is stored twice")
    wrong += [
        f"score {name} is lost"
        for name in acknowledged.scores
        if project.get(f"/api/v1/scores/{name}").status_code != 200
    ]
    return wrong


def _texts(project: RemoteProject, prompt_id: int) -> list[str]:
    path = f"/api/v1/prompts/{prompt_id}/versions"
    hashes = [version["commitHash"] for version in project.get(path).json["versions"]]
    return [project.get(f"{path}/{commit_hash}").json["value"] for commit_hash in hashes]
