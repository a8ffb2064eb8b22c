"""Clients that use the same objects at once through the API, and record each call with its begin, end and answer."""

from __future__ import annotations

import http.client
import json
import random
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from tests.histories.checker import NEVER, Call, GrowingSet, Model, Once, Register
from tests.support.exports import export, span
from tests.support.http_client import Answer, Client
from tests.support.waiting import wait_until

TRACES = "/api/public/otel/v1/traces"
NO_ANSWER = {0, 502, 503, 504}
"""Statuses that do not show whether the change was made; 0 is a connection that was cut."""
OBJECTS = 2
"""Objects of each kind in a trial."""
VERSIONS = 12
"""Versions to which labels point."""
CUT = 0.05
"""The share of requests after which the client cuts its connection instead of reading the answer."""
PAUSE_S, RETRY_S = 0.03, 0.5

Send = Callable[[random.Random, str, str, Any], Answer | None]
"""Sends a request with a body of JSON or bytes; None if there is no answer."""


@dataclass
class Recorded:
    """What all clients of a trial recorded. `wrong` has answers that contradict the API's documentation."""

    calls: list[Call] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class Versions:
    """A prompt with versions, for labels to point to."""

    path: str
    hashes: Sequence[str]

    @property
    def prompt_id(self) -> int:
        return int(self.path.rpartition("/")[2])


def sender(clients: Sequence[Client]) -> Send:
    """Return a function that sends through a random client, and sometimes cuts the connection."""

    def send(chooser: random.Random, method: str, path: str, sent: Any) -> Answer | None:
        client = chooser.choice(clients)
        options: dict[str, Any] = {"body": sent} if isinstance(sent, bytes) else {"payload": sent}
        if isinstance(sent, bytes):
            options["headers"] = {"Content-Type": "application/json"}
        elif isinstance(sent, dict) and "key" in sent:
            options = {"payload": sent["json"], "headers": {"Idempotency-Key": sent["key"], "Prefer": "respond-async"}}
        cut = chooser.random() < CUT
        # An answer within this time counts, too.
        client = Client(client.base_url, client.api_key, chooser.random() * 0.02 if cut else client.timeout_s)
        try:
            answer = client.request(method, path, **options)
        except (OSError, http.client.HTTPException):
            return None
        return None if answer.status in NO_ANSWER else answer

    return send


