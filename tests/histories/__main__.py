"""`make histories`: seeded trials of concurrent clients and faults on each system; prints what each found."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.histories.clients import VERSIONS, prompt_with_versions
from tests.histories.systems import SYSTEMS
from tests.histories.trial import Trial, run_trial
from tests.support import galera


def main(first: int, seeds: int, only: str) -> int:
    wrong = [problem for name in SYSTEMS if only in name for problem in _tried(name, range(first, first + seeds))]
    print(*wrong, sep="\n")
    return bool(wrong)


def _tried(name: str, seeds: range) -> list[str]:
    """Return what was wrong on a system in the trials of all seeds."""
    if name == "Galera" and (lacking := galera.missing()):
        return [f"NOT TRIED on Galera: {lacking}"]
    began, calls, wrong = time.monotonic(), 0, list[str]()
    print(f"\n| database | {' | '.join(Trial.HEADINGS)} |\n|{'---|' * (1 + len(Trial.HEADINGS))}")
    with tempfile.TemporaryDirectory(prefix="reprise-histories-") as folder, SYSTEMS[name](Path(folder)) as system:
        versions = prompt_with_versions(system.clients[0], VERSIONS)
        for seed in seeds:
            trial = run_trial(system, versions, seed)
            print(f"| {name} | {' | '.join(trial.cells())} |", flush=True)
            calls += trial.calls
            wrong += [f"{name}, seed {seed}: {problem}" for problem in trial.wrong]
    minutes = (time.monotonic() - began) / 60
    print(f"\n{name}: {len(seeds)} trials, {calls:,} calls, {len(wrong)} contradictions in {minutes:.0f} minutes")
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seeds", type=int, default=50, help="trials on each system")
    parser.add_argument("--only", default="", help="a part of the name of a system")
    parsed = parser.parse_args()
    sys.exit(main(parsed.first, parsed.seeds, parsed.only))
