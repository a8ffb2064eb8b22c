"""How long pages take on the server: `python -m bench.pages`, with 1,000,000 spans, or `--spans 70000`.

A signed-in reader in this process opens each page; what is printed is all of a request but the socket. On SQLite, or
with `--mariadb` on a MariaDB server of its own.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from falcon.testing import TestClient
from sqlalchemy import insert, select

from app.container import Container
from app.models import language_models
from app.models.prompts import prompts
from app.process.application import build_app
from app.services.accounts.sign_in_attempts import Origin
from app.web.cookies import SESSION_COOKIE
from bench.scale_rows import Maker
from config import logging
from config.settings import Settings
from tests.support.mariadb import mariadb_server
from tests.support.world import World, new_world, running, settings_for

EMAIL, PASSWORD = "ada@example.org", "correct horse battery"
TURNS, PROMPTS, RUNS = 100, 10_000, 50_000


@contextmanager
def container(*, mariadb: bool) -> Iterator[Container]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        mysql_url = ""
        if mariadb:
            server = stack.enter_context(mariadb_server(buffer_pool="1G"))
            mysql_url = stack.enter_context(server.database())
        yield stack.enter_context(running(settings_for(Path(folder), mysql_url=mysql_url)))


@dataclass(frozen=True)
class Reader:
    """Signed in, without a browser."""

    client: TestClient
    cookies: dict[str, str]

    def open(self, path: str) -> tuple[float, float, int]:
        """Milliseconds in all, milliseconds of them computing, bytes."""
        started, computed = time.perf_counter(), time.thread_time()
        answer = self.client.simulate_get(path, cookies=self.cookies)
        took, computed = time.perf_counter() - started, time.thread_time() - computed
        if answer.status_code != 200:
            raise SystemExit(f"{path}: {answer.status}")
        return took * 1000, computed * 1000, len(answer.content)

    def profile(self, path: str) -> None:
        profiler = cProfile.Profile()
        profiler.runcall(self.open, path)
        pstats.Stats(profiler).sort_stats("cumtime").print_stats(50)


def fill(world: World, spans: int) -> dict[str, str]:
    """Store so much, and name the pages that show it."""
    database = world.container.database
    prompt_ids = [world.prompt() for _ in range(20)]
    maker = Maker(database, world.project_id, prompt_ids)
    session_id = maker.long_session(TURNS)
    maker.spans(spans)
    with database.read() as connection:
        model_id = connection.execute(select(language_models.language_models.c.id).limit(1)).scalar_one()
        pattern = connection.execute(select(prompts).where(prompts.c.id == prompt_ids[0])).mappings().one()
    maker.runs(RUNS, model_id)
    copied = {name: value for name, value in pattern.items() if name != "id"}
    with database.write() as connection:
        connection.execute(insert(prompts), [copied | {"name": f"Prompt {number}"} for number in range(PROMPTS)])
    base = f"/projects/{world.project_id}"
    logs = f"{base}/prompts/{prompt_ids[0]}/logs"
    return {
        f"session of {TURNS} turns": f"{base}/sessions/{session_id}",
        f"{PROMPTS:,} prompts": f"{base}/prompts",
        "prompts, a search": f"{base}/prompts?search=99",
        "logs": logs,
        "logs, sessions alone": f"{logs}?type=otel",
        "logs, a search": f"{logs}?search=weather",
        "usage": f"{base}/usage",
        "getting started": f"{base}/start",
    }


def sign_in(world: World) -> dict[str, str]:
    services = world.container.services
    services.accounts.ensure_admin(organization_id=world.organization_id, email=EMAIL, password=PASSWORD, name="Ada")
    return {SESSION_COOKIE: services.sign_ins.sign_in(email=EMAIL, password=PASSWORD, origin=Origin("127.0.0.1")).token}


def main(spans: int, repeats: int, profile: str, *, mariadb: bool) -> None:
    logging.configure(Settings(log_level="warning"))
    with container(mariadb=mariadb) as made:
        world = new_world(made)
        reader = Reader(TestClient(build_app(made)), sign_in(world))
        for name, path in fill(world, spans).items():
            opened = [reader.open(path) for _ in range(repeats)]
            took, computed, size = map(statistics.median, zip(*opened, strict=True))
            print(f"{name:24} {took:7.1f} ms, {computed:7.1f} ms of them computing, {size / 1000:7.0f} kB")
            if profile and profile in name:
                reader.profile(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--mariadb", action="store_true")
    parser.add_argument("--profile", default="", help="a page's name, or a part of it: where its time goes")
    main(**vars(parser.parse_args()))
