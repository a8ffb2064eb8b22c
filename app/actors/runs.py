"""The actor of runs, and the delivery that sends its messages and waits for runs on behalf of callers."""

from __future__ import annotations

import time
from dataclasses import dataclass

import dramatiq
import redis
import structlog
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import CurrentMessage

from app.actors.options import RETRIED
from app.concurrency import deadline
from app.errors import Unavailable
from app.models.runs import RunRow
from app.redis_store.broker import WakingBroker
from app.redis_store.middleware import ORGANIZATION_OPTION, for_organization
from app.redis_store.runs import Announcement
from app.services.accounts.owners import Owners
from app.services.runs import RunService, StartedRun
from app.services.runs.following import shortened, still_in_work, when_ended
from app.services.runs.outcome import NOT_SENT
from app.services.runs.records import read_record

log = structlog.get_logger(__name__)

RunActor = dramatiq.Actor[[int], None]

AROUND_THE_CALL_S = 120
"""The time for the claim, the files and the storing of an answer, on top of the model call."""
ROW_CHECK_S = 15.0
"""How often the row is read while a caller waits.

The end of a run may not be announced: its worker may have died right after the commit, or Redis may be away.
"""
AFTER_WAIT_S = 5.0
"""The time to read the row of a run once more after the last wait for its end."""
LARGE = "large"
"""The option of the message of a run that may be large: a worker measures it, and needs room for it."""


def declare(broker: RedisBroker, runs: RunService) -> RunActor:
    """Declare the actor. Dramatiq retries it while the database is away; the row allows one model call."""
    time_limit_ms = (runs.executor.caller.timeout_s + AROUND_THE_CALL_S) * 1000

    @dramatiq.actor(broker=broker, queue_name="runs", max_retries=10, time_limit=time_limit_ms, **RETRIED)
    def run_prompt(run_id: int) -> None:
        message = CurrentMessage.get_current_message()
        if message is None or LARGE not in message.options:
            runs.execute(run_id)
        elif not runs.execute_large(run_id):
            broker.enqueue(_message(run_prompt, run_id, message.options[ORGANIZATION_OPTION], large=True))

    return run_prompt


def _message(actor: RunActor, run_id: int, organization_id: int, *, large: bool) -> Message[None]:
    """Return the run's message. Its id depends on the run only, so that a message sent twice is recognized."""
    message = for_organization(actor.message(run_id), organization_id)
    return message.copy(message_id=f"run-{run_id}", options={LARGE: True} if large else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDelivery:
    """Sends the messages of runs. A caller waits for its run for `wait_s` seconds at most."""

    broker: WakingBroker
    actor: RunActor
    runs: RunService
    owners: Owners
    wait_s: float

    def send(self, started: StartedRun) -> None:
        """Send the run's message. Raises `Unavailable` when Redis is away; the run is then never executed."""
        if started.joined:
            return
        self.runs.ending.completions.listen()
        try:
            organization_id = self.owners.of_project(started.project_id)
            self.broker.enqueue(_message(self.actor, started.run_id, organization_id, large=started.large))
        except (redis.RedisError, Unavailable) as error:
            log.warning("run_not_sent", run_id=started.run_id, error=str(error))
            if self.runs.ending.give_up(started.run_id, NOT_SENT):
                raise Unavailable(NOT_SENT) from error

    def finished(self, started: StartedRun) -> RunRow:
        """Wait until the run has ended, and return it. Raises `WaitTimeout` if it has not by then; the run goes on.

        The caller that began the run gets the answer unmasked. A caller that repeats the request gets it as stored.
        """
        until = time.monotonic() + self.wait_s
        deadline.allow(self.wait_s + AFTER_WAIT_S)
        completions = self.runs.ending.completions
        completions.listen()
        end = None if started.joined else completions.wait(started.run_id, min(shortened(ROW_CHECK_S), self.wait_s))
        while (row := when_ended(self._row(started, end))) is None:
            if time.monotonic() >= until:
                raise still_in_work(started.run_id, self.wait_s)
            end = completions.wait(started.run_id, min(shortened(ROW_CHECK_S), until - time.monotonic()))
        return row if started.joined else self.runs.masking.with_original_answer(row)

    def _row(self, started: StartedRun, end: Announcement | None) -> RunRow:
        """Return the run that the announcement contains, or the stored one."""
        announced = read_record(end.record) if end else None
        return announced or self.runs.get(project_id=started.project_id, run_id=started.run_id)

    def sweep(self) -> None:
        """Send the runs again that were left behind; the clock calls it."""
        for run_id, organization_id in self.owners.of_runs(self.runs.sweeper.sweep()).items():
            log.info("run_sent_again", run_id=run_id)
            self.broker.enqueue(_message(self.actor, run_id, organization_id, large=True))
