"""A power cut of MariaDB's machine loses no batch that was acknowledged."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.power.test_power_cuts import SPANS, batch_of
from tests.support import written
from tests.support.mariadb import MariaDB, install
from tests.support.redis_server import RedisServer
from tests.support.waiting import NotReady
from tests.support.world import new_world, running, settings_for
from tests.support.written import Record, Recorder

CUTS = 5
BATCHES = 30
# Their writes are ordinary calls then, which the library sees.
OPTIONS = ("--innodb-use-native-aio=0", "--innodb-flush-method=fsync")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.services,
    pytest.mark.skipif(bool(written.missing()), reason=str(written.missing())),
]


@dataclass(frozen=True)
class Recorded:
    """The writes of a server, and the name of the database in which batches were stored."""

    recorder: Recorder
    database: str

    def after(self, records: list[Record], chooser: random.Random, folder: Path) -> Iterator[str]:
        """Yield what is wrong after a power cut that follows the records."""
        folder.mkdir()
        acknowledged = self.recorder.cut(records, chooser, folder / "data")
        with server(folder) as mariadb:
            checked = mariadb.execute(f"CHECK TABLE {self.database}.spans, {self.database}.turns")
            rows = mariadb.execute(f"SELECT LOWER(HEX(trace_id)), COUNT(*) FROM {self.database}.spans GROUP BY 1")
            turns = mariadb.execute(f"SELECT LOWER(HEX(trace_id)) FROM {self.database}.turns")
        yield from (f"{table}: {message}" for table, _, _, message in checked if message != "OK")
        spans = dict(rows)
        if set(spans) != {trace for (trace,) in turns} or set(spans.values()) - {SPANS}:
            yield "a batch is torn"
        yield from (f"lost {trace}" for trace in acknowledged - set(spans))


def server(folder: Path, recorder: Recorder | None = None) -> MariaDB:
    """Return a server on a folder in which users were made before."""
    mariadb = MariaDB(folder, environment=recorder.environment if recorder else None, options=OPTIONS)
    mariadb.argv = [option for option in mariadb.argv if not option.startswith("--init-file")]
    return mariadb


@pytest.fixture(scope="module")
def recorded(
    needs_mariadb: None, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Recorded]:
    with redis_server.database() as redis_url:
        yield recorded_in(tmp_path_factory.mktemp("power"), redis_url)


def recorded_in(folder: Path, redis_url: str) -> Recorded:
    """Store batches on a server, after it has made its tables and was started again."""
    install(folder)
    with MariaDB(folder) as mariadb:
        name = mariadb.create_database()
        with running(settings_for(folder, mysql_url=mariadb.url(name), redis_url=redis_url)):
            pass
        mariadb.terminate()
    recorder = Recorder(folder / "data", folder)
    recorder.begin()
    with (
        server(folder, recorder) as mariadb,
        running(settings_for(folder, mysql_url=mariadb.url(name), redis_url=redis_url)) as container,
    ):
        world = new_world(container)
        prompt_id = world.prompt()
        for _ in range(BATCHES):
            trace = secrets.token_hex(16)
            assert world.send(batch_of(trace, prompt_id)).status_code == 200
            recorder.note(trace)
    return Recorded(recorder, name)


def moments(records: list[Record]) -> range:
    """Return the numbers of records after which power may be cut: MariaDB has started before."""
    return range(next(number for number, record in enumerate(records) if record.kind == "N"), len(records))


def test_what_was_acknowledged_is_there_after_a_power_cut(recorded: Recorded, tmp_path: Path) -> None:
    records = list(recorded.recorder.records())
    for seed in range(CUTS):
        chooser = random.Random(seed)
        cut = records[: chooser.choice(moments(records))]
        assert list(recorded.after(cut, chooser, tmp_path / str(seed))) == [], seed


def test_a_database_that_does_not_sync_is_noticed(recorded: Recorded, tmp_path: Path) -> None:
    records = [record for record in recorded.recorder.records() if record.kind != "S"]

    assert list(started_or_not(recorded.after(records, random.Random(1), tmp_path / "unsynced")))


def started_or_not(problems: Iterator[str]) -> Iterator[str]:
    """Yield what is wrong; on some files InnoDB does not even start."""
    try:
        yield from problems
    except NotReady as ended:
        yield str(ended)
