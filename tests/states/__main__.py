"""`make states`: searches each planted fault with many seeds, and prints how many examples were needed."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import pytest
import structlog

from tests.states.faults import PLANTED
from tests.states.search import EXAMPLES, examples_until_broken
from tests.states.site import NO_QUEUES, site_of
from tests.support.world import running, settings_for


def main(seeds: int, only: str) -> int:
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    began, are_missed = time.process_time(), False
    print(f"| planted fault | work | found with {seeds} seeds | examples at most, of {EXAMPLES} |\n|---|---|---|---|")
    with (
        tempfile.TemporaryDirectory(prefix="reprise-states-") as folder,
        running(settings_for(Path(folder)), queues=NO_QUEUES) as container,
        site_of(container) as site,
    ):
        for plant, machine in PLANTED.items():
            if only not in plant.__name__:
                continue
            with pytest.MonkeyPatch.context() as patch:
                plant(patch)
                needed = [examples_until_broken(site, machine, number) for number in range(seeds)]
            numbers = [number for number in needed if number is not None]
            are_missed |= len(numbers) < seeds
            cells = (
                plant.__name__.replace("_", " "),
                machine.__name__.lower(),
                len(numbers),
                max(numbers, default="-"),
            )
            print(f"| {' | '.join(map(str, cells))} |", flush=True)
    print(f"\nThis was {time.process_time() - began:.0f} s of processor time.")
    return are_missed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="", help="a part of the names of faults")
    parsed = parser.parse_args()
    sys.exit(main(parsed.seeds, parsed.only))
