"""Kills a process at each call of an operation, and looks up what is stored: whole or nothing, and once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import select

from app.models.invariants import INVARIANTS, broken_of
from app.redis_store.epochs import Epochs
from app.wiring.container import Container
from config.settings import Settings
from tests.crash.operations import REQUESTS, Operation, Request, State, store
from tests.crash.works import WORKS
from tests.support import crash_points
from tests.support.deployment import ROOT
from tests.support.world import World, new_world

NO_QUEUES = ("none",)
"""The queues of the process that compares: the victim must do all work."""
OPERATIONS = REQUESTS | WORKS
TRIES = 10
"""Times that a request is sent until it is acknowledged."""


@dataclass
class Trial:
    """The results of one operation: the crash points that were tried, and what was wrong at some."""

    name: str
    calls: int
    points: int = 0
    acknowledged: int = 0
    wrong: list[str] = field(default_factory=list)

    HEADINGS = ("operation", "calls", "crash points tried", "acknowledged", "lost, doubled or torn")

    def cells(self) -> list[str]:
        return [self.name, str(self.calls), str(self.points), str(self.acknowledged), str(len(self.wrong))]


class Victim:
    """A process that performs requests, of which each can be killed at a call."""

    def __init__(self, settings: Settings, library: Path, *, torn: bool) -> None:
        urls = {"mysql_url": settings.database_url, "redis_url": settings.redis_url}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.victim"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=os.environ | {"LD_PRELOAD": str(library)},
        )
        self._send({"home": str(settings.home), "torn": torn} | urls)

    def perform(self, order: Mapping[str, Any], *, at: int) -> dict[str, Any]:
        """Perform a request, or work, in a new process that dies at the call `at`, 0 for none; return what is known."""
        self._send({**order, "at": at})
        assert self._process.stdout
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def _send(self, line: Mapping[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def end(self) -> None:
        with self._process:
            assert self._process.stdin
            self._process.stdin.close()


@contextmanager
def victim_of(settings: Settings, folder: Path, *, torn: bool = False) -> Iterator[Victim]:
    """Start a victim; one that is `torn` commits batches and advances in two halves."""
    victim = Victim(settings, crash_points.built(folder), torn=torn)
    try:
        yield victim
    finally:
        victim.end()


def try_all(container: Container, victim: Victim, name: str, *, at_most: int | None = None) -> Trial:
    """Kill the operation at each of its calls and after its end, or at `at_most` of these that are spread evenly."""
    operation = OPERATIONS[name]
    untouched, done, settled, calls = _undisturbed(container, victim, operation)
    trial = Trial(name, calls)
    for at in points_of(calls, at_most):
        world = new_world(container)
        request = operation.prepare(world)
        answer = victim.perform(request.sent_by(world), at=at)
        trial.points += 1
        trial.acknowledged += answer["acknowledged"]
        if answer["acknowledged"] or operation.is_whole:
            allowed = [done] if answer["acknowledged"] else [untouched, done]
            trial.wrong += [f"{at}: {problem}" for problem in _problems(world, operation, allowed)]
        if operation.again and isinstance(request, Request):
            _send_until_acknowledged(world, request)
            trial.wrong += [f"{at}, sent again: {problem}" for problem in _problems(world, operation, [done])]
        if operation.settle:
            operation.settle(world)
            allowed = [settled] if answer["acknowledged"] or operation.is_accepted else [untouched, settled]
            trial.wrong += [f"{at}, continued: {problem}" for problem in _problems(world, operation, allowed)]
    return trial


def _undisturbed(container: Container, victim: Victim, operation: Operation) -> tuple[State, State, State, int]:
    """Return the state before and after the operation, that after all work has ended, and the number of its calls."""
    world = new_world(container)
    request = operation.prepare(world)
    untouched = operation.state(world)
    answer = victim.perform(request.sent_by(world), at=0)
    assert answer["acknowledged"], answer
    done = _stored(world, operation)
    if operation.settle:
        operation.settle(world)
    return untouched, done, _stored(world, operation), answer["calls"]


def points_of(calls: int, at_most: int | None) -> Iterable[int]:
    """Return each call and the time after the last one, or `at_most` of these that are spread evenly."""
    if at_most is None or calls <= at_most:
        return range(1, calls + 2)
    return sorted({1 + round(index * calls / (at_most - 1)) for index in range(at_most)})


def _stored(world: World, operation: Operation) -> State:
    """Look up what is stored, without the prompts that this process has cached.

    Processes that share no Redis can't see each other's changes of prompts, and the embedded victim is a second one.
    """
    backends = world.container.redis
    Epochs(backends.quick, backends.local).end(world.project_id)
    return operation.state(world)


def _problems(world: World, operation: Operation, allowed: list[Any]) -> Iterator[str]:
    state = _stored(world, operation)
    if state not in allowed:
        yield f"stored {state}, not {' or '.join(map(str, allowed))}"
    with world.container.database.read() as connection:
        for rule in INVARIANTS:
            c = rule.table.c
            project = c.id if rule.table.name == "projects" else c.project_id
            ids = list(connection.scalars(select(c.id).where(project == world.project_id)))
            if broken_of(rule, connection, world.project_id, ids, world.container.now()):
                yield f"breaks the rule of {rule.name}"


def _send_until_acknowledged(world: World, request: Request) -> None:
    if request.body:
        return store(world, request.body)
    for _ in range(TRIES):
        answer = world.client.simulate_request(
            request.method, request.path, json=request.json, headers=world.headers | request.headers
        )
        # What was done before the crash can't be deleted or committed once more.
        if answer.status_code < 300 or answer.status_code in (400, 404, 409):
            return None
    raise AssertionError(f"{request.path}: {answer.status_code} {answer.text[:300]}")
