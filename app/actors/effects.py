"""The actor that lets a model propose effects of a test case's tools, and the delivery that sends its messages."""

from __future__ import annotations

from dataclasses import dataclass

import dramatiq
import structlog
from dramatiq.brokers.redis import RedisBroker

from app.actors.options import RETRIED
from app.actors.sending import logged_if_unsent
from app.models.cases import TestCaseRow
from app.redis_store.broker import WakingBroker
from app.redis_store.middleware import for_organization
from app.services.accounts.owners import Owners
from app.services.replays.effect_proposer import EffectProposer

log = structlog.get_logger(__name__)

EffectsActor = dramatiq.Actor[[int, int], None]
"""Its message has the ids of a project and of a test case."""

TIME_LIMIT_MS = 15 * 60_000


def declare(broker: RedisBroker, proposer: EffectProposer) -> EffectsActor:
    """Declare the actor. Dramatiq retries it three times, for example while the database is away."""

    @dramatiq.actor(broker=broker, queue_name="replays", max_retries=3, time_limit=TIME_LIMIT_MS, **RETRIED)
    def propose_effects(project_id: int, test_case_id: int) -> None:
        proposer.propose(project_id=project_id, test_case_id=test_case_id)

    return propose_effects


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectsDelivery:
    """Sends the messages of new test cases."""

    broker: WakingBroker
    actor: EffectsActor
    owners: Owners

    def send(self, row: TestCaseRow) -> None:
        """Send the test case's message. If Redis or the database is away, its tools get no proposals."""
        with logged_if_unsent(log, "effects_not_asked", test_case_id=row.id):
            message = self.actor.message(row.project_id, row.id)
            self.broker.enqueue(for_organization(message, self.owners.of_project(row.project_id)))
