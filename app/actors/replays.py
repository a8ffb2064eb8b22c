"""The actor of replays, and the delivery that sends its messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import dramatiq
import structlog
from dramatiq.brokers.redis import RedisBroker

from app.actors.options import RETRIED
from app.actors.sending import logged_if_unsent
from app.redis_store.broker import WakingBroker
from app.redis_store.middleware import for_organization
from app.services.accounts.owners import Owners
from app.services.experiments.advance import ExperimentAdvancer
from app.services.replays.calibrations import CalibrationService
from app.services.replays.claims import ReplaySweeper
from app.services.replays.player import ReplayPlayer

log = structlog.get_logger(__name__)

ReplayActor = dramatiq.Actor[[int], None]

TIME_LIMIT_MS = 3_600_000


def declare(
    broker: RedisBroker,
    *,
    player: ReplayPlayer,
    calibrations: CalibrationService,
    advancer: ExperimentAdvancer,
    owners: Owners,
) -> ReplayActor:
    """Declare the actor.

    Dramatiq retries it while the database is away. When this process stops, another process continues the work.
    """

    @dramatiq.actor(broker=broker, queue_name="replays", max_retries=3, time_limit=TIME_LIMIT_MS, **RETRIED)
    def replay(replay_id: int) -> None:
        if not player.play(replay_id):
            # This process had no memory for the replay in time, so its message goes back to the queue.
            send_replays(broker, replay, owners, [replay_id])
            return
        calibrations.replay_ended(replay_id)
        send_replays(broker, replay, owners, advancer.replay_ended(replay_id))

    return replay


def send_replays(broker: RedisBroker, actor: ReplayActor, owners: Owners, replay_ids: Sequence[int]) -> None:
    """Send the replays' messages. While Redis or the database is away they wait for the clock's next sweep."""
    with logged_if_unsent(log, "replays_not_sent", replay_ids=replay_ids):
        for replay_id, organization_id in owners.of_replays(replay_ids).items():
            broker.enqueue(for_organization(actor.message(replay_id), organization_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayDelivery:
    """Sends the messages of replays. No caller waits for a replay: its row has its progress."""

    broker: WakingBroker
    actor: ReplayActor
    owners: Owners
    sweeper: ReplaySweeper

    def send(self, replay_ids: Iterable[int]) -> None:
        """Send the replays' messages."""
        send_replays(self.broker, self.actor, self.owners, list(replay_ids))

    def sweep(self) -> None:
        """Send the replays again that were left behind; the clock calls it."""
        self.send(self.sweeper.sweep())
