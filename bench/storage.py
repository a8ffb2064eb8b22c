"""Measures the total size of a span of 2.7 KB on disk, on both databases: `python -m bench.storage`.

Varied conversations (`bench/varied.py`) are stored by the service's ingest, then counted and indexed for the search
like by the clock. `--longer` multiplies the length of the recorded texts. `--spread` is the number of batches of a
turn's spans. The size after `reprise compress` is measured, too.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

from sqlalchemy import text

from app.models import search
from app.wiring.container import Container
from bench.dictionary import bodies_of
from bench.varied import LONGER, conversations
from config import logging
from config.settings import Settings
from tests.support.mariadb import MariaDB, mariadb_server
from tests.support.redis_server import redis_server
from tests.support.uncompressed import compress_all
from tests.support.world import World, new_world, running, settings_for

GOAL = 1_000
BATCH = 64
Sizes = Mapping[str, float]


def store(world: World, spans: int, *, longer: float, spread: int = 1) -> tuple[int, int]:
    """Store at least so many spans; returns their number and the bytes of their bodies as JSON."""
    ingest, count, size = world.container.services.ingest, 0, 0
    made = conversations(world.prompt(), seed=1, start_ns=time.time_ns() - 10**15, longer=longer)
    while count < spans:
        whole = merged(islice(made, BATCH))
        for batch in dealt(whole, spread) if spread > 1 else [whole]:
            bodies = bodies_of(batch)
            receipt = ingest.store(world.project_id, batch)
            assert receipt.stored == len(bodies), receipt
            count, size = count + len(bodies), size + sum(map(len, bodies))
    while world.container.services.insight_counter.count(world.project_id):
        pass
    return count, size


def merged(batches: Iterable[bytes]) -> bytes:
    """Return one batch of what several have."""
    groups = chain.from_iterable(json.loads(batch)["resourceSpans"] for batch in batches)
    return json.dumps({"resourceSpans": list(groups)}, separators=(",", ":"), ensure_ascii=False).encode()


def dealt(batch: bytes, count: int) -> Iterator[bytes]:
    """Yield as many batches, which have the spans of one by their ids, which are random."""
    for place in range(count):
        part = json.loads(batch)
        for resource in part["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                scope["spans"] = [span for span in scope["spans"] if int(span["spanId"], 16) % count == place]
        yield json.dumps(part, separators=(",", ":"), ensure_ascii=False).encode()


def rewrite(container: Container) -> None:
    """Compress what is stored, as `reprise compress` does, and give the space back to the disk."""
    compress_all(container)
    for _ in container.services.span_packer.pack_all():
        pass
    if container.settings.embedded:
        with closing(sqlite3.connect(str(container.database.engine.url.database), isolation_level=None)) as connection:
            connection.execute("VACUUM")
    else:
        with container.database.read() as of_mysql:
            of_mysql.execute(text("OPTIMIZE TABLE spans, turns, sessions"))


def index(container: Container) -> None:
    """Read the words of all that is stored."""
    while _waits(container):
        container.services.search_indexer.sweep()


def _waits(container: Container) -> bool:
    with container.database.read() as connection:
        return bool(search.waiting_projects(connection))


def sqlite_sizes(container: Container) -> Sizes:
    """Return the bytes of the pages of each table with its indexes, and of the whole database under ""."""
    tables = "SELECT tbl_name, SUM(pgsize) FROM dbstat JOIN sqlite_schema USING (name) GROUP BY tbl_name"
    with container.database.read() as connection:
        sizes = {row[0]: row[1] for row in connection.execute(text(tables))}
    return {**sizes, **sqlite_size(container)}


def sqlite_size(container: Container) -> Sizes:
    """Return the bytes of the whole database under ""; not every SQLite has the table `dbstat` with details."""
    whole = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    with container.database.read() as connection:
        return {"": connection.scalar(text(whole)) or 0}


def mysql_sizes(mariadb: MariaDB, container: Container) -> Sizes:
    """As `sqlite_sizes`: the pages that are in use, which all are in memory; small tables reserve many more."""
    of_database = f"name LIKE '{container.database.engine.url.database}/%'"
    rows = mariadb.execute(
        "SELECT name, COUNT(*) * 16384 FROM information_schema.innodb_buffer_page"
        " JOIN information_schema.innodb_sys_tablespaces USING (space)"
        f" WHERE page_type IN ('INDEX', 'BLOB') AND {of_database} GROUP BY name"
    )
    sizes = {name.split("/")[1]: size for name, size in rows}
    return {**sizes, "": sum(sizes.values())}


@dataclass(frozen=True, slots=True)
class Costs:
    """What spans cost on disk, in bytes each: all in all, without the index of the search, and by table."""

    spans: int
    json_bytes: float
    whole: float
    without_search: float
    tables: Sizes
    rewritten: Sizes = field(default_factory=dict)


def costs(
    container: Container, sizes: Callable[[Container], Sizes], *, spans: int, longer: float, spread: int = 1
) -> Costs:
    """Store spans in an empty database, read their words, and rewrite turns that arrived in several batches."""
    world = new_world(container)
    before = sizes(container)
    count, json_bytes = store(world, spans, longer=longer, spread=spread)
    unread = sizes(container)
    index(container)
    by_table = {table: (after - before.get(table, 0)) / count for table, after in sizes(container).items()}
    sums = Costs(count, json_bytes / count, by_table.pop(""), (unread[""] - before[""]) / count, by_table)
    rewrite(container)
    after = sizes(container)
    rewritten = {table: (size - before.get(table, 0)) / count for table, size in after.items()}
    return replace(sums, rewritten=rewritten)


def show(name: str, sums: Costs) -> None:
    print(f"{name}: {sums.whole:.0f} bytes a span, goal at most {GOAL:,}; {sums.without_search:.0f} without the search")
    print(f"  {sums.spans:,} spans of {sums.json_bytes:,.0f} bytes")
    _show_tables(sums.tables)
    whole = sums.rewritten[""]
    print(f"  {whole:.0f} bytes a span an hour later, or after reprise compress, with the space given back")
    _show_tables(sums.rewritten)


def _show_tables(tables: Sizes) -> None:
    for table, size in sorted(tables.items(), key=lambda row: -row[1]):
        if size >= 1 and table:
            print(f"  {size:6.0f} {table}")


def main(spans: int, longer: float, spread: int) -> None:
    logging.configure(Settings(log_level="warning"))
    with tempfile.TemporaryDirectory() as folder, running(settings_for(Path(folder))) as container:
        show("SQLite", costs(container, sqlite_sizes, spans=spans, longer=longer, spread=spread))
    with (
        tempfile.TemporaryDirectory() as folder,
        mariadb_server(buffer_pool="1G", flush_log=2) as mariadb,
        mariadb.database() as mysql_url,
        redis_server() as redis,
        redis.database() as redis_url,
        running(settings_for(Path(folder), mysql_url=mysql_url, redis_url=redis_url)) as container,
    ):
        show("MySQL", costs(container, partial(mysql_sizes, mariadb), spans=spans, longer=longer, spread=spread))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=20_000)
    parser.add_argument("--longer", type=float, default=LONGER)
    parser.add_argument("--spread", type=int, default=1)
    main(**vars(parser.parse_args()))