class Objects:
    """The objects of one trial, and what clients do with each."""

    def __init__(self, send: Send, versions: Versions) -> None:
        self._send, self._versions = send, versions
        self._name = secrets.token_hex(4)
        self._setup = random.Random(self._name)
        self._labels = [f"label-{self._name}-{number}" for number in range(OBJECTS)]
        self._prompts = [self._made("/api/v1/prompts", {"name": "P", "value": "0"}) for _ in range(OBJECTS)]
        self._cases = [self._made(f"{versions.path}/test-cases", _case()) for _ in range(OBJECTS)]
        self._sessions: dict[str, str] = {}
        self._keys = 0
        self.recorded = Recorded()
        self.models: dict[str, Model] = {}

    def act(self, chooser: random.Random) -> bool:
        """Make one call to a random object; False if no answer came."""
        number = chooser.randrange(OBJECTS)
        kind = chooser.choice((self._label, self._commit, self._case, self._score, self._session, self._run))
        return kind(chooser, number, chooser.random() < 0.5)

    def wait_for_calls(self, count: int) -> None:
        """Wait until clients have made so many further calls that were answered."""
        wanted = self._answered() + count
        wait_until(lambda: self._answered() >= wanted, "calls")

    def _answered(self) -> int:
        with self.recorded.lock:
            return sum(call.answered for call in self.recorded.calls)

    def read_all(self) -> None:
        """Read every object, until an answer comes."""
        for number in range(OBJECTS):
            for kind in (self._label, self._commit, self._case, self._score, self._session):
                wait_until(lambda kind=kind, number=number: kind(self._setup, number, False), "an answer")  # type: ignore[misc]
        for run, ids in self._runs_by_question().items():
            self._record(run, None, ids, time.monotonic(), time.monotonic())

    def _label(self, chooser: random.Random, number: int, writes: bool) -> bool:
        label = self._labels[number]
        path = f"{self._versions.path}/labels/{label}"
        self.models[label] = Register()
        if writes:
            commit_hash = chooser.choice(self._versions.hashes)
            return self._write(chooser, label, commit_hash, "PUT", path, {"commitHash": commit_hash})
        # The second address is answered from a cache.
        path = chooser.choice((path, f"{self._versions.path}?label={label}"))
        return self._read(chooser, label, path, lambda body: body["commitHash"], missing=None)

    def _commit(self, chooser: random.Random, number: int, writes: bool) -> bool:
        path, message = self._prompts[number], secrets.token_hex(8)
        self.models[path] = GrowingSet()
        if writes:
            self._send(chooser, "PATCH", path, {"value": message})
            # Another client may have committed the change before.
            return self._write(chooser, path, message, "POST", f"{path}/commit", {"message": message}, refused={409})
        return self._read(chooser, path, f"{path}/versions", _messages, missing=())

    def _case(self, chooser: random.Random, number: int, writes: bool) -> bool:
        path, name = self._cases[number], secrets.token_hex(8)
        self.models[path] = Register("0")
        if writes:
            return self._write(chooser, path, name, "PATCH", path, {"name": name})
        return self._read(chooser, path, path, lambda body: body["name"], missing=None)

    def _score(self, chooser: random.Random, number: int, writes: bool) -> bool:
        score, value = f"score-{self._name}-{number}", chooser.randrange(10**6)
        self.models[score] = Register()
        if writes:
            target = {"promptId": self._versions.prompt_id, "conversationId": f"session-{self._name}-{number}"}
            given = {"id": score, "name": "k", "value": value, "target": target}
            # A session without spans can't be scored yet.
            return self._write(chooser, score, value, "POST", "/api/v1/scores", given, refused={404})
        return self._read(chooser, score, f"/api/v1/scores/{score}", lambda body: body["value"], missing=None)

    def _session(self, chooser: random.Random, number: int, writes: bool) -> bool:
        session, element = f"session-{self._name}-{number}", secrets.token_hex(16)
        self.models[session] = GrowingSet()
        if writes:
            batch = _batch(self._versions.prompt_id, session, element)
            stored = self._write(chooser, session, element, "POST", TRACES, batch)
            # As exporters do.
            return stored or self._write(chooser, session, element, "POST", TRACES, batch)
        if session in self._sessions:
            return self._read(chooser, session, f"/api/v1/sessions/{self._sessions[session]}", _traces, missing=())
        began = time.monotonic()
        listed = self._send(chooser, "GET", f"/api/v1/sessions?conversationId={session}", None)
        if listed is None:
            return False
        if rows := listed.json()["sessions"]:
            self._sessions[session] = rows[0]["id"]
            return self._session(chooser, number, False)
        self._record(session, None, (), began, time.monotonic())
        return True

    def _run(self, chooser: random.Random, number: int, writes: bool) -> bool:
        """Three calls, of any clients, have the same key."""
        with self.recorded.lock:
            self._keys += 1
            run = f"run-{self._name}-{self._keys // 3}"
        self.models[run] = Once()
        sent = {"json": {"id": self._versions.prompt_id, "question": run}, "key": run}
        began = time.monotonic()
        answer = self._send(chooser, "POST", "/api/v1/prompts/run", sent)
        # 409: the same key is in use at this moment.
        if answer is None or answer.status not in (200, 202):
            self._expect(answer, {409})
            self._record(run, run, None, began, NEVER)
            return False
        self._record(run, run, int(answer.headers["Location"].rpartition("/")[2]), began, time.monotonic())
        return True

    def _runs_by_question(self) -> dict[str, tuple[int, ...]]:
        """Return the ids of the runs of each question, without runs that ended before the model was called.

        Their keys are free again.
        """
        runs: dict[str, tuple[int, ...]] = {run: () for run in self.models if run.startswith("run-")}
        free = set()
        for run in map(json.loads, self._surely("GET", f"{self._versions.path}/exports/runs").body.splitlines()):
            question, name = run["question"], run["id"]
            if (run["error"] or {}).get("kind") == "not_started":
                free.add(name)
            elif question in runs:
                runs[question] = tuple(sorted((*runs[question], name)))
        self.recorded.calls = [
            call for call in self.recorded.calls if not (call.object in runs and call.result in free)
        ]
        return runs

    def _surely(self, method: str, path: str, sent: Any = None) -> Answer:
        """Send a request until it is answered."""
        answer = wait_until(lambda: self._send(self._setup, method, path, sent), path)
        assert answer is not None
        return answer

    def _made(self, path: str, new: Any) -> str:
        answer = self._surely("POST", path, new)
        assert answer.status == 201, answer.body
        body = answer.json()
        return f"{path}/{body['prompt']['id']}" if "prompt" in body else f"/api/v1/test-cases/{body['id']}"

    def _write(
        self,
        chooser: random.Random,
        name: str,
        argument: Any,
        method: str,
        path: str,
        sent: Any,
        *,
        refused: AbstractSet[int] = frozenset(),
    ) -> bool:
        began = time.monotonic()
        answer = self._send(chooser, method, path, sent)
        if answer is not None and answer.status in refused:
            return True
        self._expect(answer, {200, 201})
        self._record(name, argument, None, began, NEVER if answer is None else time.monotonic())
        return answer is not None

    def _read(self, chooser: random.Random, name: str, path: str, shown: Callable[[Any], Any], *, missing: Any) -> bool:
        began = time.monotonic()
        answer = self._send(chooser, "GET", path, None)
        self._expect(answer, {200, 404})
        if answer is not None:
            result = shown(answer.json()) if answer.status == 200 else missing
            self._record(name, None, result, began, time.monotonic())
        return answer is not None

    def _expect(self, answer: Answer | None, statuses: AbstractSet[int]) -> None:
        if answer is not None and answer.status not in statuses:
            self.recorded.wrong.append(f"{answer.status} {answer.body[:200].decode(errors='replace')}")

    def _record(self, name: str, argument: Any, result: Any, began: float, ended: float) -> None:
        with self.recorded.lock:
            self.recorded.calls.append(Call(name, argument, result, began, ended))


