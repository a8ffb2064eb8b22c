"""`make chaos`: every fault in turn, then at random, under load; prints what docs/reliability.md keeps."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.chaos.faults import CLOCK_FAULTS, CLUSTER_FAULTS, FAULTS, Fault
from tests.chaos.system import AnySystem, running_cluster, running_system
from tests.chaos.trial import Trial, run_trial
from tests.support import galera

# Long enough that also whoever waits by a clock which was put back has noticed.
FORGOTTEN_S = 7


def main(seed: int, rounds: int, only: str, during: float) -> int:
    print(f"seed {seed}")
    chooser = random.Random(seed)
    ended = [
        _try_all(FAULTS, running_system, None, chooser, rounds, only, during),
        _try_all(CLUSTER_FAULTS, running_cluster, galera.missing(), chooser, rounds, only, during),
    ]
    return not all(ended)


def _try_all(
    faults: dict[str, Fault],
    running: Callable[[Path], AbstractContextManager[AnySystem]],
    missing: str | None,
    chooser: random.Random,
    rounds: int,
    only: str,
    during: float,
) -> bool:
    """Return True if every promise was kept through the faults with `only` in their names, and nothing is `missing`."""
    chosen = [name for name in faults if only in name]
    if not chosen:
        return True
    if missing:
        print(f"\nNOT TRIED: {', '.join(chosen)}: {missing}")
        return False
    chosen += chooser.choices(chosen, k=rounds)
    wrong: list[str] = []
    looks = survived = 0
    began = time.monotonic()
    print(f"\n| {' | '.join(Trial.HEADINGS)} |\n|{'---|' * len(Trial.HEADINGS)}")
    with tempfile.TemporaryDirectory(prefix="reprise-chaos-") as folder, running(Path(folder)) as system:
        for name in chosen:
            after_s = FORGOTTEN_S if name in CLOCK_FAULTS else 1
            survives = name in CLUSTER_FAULTS
            trial = run_trial(
                system, name, faults[name], before_s=1, during_s=during, after_s=after_s, survives=survives
            )
            print(f"| {' | '.join(trial.cells())} |", flush=True)
            wrong += [f"{name}: {each}" for each in trial.wrong]
            looks += trial.looks
            survived += not trial.wrong
        [(spans,)] = system.rows("SELECT COUNT(*) FROM {db}.spans")
    kept = (
        f"{spans:,} spans, each acknowledged one of them there once; {looks:,} answers, none of them stale;"
        f" {len(chosen)} backups, each restored with all that was acknowledged before it"
    )
    print("\n| faults tried | survived | lost, doubled, stale or late |\n|---|---|---|")
    print(f"| {len(chosen)} | {survived} | {len(wrong)} |")
    print(f"\nThis took {(time.monotonic() - began) / 60:.0f} minutes.", *(wrong or [kept]), sep="\n")
    return not wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--rounds", type=int, default=10, help="further faults, chosen at random")
    parser.add_argument("--only", default="", help="only faults with this in their names")
    parser.add_argument("--during", type=float, default=3, help="seconds that each fault lasts")
    parsed = parser.parse_args()
    if not any(parsed.only in name for name in (*FAULTS, *CLUSTER_FAULTS)):
        parser.error(f"no fault has {parsed.only!r} in its name; there are: {', '.join((*FAULTS, *CLUSTER_FAULTS))}")
    sys.exit(main(**vars(parsed)))
