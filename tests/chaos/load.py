"""Clients that behave as real ones do, and remember what they were promised."""

from __future__ import annotations

import http.client
import itertools
import random
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.chaos.system import TRACES, AnySystem
from tests.support.exports import export, span
from tests.support.http_client import Answer
from tests.support.waiting import NotReady

SPANS = 20
EXPORTERS = 3
GIVE_UP_S = 180
TEMPORARY = {502, 503, 504}


@dataclass
class Promised:
    """The work that was acknowledged, each with its time: trace ids of batches, ids of runs and of replays.

    `looks` counts what was read after it was acknowledged; `stale` has the answers that did not have it.
    """

    traces: set[str] = field(default_factory=set)
    runs: set[int] = field(default_factory=set)
    replays: set[int] = field(default_factory=set)
    retries: int = 0
    stored_at: list[float] = field(default_factory=list)
    looks: int = 0
    stale: list[str] = field(default_factory=list)

    def stored_since(self, when: float) -> bool:
        return bool(self.stored_at) and self.stored_at[-1] > when

    def longest_gap_s(self) -> float:
        """The longest time in which no batch was acknowledged."""
        times = sorted(self.stored_at)
        return max((later - earlier for earlier, later in pairwise(times)), default=0.0)


class Acknowledged(NamedTuple):
    """`web` is the number of the web process that answered, `tries` how often it was asked for until then."""

    answer: Answer
    web: int
    tries: int


class Load:
    """Exporters that resend a batch until it is stored, and others that ask for runs and replays and change prompts,
    until the end of the block; what was under way then is resent until it is acknowledged.

    Batches and changes of prompts are read through another web process as soon as they are acknowledged."""

    def __init__(self, system: AnySystem) -> None:
        self._system = system
        self._stop = threading.Event()
        self._wrong: list[str] = []
        self._lock = threading.Lock()
        self._changed_prompt: str | None = None
        self.promised = Promised()
        work = [self._export] * EXPORTERS + [self._run, self._replay, self._change]
        self._threads = [threading.Thread(target=self._until_stopped, args=(each,), daemon=True) for each in work]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(GIVE_UP_S)
        if kind is None:
            assert not self._wrong, self._wrong
            assert not any(thread.is_alive() for thread in self._threads)

    def promised_until_now(self) -> Promised:
        """Return a copy of what was acknowledged."""
        with self._lock:
            return Promised(set(self.promised.traces), set(self.promised.runs), set(self.promised.replays))

    def _until_stopped(self, work: Callable[[], None]) -> None:
        while not self._stop.is_set():
            try:
                work()
            except (AssertionError, NotReady) as error:
                self._wrong.append(str(error))
                return

    def _export(self) -> None:
        trace_id = secrets.token_hex(16)
        attributes = {
            "service.prompt.id": self._system.prompt_id,
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": trace_id,
        }
        batch = export(*(span(attributes, traceId=trace_id, spanId=f"{n + 1:016x}") for n in range(SPANS)))
        stored = self._acknowledged("POST", TRACES, {200}, body=batch, headers={"Content-Type": "application/json"})
        with self._lock:
            self.promised.traces.add(trace_id)
            self.promised.stored_at.append(time.monotonic())
        listed = self._read(f"/api/v1/sessions?conversationId={trace_id}", stored)
        self._look(trace_id in listed.body.decode(), f"the session of trace {trace_id}")

    def _run(self) -> None:
        asked = {"id": self._system.prompt_id, "question": secrets.token_hex(4)}
        headers = {"Idempotency-Key": secrets.token_hex(8), "Prefer": "respond-async"}
        answer, _, _ = self._acknowledged("POST", "/api/v1/prompts/run", {200, 202}, payload=asked, headers=headers)
        with self._lock:
            self.promised.runs.add(int(answer.headers["Location"].rsplit("/", 1)[1]))
        self._stop.wait(0.05)

    def _replay(self) -> None:
        path = f"/api/v1/test-cases/{self._system.test_case_id}/replays"
        answer, _, _ = self._acknowledged("POST", path, {202}, payload={})
        with self._lock:
            self.promised.replays.add(int(answer.json()["id"]))
        self._stop.wait(0.2)

    def _change(self) -> None:
        """Commit a new text of a prompt; of another one after a change that was sent twice, as it may yet be made."""
        if self._changed_prompt is None:
            new = {"name": "Changed", "value": "0"}
            made, _, _ = self._acknowledged("POST", "/api/v1/prompts", {201}, payload=new)
            self._changed_prompt = made.headers["Location"]
        path, text = self._changed_prompt, secrets.token_hex(8)
        edited = self._acknowledged("PATCH", path, {200}, payload={"value": text})
        committed = self._acknowledged("POST", f"{path}/commit", {201, 409}, payload={})
        sent_once = committed.tries == 1
        if sent_once or committed.answer.status == 201:
            self._look(self._read(path, committed).json()["value"] == text, f"text {text} of {path}")
        if edited.tries > 1 or not sent_once:
            self._changed_prompt = None
        self._stop.wait(0.05)

    def _look(self, is_there: bool, what: str) -> None:
        with self._lock:
            self.promised.looks += 1
            if not is_there:
                self.promised.stale.append(what)

    def _read(self, path: str, after: Acknowledged) -> Answer:
        """The answer of another web process than the one that acknowledged, if it gives one when it is asked first."""
        return self._acknowledged("GET", path, {200}, first=(after.web + 1) % len(self._system.deployment.urls)).answer

    def _acknowledged(
        self, method: str, path: str, wanted: set[int], *, first: int | None = None, **sent: Any
    ) -> Acknowledged:
        """The answer, as soon as one comes that is not "try again": from the `first` web process, then from any."""
        deadline = time.monotonic() + GIVE_UP_S
        for tries in itertools.count(1):
            web = random.randrange(len(self._system.deployment.urls)) if first is None or tries > 1 else first
            try:
                answer = self._system.client(web).request(method, path, **sent)
            except (OSError, http.client.HTTPException) as error:
                outcome = repr(error)
            else:
                outcome = f"{answer.status} {answer.body!r}"
                if answer.status in wanted:
                    return Acknowledged(answer, web, tries)
                assert answer.status in TEMPORARY, f"{path}: {outcome}"
            if time.monotonic() > deadline:
                break
            with self._lock:
                self.promised.retries += 1
            time.sleep(0.2 + random.random() * 0.3)
        raise NotReady(f"{path}: not acknowledged within {GIVE_UP_S} s, last {outcome}")
