"""A clock process with a time that only the test moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from app.services.ingest.log_records import LogRecordService
from app.services.runs.sweeper import RunSweeper
from app.services.sessions.sums import SessionSumService
from app.work.sweeper import Resending
from tests.support.world import World

ROUND_S = 5.0


class Clock:
    """Seconds, monotonic."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


class Sweeping(Protocol):
    def sweep(self) -> list[int]: ...


def sweep_for(sweeper: Sweeping, clock: Clock, seconds: float) -> dict[float, list[int]]:
    """Sweep as the clock does, every 5 s until `seconds` have passed; what was to be sent, by when."""
    sent = {}
    for _ in range(round(seconds / ROUND_S)):
        clock.at += ROUND_S
        sent[clock.at] = sweeper.sweep()
    return sent


def run_sweeper(world: World, clock: Clock) -> RunSweeper:
    """That of another clock process, which uses `clock`."""
    return replace(world.container.services.runs.sweeper, monotonic=clock, resending=Resending())


def sweep_runs(world: World, seconds: float = RunSweeper.stale_s) -> None:
    """Sweep runs as another clock process does in that time, and a little longer."""
    clock = Clock()
    sweep_for(run_sweeper(world, clock), clock, seconds + ROUND_S)


def remove_waiting_rows(world: World) -> None:
    """Remove rows that wait too long, without a limit of time: a shared database has the rows of many organizations."""
    service: LogRecordService = world.container.services.log_records
    replace(service, remover=replace(service.remover, monotonic=Clock())).sweep()


def add_up_sessions(world: World) -> None:
    """Add up sessions, without a limit of time."""
    service: SessionSumService = world.container.services.session_sums
    replace(service, monotonic=Clock()).sweep()
