"""What a span of 2.7 KB costs on disk, all included, on both databases: `python -m bench.storage`.

Varied conversations (`bench/varied.py`) are stored by the product's own ingest, counted, and read for the search, as
the clock does. `--longer` says how many times as long texts are as in the recordings.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, islice
from pathlib import Path

from sqlalchemy import text

from app.container import Container
from app.models import search
from bench.dictionary import bodies_of
from bench.varied import LONGER, conversations
from config import logging
from config.settings import Settings
from tests.support.mariadb import MariaDB, mariadb_server
from tests.support.redis_server import redis_server
from tests.support.world import World, new_world, running, settings_for

BATCH = 64


def store(world: World, spans: int, *, longer: float = LONGER) -> tuple[int, int]:
    """Store at least so many spans of several prompts; returns their number and the bytes of their bodies as JSON."""
    ingest, count, size = world.container.services.ingest, 0, 0
    made = conversations(world.prompt(), seed=1, start_ns=time.time_ns() - 10**15, longer=longer)
    while count < spans:
        batch = merged(islice(made, BATCH))
        found = bodies_of(batch)
        receipt = ingest.store(world.project_id, batch)
        assert receipt.stored == len(found), receipt
        count, size = count + len(found), size + sum(map(len, found))
    while world.container.services.insight_counter.count(world.project_id):
        pass
    return count, size


def merged(batches: Iterable[bytes]) -> bytes:
    """Return one batch of what several have."""
    found = chain.from_iterable(json.loads(batch)["resourceSpans"] for batch in batches)
    return json.dumps({"resourceSpans": list(found)}, separators=(",", ":"), ensure_ascii=False).encode()


def index(container: Container) -> None:
    """Read the words of all that is stored."""
    while _waits(container):
        container.services.search_indexer.sweep()


def _waits(container: Container) -> bool:
    with container.database.read() as connection:
        return search.newest_waiting(connection) is not None


def sqlite_sizes(container: Container) -> dict[str, int]:
    """Return the bytes of the pages of each table with its indexes, and of the whole database under ""."""
    tables = "SELECT tbl_name, SUM(pgsize) FROM dbstat JOIN sqlite_schema USING (name) GROUP BY tbl_name"
    whole = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    with container.database.read() as connection:
        sizes = {row[0]: row[1] for row in connection.execute(text(tables))}
        return sizes | {"": connection.scalar(text(whole)) or 0}


def mysql_sizes(mariadb: MariaDB, container: Container) -> dict[str, int]:
    """As `sqlite_sizes`: the pages that are in use, which all are in memory; small tables reserve many more."""
    of_database = f"name LIKE '{container.database.engine.url.database}/%'"
    found = mariadb.execute(
        "SELECT name, COUNT(*) * 16384 FROM information_schema.innodb_buffer_page"
        " JOIN information_schema.innodb_sys_tablespaces USING (space)"
        f" WHERE page_type IN ('INDEX', 'BLOB') AND {of_database} GROUP BY name"
    )
    sizes = {name.split("/")[1]: size for name, size in found}
    return sizes | {"": sum(sizes.values())}


def measure(
    name: str, container: Container, sizes: Callable[[Container], dict[str, int]], spans: int, longer: float
) -> None:
    """Store spans and print what each costs, by table, before and after their words are read for the search."""
    world = new_world(container)
    empty = sizes(container)
    count, size = store(world, spans, longer=longer)
    unread = sizes(container)
    index(container)
    grown = {table: (after - empty.get(table, 0)) / count for table, after in sizes(container).items()}
    print(f"{name}: {count:,} spans of {size / count:,.0f} bytes, texts {longer:g} times as long as recorded")
    print(f"  {grown['']:6.0f} bytes a span, {(unread[''] - empty['']) / count:.0f} without the search")
    for table, bytes_ in sorted(grown.items(), key=lambda row: -row[1]):
        if table and bytes_ >= 1:
            print(f"  {bytes_:6.0f} {table}")


def main(spans: int, longer: float) -> None:
    logging.configure(Settings(log_level="warning"))
    with tempfile.TemporaryDirectory() as folder, running(settings_for(Path(folder))) as container:
        measure("SQLite", container, sqlite_sizes, spans, longer)
    with (
        tempfile.TemporaryDirectory() as folder,
        mariadb_server(buffer_pool="1G", flush_log=2) as mariadb,
        mariadb.database() as mysql_url,
        redis_server() as redis,
        redis.database() as redis_url,
        running(settings_for(Path(folder), mysql_url=mysql_url, redis_url=redis_url)) as container,
    ):
        measure("MySQL", container, partial(mysql_sizes, mariadb), spans, longer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=20_000)
    parser.add_argument("--longer", type=float, default=LONGER)
    main(**vars(parser.parse_args()))
