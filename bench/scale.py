"""Measures what changes with size: `python -m bench.scale`, with 1,000,000 spans, or `--spans 10000000`.

Spans are written in bulk until each size is reached. At each size ingest and pages are measured, and the server
explains every statement that they execute. At the end ingest and pages alternate with those of a second instance, which
has 10,000 spans. The database is MariaDB with durable commits.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from falcon.testing import Result, TestClient
from sqlalchemy import Engine, event, func, select, text, update

from app.models import alert_rules, language_models, online_checks, removal, search
from app.models.alert_rules import AlertRule
from app.models.audit_log import SYSTEM
from app.models.online_checks import OnlineCheck
from app.models.queries import insert_row
from app.models.removal import TurnScope
from app.models.turns import turns
from app.process.application import build_app
from app.services.scores.checking import TURNS_PER_CHECKING
from app.services.scores.online_checks import NewCheck
from app.services.sessions.saved_filters import FILTERS_MAX, NewFilter
from app.services.webhooks.alerts import DAY_MINUTES, NewAlertRule
from app.wiring.container import Container
from app.work.remover import Remover
from bench.scale_compare import compare, timed
from bench.scale_queries import LOG, SESSIONS
from bench.scale_rows import Maker
from bench.spans import batch
from config import logging
from config.settings import Settings
from tests.support.mariadb import MariaDB, mariadb_server
from tests.support.process import stat_of
from tests.support.redis_server import redis_server
from tests.support.world import new_world, running, settings_for

BATCH_SPANS = 512
SMALL = 10_000
TABLES = ("spans", "turns", "sessions", "search_words", "runs")


@dataclass
class Bench:
    """A project with prompts in a container of this process, and what is asked of it."""

    container: Container
    client: TestClient
    headers: dict[str, str]
    maker: Maker
    database_pid: int
    long_session: str = ""
    statements: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)

    def get(self, path: str) -> Result:
        answer = self.client.simulate_get(path, headers=self.headers)
        if answer.status_code != 200:
            raise SystemExit(f"{path}: {answer.status} {answer.text}")
        return answer

    def pages(self) -> dict[str, Callable[[], object]]:
        log = f"/api/v1/prompts/{self.maker.prompt_ids[0]}/logs"
        since = self.container.now() - timedelta(days=89)
        few = f"/api/v1/prompts/{self.maker.prompt_ids[-1]}/logs?type=run&search=nowhere&limit=50"
        insight = f"/api/v1/prompts/{self.maker.prompt_ids[0]}/insight"
        listed = "/api/v1/sessions?limit=50"
        check, rule = self.online_check(), self.alert_rule()
        cursor = self.get(f"{log}?limit=200").json["nextCursor"]
        for _ in range(10):
            cursor = self.get(f"{log}?limit=200&cursor={cursor}").json["nextCursor"] or cursor
        return {
            **{f"log, {name}": partial(self.get, f"{log}?limit=50&{query}") for name, query in LOG.items()},
            "log, after 2,200 entries": lambda: self.get(f"{log}?limit=50&cursor={cursor}"),
            **{f"sessions, {name}": partial(self.get, f"{listed}&{query}") for name, query in SESSIONS.items()},
            "sessions, shortest, of a prompt": lambda: self.get(
                f"{listed}&sort=shortest&promptId={self.maker.prompt_ids[-1]}"
            ),
            "sessions, saved filters": lambda: self.get("/api/v1/session-filters"),
            "session of 100 turns": lambda: self.get(f"/api/v1/sessions/{self.long_session}"),
            "log, runs of a prompt with few": lambda: self.get(few),
            "usage of 90 days by model": lambda: self.get(f"/api/v1/usage?from={since:%F}&groupBy=model"),
            "observed of 90 days by model": lambda: self.get(f"/api/v1/usage/observed?from={since:%F}&groupBy=model"),
            "insight of 90 days by version": lambda: self.get(f"{insight}?from={since:%F}"),
            "online checks that are due": self.container.services.online_check_runner.due,
            "online check, its next turns": lambda: self.next_turns(check),
            "alert rule on a month's errors": lambda: self.error_share(rule),
            "webhooks that are due": self.container.services.webhook_deliverer.due,
            "rejected spans": lambda: self.get("/api/v1/rejected-spans?limit=50"),
        }

    def alert_rule(self) -> AlertRule:
        """A rule that never fires, on as many sessions as a rule looks at."""
        new = NewAlertRule("errorShare", 0.999, 30 * DAY_MINUTES)
        return self.container.services.alerts.create(project_id=self.maker.project_id, new=new)

    def error_share(self, rule: AlertRule) -> object:
        with self.container.database.read() as connection:
            return alert_rules.error_share(connection, rule, from_ns=0)

    def online_check(self) -> OnlineCheck:
        """A check that has looked at half of the project's turns."""
        checks, project_id = self.container.services.online_checks, self.maker.project_id
        new = NewCheck(name="sunny", kind="contains", value="sunny")
        prompt_id = self.maker.prompt_ids[0]
        check = checks.add(project_id=project_id, prompt_id=prompt_id, new=new, actor=SYSTEM, may_spend=False)
        with self.container.database.write() as connection:
            half = select(func.avg(turns.c.batch_id)).where(turns.c.project_id == project_id)
            position = int(connection.scalar(half) or 0)
            connection.execute(update(online_checks.online_checks).values(position=position))
        return replace(check, position=position)

    def next_turns(self, check: OnlineCheck) -> object:
        with self.container.database.read() as connection:
            return online_checks.turns_after(connection, check, before_batch=2**62, limit=TURNS_PER_CHECKING)

    def grow(self, count: int, model_id: int) -> float:
        """Write `count` spans and a tenth as many runs, and do the clock's work on them; return spans per second."""
        rate = self.maker.spans(count)
        self.maker.runs(count // 10, model_id)
        self.count()
        self.index()
        return rate

    def measure(self, size: int, repeats: int) -> None:
        print(f"\n{size:,} spans stored; ms at the median, and of a processor, here and in the database")
        print(f"  {'ingest':34} {self.ingest(repeats):9.0f} spans/s (batches of {BATCH_SPANS}, one at a time)")
        for name, page in self.pages().items():
            times = 3 if "nothing" in name else repeats
            began = self.processor_s()
            took = [timed(page) for _ in range(times)]
            here, there = (1000 * (now - then) / times for now, then in zip(self.processor_s(), began, strict=True))
            print(f"  {name:48} {statistics.median(took) * 1000:9.1f} ms {here:7.1f} {there:7.1f}", flush=True)
            self.statements[name] = self.recorded(page)

    def processor_s(self) -> tuple[float, float]:
        """Return the processor seconds of this process and of the database, which other work hardly affects."""
        fields = stat_of(Path(f"/proc/{self.database_pid}"))
        return time.process_time(), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def count(self) -> None:
        """Count the sessions, as the clock does."""
        started, counter, counted = time.perf_counter(), self.container.services.insight_counter, 0
        while count := counter.count(self.maker.project_id):
            counted += count
        print(f"\nsessions counted at {counted / (time.perf_counter() - started):,.0f} a second")

    def ingest(self, repeats: int) -> float:
        """Return the median of the spans a second of so many batches."""
        return BATCH_SPANS / statistics.median(self.store_batch() for _ in range(repeats))

    def store_batch(self) -> float:
        """Store a batch of new traces; returns its seconds."""
        body = batch(self.maker.prompt_ids[0], BATCH_SPANS, start_ns=time.time_ns())
        return timed(lambda: self.container.services.ingest.store(self.maker.project_id, body))

    def index(self) -> None:
        """Read the words of all stored spans, because bulk writes do not mark them for the index."""
        database, started = self.container.database, time.perf_counter()
        project_id, block = search.EVERYTHING
        with database.write() as connection:
            insert_row(connection, search.search_waiting, project_id=project_id, block=block)
        while self._waits():
            self.container.services.search_indexer.sweep()
        print(f"words read in {time.perf_counter() - started:,.0f} s")

    def _waits(self) -> bool:
        with self.container.database.read() as connection:
            return bool(search.waiting_projects(connection))

    def recorded(self, page: Callable[[], object]) -> list[tuple[str, Any]]:
        """The statements that a page executes."""
        statements: list[tuple[str, Any]] = []

        def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
            statements.append((statement, parameters))

        event.listen(Engine, "before_cursor_execute", note)
        page()
        event.remove(Engine, "before_cursor_execute", note)
        if not statements:
            raise SystemExit("The page executed nothing that could be explained.")
        return statements

    def explain(self) -> None:
        print("\nHow the server finds the rows (table: index, rows it expects to read)")
        with self.container.database.read() as connection:
            for name, listed in self.statements.items():
                for statement, parameters in dict(listed).items():
                    plan = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).mappings()
                    steps = [f"{row['table']}: {row['key'] or 'NO INDEX'}, {row['rows']}" for row in plan]
                    print(f"  {name:34} {'; '.join(steps)}")

    def sizes(self, mariadb: MariaDB) -> None:
        print("\nOn disk")
        with self.container.database.read() as connection:
            count = connection.execute(text("SELECT COUNT(*) FROM spans")).scalar_one()
            for table in TABLES:
                connection.execute(text(f"ANALYZE TABLE {table}")).all()
                data, index = connection.execute(
                    text(
                        "SELECT data_length, index_length FROM information_schema.tables"
                        " WHERE table_schema = DATABASE() AND table_name = :name"
                    ),
                    {"name": table},
                ).one()
                per_span = (data + index) / count
                print(f"  {table:34} {data >> 20:7} MiB and indexes {index >> 20:5} MiB: {per_span:6.0f} bytes a span")
        print(f"  memory: mariadbd {_rss_mib(mariadb.pid)} MiB")

    def retention(self, rows: int) -> None:
        """Remove the oldest, as the clock does, and store meanwhile."""
        now = self.container.now()
        remover = Remover(database=self.container.database)
        started, removed, between = time.perf_counter(), 0, []
        while removed < rows:
            old = TurnScope(self.maker.project_id, before=now - timedelta(days=30))
            step = self.container.database.retrying(
                lambda connection: removal.remove_turns(connection, old, limit=remover.at_once)  # noqa: B023
            )
            if not step:
                break
            removed += step
            between.append(step)
        took = time.perf_counter() - started
        print(f"\nRetention removes {removed / took:,.0f} rows/s, {took / len(between) * 1000:.0f} ms a transaction")