def _case() -> dict[str, str]:
    return {"name": "0", "question": "Who?", "expectedAnswer": "Who?"}


def _batch(prompt_id: int, session: str, trace_id: str) -> bytes:
    attributes = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": session,
    }
    return export(span(attributes, traceId=trace_id))


def _messages(body: Any) -> tuple[str, ...]:
    return tuple(sorted(version["message"] for version in body["versions"] if version["message"] != "Initial commit"))


def _traces(body: Any) -> tuple[str, ...]:
    return tuple(sorted(turn["traceId"] for turn in body["turns"]))


def prompt_with_versions(client: Client, count: int) -> Versions:
    """Make a prompt and commit some versions of it."""
    made = client.post("/api/v1/prompts", {"name": "Versions", "value": "0"})
    assert made.status == 201, made.body
    path = f"/api/v1/prompts/{made.json()['prompt']['id']}"
    for number in range(1, count):
        assert client.patch(path, {"value": str(number)}).status == 200
        assert client.post(f"{path}/commit").status == 201
    listed = client.get(f"{path}/versions").json()["versions"]
    return Versions(path, [version["commitHash"] for version in listed])


class Crowd:
    """Clients that act until the end of the block."""

    def __init__(self, objects: Objects, seed: int, clients: int) -> None:
        self._objects, self._stop = objects, threading.Event()
        choosers = [random.Random(f"{seed} {number}") for number in range(clients)]
        self._threads = [threading.Thread(target=self._work, args=(chooser,)) for chooser in choosers]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _work(self, chooser: random.Random) -> None:
        while not self._stop.is_set():
            answered = self._objects.act(chooser)
            self._stop.wait(chooser.random() * (PAUSE_S if answered else RETRY_S))
