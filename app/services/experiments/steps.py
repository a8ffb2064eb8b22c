"""The next change of an experiment, and who decides it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Protocol

from sqlalchemy import Connection

from app.metrics.registry import Metric
from app.models import experiment_replays
from app.models.replays import ReplaySetup
from app.models.webhooks import WebhookEvent
from app.services.experiments.replayed_experiment import REUSED_FOR, ReplayedExperiment, WantedReplay
from app.services.experiments.revisions import EARLIER_FOR


@dataclass(frozen=True, slots=True)
class NextStep:
    """The next change of an experiment: results to reuse, replays to add, or the columns of its end.

    `total` is the number of replays planned so far. The unfinished replays of `stopped` arms are cancelled.
    """

    total: int
    summary: dict[str, Any]
    stopped: Collection[int] = ()
    reused: Sequence[tuple[WantedReplay, int]] = ()
    added: Sequence[WantedReplay] = ()
    end: dict[str, Any] | None = None


class Steps(Protocol):
    """Decides the next step of one experiment, from its replays as they were read."""

    metric: ClassVar[Metric]
    """Counts the ends of such experiments."""
    event: ClassVar[WebhookEvent]
    """The event of the end. Its data has the id of the experiment under `id_name`."""
    id_name: ClassVar[str]

    @property
    def experiment(self) -> ReplayedExperiment: ...

    def next(self, connection: Connection, most: int, now: datetime) -> NextStep:
        """Return the next step, with all replays that are needed now; a guard map looks for `most` of them."""
        ...

    def cancelled(self, connection: Connection, reason: str | None) -> NextStep:
        """Return the step that ends the experiment with its present results and no verdict."""
        ...

    def setups(self, connection: Connection, arms: Collection[int]) -> Mapping[int, ReplaySetup]:
        """Return the common properties of the replays of each arm, and store contents that are not stored yet."""
        ...

    def public_reason(self, reason: str | None) -> str | None:
        """Return the reason of an error for the event: `reason` may quote a message of the model call."""
        ...


def reusable(
    connection: Connection,
    experiment: ReplayedExperiment,
    wanted: Sequence[WantedReplay],
    snapshots: Mapping[int, int],
    now: datetime,
) -> list[tuple[WantedReplay, int]]:
    """Return the wanted replays that an earlier replay can replace, each with the id of the earlier replay.

    An earlier replay has the same content, test case and judge, and is not linked to this experiment yet. `snapshots`
    has the ids of the frozen contents of the arms that may reuse results, by arm.
    """
    plan = experiment.plan
    linked = {row.replay_id for row in experiment.replays}
    reused: list[tuple[WantedReplay, int]] = []
    for arm in sorted({replay.series.arm for replay in wanted} & snapshots.keys()):
        replays = [replay for replay in wanted if replay.series.arm == arm]
        known = experiment_replays.reusable_replays(
            connection,
            draft_snapshot_id=snapshots[arm],
            case_snapshot_ids={plan.case(replay.series).snapshot_id for replay in replays},
            judge_model_id=plan.row.judge_model_id,
            since=now - (EARLIER_FOR if plan.has_only_earlier(arm) else REUSED_FOR),
        )
        for replay in replays:
            free = (id_ for id_ in known.get(plan.case(replay.series).snapshot_faults, ()) if id_ not in linked)
            if (replay_id := next(free, None)) is not None:
                linked.add(replay_id)
                reused.append((replay, replay_id))
    return reused
