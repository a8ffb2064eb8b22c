"""The container: the services, backends and deliveries of one process."""

from __future__ import annotations

from dataclasses import dataclass

from app.actors.audits import AuditDelivery
from app.actors.checks import CheckDelivery
from app.actors.effects import EffectsDelivery
from app.actors.experiments import ExperimentDelivery
from app.actors.registry import Actors
from app.actors.replays import ReplayDelivery
from app.actors.runs import RunDelivery
from app.actors.spans import BatchDelivery
from app.actors.webhooks import WebhookDelivery
from app.redis_store.rate import RateLimiter
from app.services.runs.following import AnswerFollower
from app.wiring.backends import Backends
from app.wiring.services import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class Container(Backends):
    """Built once per process, by `app.process.bootstrap`."""

    limiter: RateLimiter
    page_limiter: RateLimiter
    services: Services
    actors: Actors
    batch_delivery: BatchDelivery
    audit_delivery: AuditDelivery
    check_delivery: CheckDelivery
    effects_delivery: EffectsDelivery
    run_delivery: RunDelivery
    run_follower: AnswerFollower
    replay_delivery: ReplayDelivery
    experiment_delivery: ExperimentDelivery
    webhook_delivery: WebhookDelivery

    def close(self) -> None:
        """End the threads of this process, and close its idle connections; its workers must have ended before."""
        self.services.runs.ending.completions.close()
        self.providers.close()
        self.services.webhook_sender.close()
        self.database.dispose()
        self.metrics.close()
        self.redis.close()
