"""A database of release 0.1.0 and its answers, in tests/data/releases. `python -m tests.upgrade.stored` makes both."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import orjson
import zstandard

from tests.support import releases
from tests.support.deployment import EmbeddedServer, environment, run_to_end
from tests.support.releases import ROOT
from tests.support.remote_project import RemoteProject
from tests.upgrade.kinds import Used
from tests.upgrade.trial import SETTINGS, Before, is_idle, used_before

FOLDER = ROOT / "tests" / "data" / "releases"
DATABASE, ANSWERS = FOLDER / "0.1.0.db.zst", FOLDER / "0.1.0.json.zst"
LEVEL = 19
# Answers that depend on the day on which they are read.
TIMED = ("/usage", "/insight", "/replay-history", "/judge-agreement", "/invitations")


def unpacked(folder: Path) -> tuple[Path, Before]:
    """Write the backup of the database into a folder; return it, with the answers that its server gave."""
    backup = folder / "0.1.0.db"
    backup.write_bytes(zstandard.decompress(DATABASE.read_bytes()))
    stored = orjson.loads(zstandard.decompress(ANSWERS.read_bytes()))
    return backup, Before(Used(**stored["used"]), stored["answers"], stored["key"])


def make() -> None:
    with tempfile.TemporaryDirectory(prefix="reprise-upgrade-") as name:
        folder = Path(name)
        home, backup = folder / "home", folder / "backup.db"
        earlier = releases.checked_out(releases.FIRST, folder / "0.1.0")
        with EmbeddedServer(home, SETTINGS, release=earlier) as server:
            before = used_before(RemoteProject.administering(server), earlier, partial(is_idle, home))
            run_to_end(["reprise", "backup", str(backup)], environment(home), release=earlier)
        # The key of a run is kept for a day only.
        used = replace(before.used, keyed_runs={})
        answers = {path: answer for path, answer in before.answers.items() if not any(part in path for part in TIMED)}
        stored = {"used": asdict(used), "answers": answers, "key": before.key}
        FOLDER.mkdir(exist_ok=True)
        DATABASE.write_bytes(zstandard.compress(backup.read_bytes(), LEVEL))
        ANSWERS.write_bytes(zstandard.compress(orjson.dumps(stored), LEVEL))


if __name__ == "__main__":
    make()
