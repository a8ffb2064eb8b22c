"""Advances experiments and sends their replays. An experiment has no actor: its replays are its work."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from app.actors.audits import AuditDelivery
from app.actors.mutants import MutantsDelivery
from app.actors.replays import ReplayDelivery
from app.errors import Unavailable
from app.models.experiments import ExperimentRow
from app.services.experiments.advance import ExperimentAdvancer
from app.services.experiments.guard_plan import open_question
from app.work.round_robin import RoundRobin
from app.work.sweeper import attempt

log = structlog.get_logger(__name__)

ADVANCE_S = 3.0
"""For how long a sweep begins to advance experiments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentDelivery:
    """Advances experiments and sends the replays that they start."""

    replays: ReplayDelivery
    audits: AuditDelivery
    mutants: MutantsDelivery
    advancer: ExperimentAdvancer
    _round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)

    def begin(self, row: ExperimentRow) -> None:
        """Advance a new experiment, and send the audit of its judge, which may have ended already.

        A map for which a model has to be asked is advanced by the worker that asks it.
        """
        if open_question(row) is not None:
            self.mutants.send([row])
            return
        if (audit_id := row.design.get("auditId")) is not None:
            self.audits.send([audit_id])
        self._send(self.advancer.begin, row.id)

    def advance(self, experiment_id: int) -> None:
        """Advance the experiment and send its replays. While the database is away the clock does it later."""
        self._send(self.advancer.advance, experiment_id)

    def _send(self, advance: Callable[[int], Sequence[int]], experiment_id: int) -> None:
        try:
            self.replays.send(advance(experiment_id))
        except Unavailable as error:
            log.warning("experiment_not_advanced", experiment_id=experiment_id, error=str(error))

    def sweep(self) -> None:
        """Advance the experiments that were left behind, of each organization in turn; the clock calls it."""
        self.mutants.sweep()
        until = time.monotonic() + ADVANCE_S
        self._round_robin.serve(self.advancer.behind(), self._advance_logged, is_over=lambda: time.monotonic() >= until)

    def _advance_logged(self, experiment_id: int) -> bool:
        """Advance the experiment once. Returns False, because it comes again in the next sweep."""
        attempt(partial(self.advance, experiment_id), "experiment_failed", experiment_id=experiment_id)
        return False
