"""The actor that asks a model for mutants of a guard map, and the delivery that sends its messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import dramatiq
import structlog
from dramatiq.brokers.redis import RedisBroker

from app.actors.options import RETRIED
from app.actors.replays import ReplayActor, send_replays
from app.actors.sending import logged_if_unsent
from app.models.experiments import ExperimentRow
from app.redis_store.broker import WakingBroker
from app.redis_store.middleware import for_organization
from app.services.accounts.owners import Owners
from app.services.experiments.advance import ExperimentAdvancer
from app.services.experiments.mutant_proposer import MutantProposer, MutantSweeper

log = structlog.get_logger(__name__)

MutantsActor = dramatiq.Actor[[int], None]

TIME_LIMIT_MS = 3_600_000


def declare(
    broker: RedisBroker,
    *,
    proposer: MutantProposer,
    advancer: ExperimentAdvancer,
    replay: ReplayActor,
    owners: Owners,
) -> MutantsActor:
    """Declare the actor. Dramatiq retries it three times; then the clock sends the map again."""

    @dramatiq.actor(broker=broker, queue_name="replays", max_retries=3, time_limit=TIME_LIMIT_MS, **RETRIED)
    def propose_mutants(experiment_id: int) -> None:
        proposer.propose(experiment_id)
        send_replays(broker, replay, owners, advancer.advance(experiment_id))

    return propose_mutants


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantsDelivery:
    """Sends the messages of guard maps for which a model has to be asked."""

    broker: WakingBroker
    actor: MutantsActor
    owners: Owners
    sweeper: MutantSweeper

    def send(self, rows: Iterable[ExperimentRow]) -> None:
        """Send the maps' messages. While Redis or the database is away they wait for the clock's next sweep."""
        for row in rows:
            with logged_if_unsent(log, "mutants_not_asked", experiment_id=row.id):
                self.broker.enqueue(
                    for_organization(self.actor.message(row.id), self.owners.of_project(row.project_id))
                )

    def sweep(self) -> None:
        """Send the maps again that were left behind; the clock calls it."""
        self.send(self.sweeper.sweep())
