"""Declares all actors of a process on its broker."""

from __future__ import annotations

from dataclasses import dataclass

from dramatiq.brokers.redis import RedisBroker

from app.actors import audits, checks, effects, mutants, replays, runs, spans, webhooks
from app.services.accounts.owners import Owners
from app.services.audits.runner import JudgeAuditRunner
from app.services.experiments.advance import ExperimentAdvancer
from app.services.experiments.mutant_proposer import MutantProposer
from app.services.ingest.service import IngestService
from app.services.replays.calibrations import CalibrationService
from app.services.replays.effect_proposer import EffectProposer
from app.services.replays.player import ReplayPlayer
from app.services.runs import RunService
from app.services.scores.checking import OnlineCheckRunner
from app.services.webhooks.deliveries import WebhookDeliverer


@dataclass(frozen=True, slots=True)
class Actors:
    """The actors of a process. The `…Delivery` in the module of each actor sends its messages."""

    audit_judge: audits.AuditActor
    check_turns: checks.CheckActor
    propose_effects: effects.EffectsActor
    propose_mutants: mutants.MutantsActor
    replay: replays.ReplayActor
    run_prompt: runs.RunActor
    store_spans: spans.BatchActor
    deliver_webhook: webhooks.WebhookActor


def declare(
    broker: RedisBroker,
    *,
    audit_runner: JudgeAuditRunner,
    check_runner: OnlineCheckRunner,
    effect_proposer: EffectProposer,
    mutant_proposer: MutantProposer,
    replay_player: ReplayPlayer,
    calibrations: CalibrationService,
    experiment_advancer: ExperimentAdvancer,
    owners: Owners,
    run_service: RunService,
    ingest: IngestService,
    webhook_deliverer: WebhookDeliverer,
) -> Actors:
    """Declare each actor with the service that it calls."""
    replay = replays.declare(
        broker,
        player=replay_player,
        calibrations=calibrations,
        advancer=experiment_advancer,
        owners=owners,
    )
    return Actors(
        audit_judge=audits.declare(
            broker, runner=audit_runner, advancer=experiment_advancer, replay=replay, owners=owners
        ),
        check_turns=checks.declare(broker, check_runner),
        propose_effects=effects.declare(broker, effect_proposer),
        propose_mutants=mutants.declare(
            broker, proposer=mutant_proposer, advancer=experiment_advancer, replay=replay, owners=owners
        ),
        replay=replay,
        run_prompt=runs.declare(broker, run_service),
        store_spans=spans.declare(broker, ingest),
        deliver_webhook=webhooks.declare(broker, webhook_deliverer),
    )
