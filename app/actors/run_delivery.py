"""Hands runs to their actor, and waits for those whose caller waits."""

from __future__ import annotations

import random
import time

import redis
import structlog
from dramatiq import Message

from app.actors.run_prompt import RunActor
from app.errors import Unavailable, WaitTimeout
from app.models.runs import RunRow
from app.redis_store.broker import WakingBroker
from app.redis_store.ownership import owned
from app.services.accounts.owners import Owners
from app.services.runs import RunService, Started
from app.services.runs.failures import NOT_SENT

log = structlog.get_logger(__name__)

# Its end may have been announced to nobody (a worker that died right after its commit, Redis away); the row says it.
LOOK_S = 15.0


class RunDelivery:
    def __init__(
        self, *, broker: WakingBroker, actor: RunActor, runs: RunService, owners: Owners, wait_s: float
    ) -> None:
        self._broker = broker
        self._actor = actor
        self._runs = runs
        self._owners = owners
        self._completions = runs.ending.completions
        self._wait_s = wait_s

    def send(self, started: Started) -> None:
        """Send the run's message; `Unavailable` when Redis is away, and then the run will never be executed."""
        if started.joined:
            return
        self._completions.listen()
        try:
            self._broker.enqueue(self._message(started.run_id, self._owners.of_project(started.project_id)))
        except redis.RedisError as error:
            log.warning("run_not_sent", run_id=started.run_id, error=str(error))
            if self._runs.ending.give_up(started.run_id, NOT_SENT):
                raise Unavailable(NOT_SENT) from error

    def finished(self, started: Started) -> RunRow:
        """The run when it has ended, well or not; `WaitTimeout` when that takes too long, and it goes on.

        Who began it gets what the model said, who repeats the request what is stored of that.
        """
        deadline = time.monotonic() + self._wait_s
        self._completions.listen()
        if not started.joined:
            self._completions.wait(started.run_id, min(_look_s(), self._wait_s))
        while not (row := self._runs.get(project_id=started.project_id, run_id=started.run_id)).finished:
            if time.monotonic() >= deadline:
                raise WaitTimeout(
                    f"The run takes longer than {self._wait_s:g} s. It goes on: see GET /api/v1/runs/{row.id}."
                )
            self._completions.wait(row.id, min(_look_s(), deadline - time.monotonic()))
        return row if started.joined else self._runs.masking.as_said(row)

    def sweep(self) -> None:
        """For the clock: see after runs that were left behind."""
        for run_id, organization_id in self._owners.of_runs(self._runs.sweeper.sweep()).items():
            log.info("run_sent_again", run_id=run_id)
            self._broker.enqueue(self._message(run_id, organization_id))

    def _message(self, run_id: int, organization_id: int) -> Message[None]:
        """Every message of a run has the same id: one that was sent again is known for the same."""
        return owned(self._actor.message(run_id), organization_id).copy(message_id=f"run-{run_id}")


def _look_s() -> float:
    """Not the same for all: a thousand that came together would all look at once, and others' reads stand in line."""
    return random.uniform(LOOK_S / 2, LOOK_S)  # noqa: S311 - jitter, no secret
