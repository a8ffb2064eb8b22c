"""`make upgrade`: upgrades a used installation of release 0.1.0 to this release under load, and goes back."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.support import mariadb, redis_server, releases
from tests.upgrade.trial import Trial, upgrade_embedded, upgrade_services

UPGRADES = {"SQLite": upgrade_embedded, "MariaDB": upgrade_services}


def main(only: str) -> int:
    if lacking := releases.missing(releases.FIRST) or mariadb.missing() or redis_server.missing():
        print(f"NOT TRIED: {lacking}")
        return 1
    began, wrong = time.monotonic(), list[str]()
    print(f"| database | {' | '.join(Trial.HEADINGS)} |\n|{'---|' * (1 + len(Trial.HEADINGS))}")
    with tempfile.TemporaryDirectory(prefix="reprise-upgrade-") as folder:
        earlier = releases.checked_out(releases.FIRST, Path(folder, "0.1.0"))
        for name in [name for name in UPGRADES if only in name]:
            place = Path(folder, name)
            place.mkdir()
            trial = UPGRADES[name](place, earlier)
            print(f"| {name} | {' | '.join(trial.cells())} |", flush=True)
            wrong += [f"{name}: {problem}" for problem in trial.wrong]
    print(f"\nThis took {(time.monotonic() - began) / 60:.0f} minutes.", *wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="SQLite or MariaDB")
    sys.exit(main(parser.parse_args().only))
