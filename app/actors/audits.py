"""The actor of audits, and the delivery that sends its messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import dramatiq
import structlog
from dramatiq.brokers.redis import RedisBroker

from app.actors.options import RETRIED
from app.actors.replays import ReplayActor, send_replays
from app.actors.sending import logged_if_unsent
from app.redis_store.broker import WakingBroker
from app.redis_store.middleware import for_organization
from app.services.accounts.owners import Owners
from app.services.audits.claims import JudgeAuditSweeper
from app.services.audits.runner import JudgeAuditRunner
from app.services.experiments.advance import ExperimentAdvancer

log = structlog.get_logger(__name__)

AuditActor = dramatiq.Actor[[int], None]

TIME_LIMIT_MS = 3_600_000


def declare(
    broker: RedisBroker, *, runner: JudgeAuditRunner, advancer: ExperimentAdvancer, replay: ReplayActor, owners: Owners
) -> AuditActor:
    """Declare the actor.

    Dramatiq retries it while the database is away. When this process stops, another process continues the work.
    """

    @dramatiq.actor(broker=broker, queue_name="replays", max_retries=3, time_limit=TIME_LIMIT_MS, **RETRIED)
    def audit_judge(audit_id: int) -> None:
        prompt_id = runner.run(audit_id)
        if prompt_id is not None:
            send_replays(broker, replay, owners, advancer.audit_ended(prompt_id))

    return audit_judge


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditDelivery:
    """Sends the messages of audits."""

    broker: WakingBroker
    actor: AuditActor
    owners: Owners
    sweeper: JudgeAuditSweeper

    def send(self, audit_ids: Iterable[int]) -> None:
        """Send the audits' messages. While Redis or the database is away they wait for the clock's next sweep."""
        ids = list(audit_ids)
        with logged_if_unsent(log, "audits_not_sent", audit_ids=ids):
            for audit_id, organization_id in self.owners.of_audits(ids).items():
                self.broker.enqueue(for_organization(self.actor.message(audit_id), organization_id))

    def sweep(self) -> None:
        """Send the audits again that were left behind; the clock calls it."""
        self.send(self.sweeper.sweep())
