"""Losses that are planted in a restored copy, to show that the checks of a trial notice each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.chaos.load import SPANS, Promised
from tests.chaos.system import AnySystem

Loss = Callable[[AnySystem, Promised], tuple[Sequence[str], str]]
"""Returns the statements of a loss, and the problem that must be reported."""


def batch(_system: AnySystem, promised: Promised) -> tuple[Sequence[str], str]:
    trace_id = min(promised.traces)
    statements = [f"DELETE FROM {{db}}.{table} WHERE trace_id = X'{trace_id}'" for table in ("spans", "turns")]
    return statements, "1 acknowledged batches are lost"


def span(_system: AnySystem, promised: Promised) -> tuple[Sequence[str], str]:
    trace_id = max(promised.traces)
    statement = f"DELETE FROM {{db}}.spans WHERE trace_id = X'{trace_id}' AND span_id = X'{1:016x}'"
    return [statement], f"trace {trace_id} has {SPANS - 1} spans, {SPANS - 1} distinct"


def turn(_system: AnySystem, promised: Promised) -> tuple[Sequence[str], str]:
    trace_id = max(promised.traces)
    return [f"DELETE FROM {{db}}.turns WHERE trace_id = X'{trace_id}'"], "turns and spans are not of the same traces"


def run(_system: AnySystem, promised: Promised) -> tuple[Sequence[str], str]:
    run_id = min(promised.runs)
    of_run = [("idempotency_keys", "run_id"), ("runs", "id")]
    return [f"DELETE FROM {{db}}.{table} WHERE {key} = {run_id}" for table, key in of_run], "1 accepted runs are lost"


def replay(_system: AnySystem, promised: Promised) -> tuple[Sequence[str], str]:
    return [f"DELETE FROM {{db}}.replays WHERE id = {min(promised.replays)}"], "1 accepted replays are lost"


def answer(system: AnySystem, promised: Promised) -> tuple[Sequence[str], str]:
    """Run two questions as one: the second run has the question of the first."""
    first, second = sorted(promised.runs)[1:3]
    [(question,)] = system.rows(f"SELECT question FROM {{db}}.runs WHERE id = {first}")
    statement = f"UPDATE {{db}}.runs SET question = '{question}' WHERE id = {second}"
    return [statement], "1 questions were answered twice"


LOSSES: Sequence[Loss] = (batch, span, turn, run, replay, answer)
