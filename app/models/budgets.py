"""The budgets of experiments: what their replays have cost, and what their model calls in work can still cost."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, case, func, select, update

from app.models.experiment_replays import experiment_replays
from app.models.experiments import experiments, lock_experiment
from app.models.replays import UNFINISHED, replays

_L, _R = experiment_replays.c, replays.c


@dataclass(frozen=True, slots=True)
class Spending:
    """In USD: the cost so far, and the most that the calls in work of other replays can add."""

    spent: float
    reserved: float


def find_max_cost(connection: Connection, *, experiment_id: int) -> float | None:
    """Return an experiment's `maxCost` in USD; None without one, or without such an experiment."""
    design = connection.scalar(select(experiments.c.design).where(experiments.c.id == experiment_id))
    return (design or {}).get("maxCost")


def lock_budget(connection: Connection, *, experiment_id: int) -> None:
    """Lock the experiment's budget until the commit; other calls wait with their reservations."""
    lock_experiment(connection, experiment_id=experiment_id)


def spending_of(connection: Connection, *, experiment_id: int, replay_id: int) -> Spending:
    """Return what the experiment has cost, and what all other replays have reserved.

    It has cost the replays that it started, and the question of a guard map. The reservations of a worker that died
    end with its claim.
    """
    others = _R.claim.is_not(None) & _R.status.in_(UNFINISHED) & (_R.id != replay_id)
    statement = (
        select(
            func.coalesce(func.sum(_R.prompt_cost_usd + _R.completion_cost_usd), 0.0),
            func.coalesce(func.sum(case((others, _L.reserved_usd), else_=0.0)), 0.0),
            select(experiments.c.design).where(experiments.c.id == experiment_id).scalar_subquery(),
        )
        .join(experiment_replays, _L.replay_id == _R.id)
        .where(_L.experiment_id == experiment_id, _L.reused.is_(False))
    )
    spent, reserved, design = connection.execute(statement).one()
    question = (design or {}).get("question") or {}
    return Spending(spent + question.get("costUsd", 0.0), reserved)


def put_reservation(connection: Connection, *, experiment_id: int, replay_id: int, usd: float) -> None:
    """Set the reservation of a replay: one amount for all its calls in work."""
    of_replay = update(experiment_replays).where(_L.experiment_id == experiment_id, _L.replay_id == replay_id)
    connection.execute(of_replay.values(reserved_usd=usd))
