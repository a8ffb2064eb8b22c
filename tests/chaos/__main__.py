"""`make chaos`: every fault in turn, then at random, under load; prints what docs/reliability.md keeps."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.chaos.faults import CLOCK_FAULTS, FAULTS
from tests.chaos.system import running_system
from tests.chaos.trial import Trial, run_trial

# Long enough that also whoever waits by a clock which was put back has noticed.
FORGOTTEN_S = 7


def main(seed: int, rounds: int, only: str, during: float) -> int:
    chosen = [name for name in FAULTS if only in name]
    chosen += random.Random(seed).choices(chosen, k=rounds)
    wrong: list[str] = []
    print(f"seed {seed}\n\n| {' | '.join(Trial.HEADINGS)} |\n|{'---|' * len(Trial.HEADINGS)}")
    with tempfile.TemporaryDirectory(prefix="reprise-chaos-") as folder, running_system(Path(folder)) as system:
        for name in chosen:
            after_s = FORGOTTEN_S if name in CLOCK_FAULTS else 1
            trial = run_trial(system, name, FAULTS[name], before_s=1, during_s=during, after_s=after_s)
            print(f"| {' | '.join(trial.cells())} |", flush=True)
            wrong += [f"{name}: {each}" for each in trial.wrong]
        [(spans,)] = system.rows("SELECT COUNT(*) FROM {db}.spans")
    print(f"\n{spans:,} spans, each acknowledged one of them there once" if not wrong else "\n" + "\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--rounds", type=int, default=10, help="further faults, chosen at random")
    parser.add_argument("--only", default="", help="only faults whose name has this")
    parser.add_argument("--during", type=float, default=3, help="seconds that each fault lasts")
    sys.exit(main(**vars(parser.parse_args())))