def _rss_mib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) >> 10


@contextmanager
def served(buffer_pool: str) -> Iterator[tuple[Bench, MariaDB]]:
    """An instance on separate servers; this process writes its spans."""
    with (
        tempfile.TemporaryDirectory() as folder,
        mariadb_server(buffer_pool=buffer_pool) as mariadb,
        mariadb.database() as mysql_url,
        redis_server() as redis,
        redis.database() as redis_url,
        running(settings_for(Path(folder), mysql_url=mysql_url, redis_url=redis_url)) as container,
    ):
        world = new_world(container)
        maker = Maker(container.database, world.project_id, [world.prompt() for _ in range(20)])
        for number in range(FILTERS_MAX):
            new = NewFilter(f"{number:03}", {"minTurns": number})
            container.services.saved_filters.save(project_id=world.project_id, new=new)
        bench = Bench(container, TestClient(build_app(container)), world.headers, maker, mariadb.pid)
        bench.long_session = maker.long_session(100)
        yield bench, mariadb


def main(spans: int, repeats: int, buffer_pool: str) -> None:
    logging.configure(Settings(log_level="warning"))
    sizes = [size for size in (SMALL, 100_000, 1_000_000, 10_000_000) if size < spans] + [spans]
    with served(buffer_pool) as (large, mariadb):
        with large.container.database.read() as connection:
            model_id = connection.execute(select(language_models.language_models.c.id).limit(1)).scalar_one()
        stored = 0
        for size in sizes:
            print(f"\nwritten in bulk at {large.grow(size - stored, model_id):,.0f} spans/s")
            stored = size
            large.measure(size, repeats)
        with served(buffer_pool) as (small, _):
            small.grow(SMALL, model_id)
            print(f"\nIn turns with {SMALL:,} spans: ms at the median there, here, and their ratio")
            compare(small, large, repeats)
        large.sizes(mariadb)
        large.explain()
        large.retention(50_000)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--buffer-pool", default="2G")
    main(**vars(parser.parse_args()))
