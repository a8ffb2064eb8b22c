"""Measures the time of pages on the server: `python -m bench.pages`, with 1,000,000 spans, or `--spans 70000`.

A signed-in reader in this process opens each page; the printed time is that of the request without the socket. The
database is SQLite or, with `--mariadb`, a new MariaDB server. With `--browser` Chromium opens the pages, too: the
printed time is from the start of the navigation until the page's scripts have run; the size is of the compressed page.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from falcon import App
from falcon.testing import TestClient
from sqlalchemy import insert, select

from app.models import language_models
from app.models.prompts import prompts
from app.process.application import build_app
from app.services.accounts.sign_in_attempts import SignInOrigin
from app.web.cookies import SESSION_COOKIE
from app.wiring.container import Container
from bench.scale_rows import Maker
from config import logging
from config.settings import Settings
from tests.support.browser import Visit, chromium, visit
from tests.support.conversations import RecordedCall, RecordedTurn, export
from tests.support.mariadb import mariadb_server
from tests.support.waiting import LOOPBACK
from tests.support.world import World, new_world, running, settings_for

EMAIL, PASSWORD = "ada@example.org", "correct horse battery"
TURNS, PROMPTS, RUNS = 100, 10_000, 50_000
LONG = {"rows": [{"id": number, "text": "lorem ipsum dolor sit amet"} for number in range(4_000)]}
USABLE = "performance.getEntriesByType('navigation').map(n => [n.domContentLoadedEventEnd, n.encodedBodySize])[0]"


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
class PageReader:
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
    argued = RecordedTurn("Store this.", "Stored.", (RecordedCall("store", LONG, {}),))
    world.send(export(prompt_ids[-1], "long argument", [argued], start_ns=time.time_ns()))
    argued_id = world.get(f"/api/v1/prompts/{prompt_ids[-1]}/logs?type=otel").json["entries"][0]["id"]
    maker.spans(spans)
    with database.read() as connection:
        model_id = connection.execute(select(language_models.language_models.c.id).limit(1)).scalar_one()
        pattern = connection.execute(select(prompts).where(prompts.c.id == prompt_ids[0])).mappings().one()
    maker.runs(RUNS, model_id)
    copied = {name: value for name, value in pattern.items() if name != "id"}
    with database.write() as connection:
        connection.execute(insert(prompts), [copied | {"name": f"Prompt {number}"} for number in range(PROMPTS)])
    base = f"/projects/{world.project_id}"
    prompt, logs = (f"{base}/prompts/{prompt_ids[0]}{part}" for part in ("", "/logs"))
    return {
        f"session of {TURNS} turns": f"{base}/sessions/{session_id}",
        "session of 200 KB": f"{base}/sessions/{argued_id}",
        "sessions": f"{base}/sessions",
        "editor": f"{prompt}/edit",
        "versions": f"{prompt}/versions",
        "insight": f"{prompt}/insight",
        "test cases": f"{prompt}/test-cases",
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
    return {
        SESSION_COOKIE: services.sign_ins.sign_in(
            email=EMAIL, password=PASSWORD, origin=SignInOrigin("127.0.0.1")
        ).token
    }


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Silent(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Leave the requests out of what is printed."""


@contextmanager
def window(app: App, cookies: dict[str, str]) -> Iterator[Visit]:
    """Serve the app on loopback and yield a window of Chromium that is signed in."""
    with make_server(LOOPBACK, 0, app, Server, Silent) as server, chromium() as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://{LOOPBACK}:{server.server_port}"
        with visit(browser, url, viewport={"width": 1280, "height": 800}) as visited:
            visited.page.context.add_cookies([{"name": name, "value": cookies[name], "url": url} for name in cookies])
            yield visited
        server.shutdown()


def shown(visited: Visit, path: str, repeats: int) -> str:
    """Return the medians for a page in a browser; after the first time its cache has the scripts and style sheets."""
    measured = []
    for _ in range(repeats):
        visited.open(path)
        measured.append(visited.page.evaluate(USABLE))
    usable, size = map(statistics.median, zip(*measured, strict=True))
    return f"; usable after {usable:5.0f} ms, {size / 1000:4.0f} kB compressed"


def main(spans: int, repeats: int, profile: str, *, mariadb: bool, browser: bool) -> None:
    logging.configure(Settings(log_level="warning"))
    with ExitStack() as stack:
        made = stack.enter_context(container(mariadb=mariadb))
        world = new_world(made)
        app, cookies = build_app(made), sign_in(world)
        reader = PageReader(TestClient(app), cookies)
        pages = fill(world, spans)
        visited = stack.enter_context(window(app, cookies)) if browser else None
        for name, path in pages.items():
            opened = [reader.open(path) for _ in range(repeats)]
            took, computed, size = map(statistics.median, zip(*opened, strict=True))
            in_browser = shown(visited, path, repeats) if visited else ""
            print(f"{name:24} {took:7.1f} ms, {computed:7.1f} ms computing, {size / 1000:4.0f} kB{in_browser}")
            if profile and profile in name:
                reader.profile(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--mariadb", action="store_true")
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--profile", default="", help="a page's name, or a part of it: where its time goes")
    main(**vars(parser.parse_args()))
