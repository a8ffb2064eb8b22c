"""Clocks that are put forward or back, of the machines that the web, the workers, Redis and MariaDB would have."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support import machine_clock
from tests.support.machine_clock import MachineClock

DAY_S, HOUR_S = 86_400, 3_600


@dataclass(frozen=True)
class Clocks:
    """`workers` is the clock process's, too."""

    web: MachineClock
    workers: MachineClock
    redis: MachineClock
    mariadb: MachineClock


def clocks_in(folder: Path) -> Clocks | None:
    """None where clocks can't be moved."""
    if machine_clock.missing():
        return None
    return Clocks(*(MachineClock(folder / name) for name in ("web", "workers", "redis", "mariadb")))


@contextlib.contextmanager
def off(*clocks: MachineClock, seconds: int) -> Iterator[None]:
    """So wrong for the length of the block; its end is a jump as well, in the other direction."""
    for clock in clocks:
        clock.put(seconds)
    try:
        yield
    finally:
        for clock in clocks:
            clock.put(0)
