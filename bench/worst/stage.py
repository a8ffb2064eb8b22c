"""A project that holds as much of everything as its limits allow, and somebody who asks for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from dramatiq import Broker, Middleware
from dramatiq.broker import MessageProxy
from falcon.testing import Result, TestClient
from sqlalchemy import func, select

from app.http.route_table import RoutedApp
from app.models import search
from app.models.base import metadata
from app.process.application import build_app
from app.services.accounts.sign_in_attempts import SignInOrigin
from app.web.cookies import SESSION_COOKIE
from app.web.forms import csrf_token
from config.settings import Settings
from tests.support.api_routes import NOTHING, filled
from tests.support.full_project import everything, organization
from tests.support.world import World, new_world, running, settings_for

EMAIL, PASSWORD = "ada@example.org", "correct horse battery"
QUIET_S = 0.05
SMALL = 0.1
LOW = 400
"""A lower limit is filled to a larger part, so that half of a part is a different number."""


@dataclass(frozen=True, slots=True)
class Size:
    """The part of the limits to which a stage is filled; `round` counts the fillings of one stage."""

    share: float
    round: int = 0

    def named(self, number: int) -> int:
        """Return a number that no other round has."""
        return self.round * 1_000_000 + number

    def of(self, limit: int) -> int:
        """Return the part of a limit."""
        return max(1, min(limit, round(max(limit, LOW) * self.share)))

    def factor(self, limit: int) -> int:
        """Return the part of a limit that multiplies another one: the product of both is as large as `of` has it."""
        return max(1, round(limit * sqrt(self.share)))

    def copies(self, limit: int) -> int:
        """Return how many copies there are of an object that grows with the share, too: one, for a small share."""
        return max(1, round(limit * self.share)) if self.share > SMALL else 1


class Working(Middleware):
    """The messages that workers process now."""

    def __init__(self) -> None:
        self.messages: set[str] = set()

    def before_process_message(self, _broker: Broker, message: MessageProxy) -> None:
        self.messages.add(message.message_id)

    def after_process_message(self, _broker: Broker, message: MessageProxy, **_outcome: Any) -> None:
        self.messages.discard(message.message_id)

    def after_skip_message(self, _broker: Broker, message: MessageProxy) -> None:
        self.messages.discard(message.message_id)


class Sent(NamedTuple):
    """What became of a request: the status, the bytes of the answer, and the seconds of this process's processors."""

    status: int
    size: int
    seconds: float


@dataclass
class Stage:
    """`ids` fill the paths: the parameters' names, and those of the fullest objects of each kind."""

    world: World
    app: RoutedApp
    client: TestClient
    cookies: dict[str, str]
    ids: dict[str, Any] = field(default_factory=dict)
    working: Working = field(default_factory=Working)

    def __post_init__(self) -> None:
        self.world.container.broker.add_middleware(self.working)

    @property
    def csrf(self) -> str:
        return csrf_token(self.cookies[SESSION_COOKIE])

    def made(self, path: str, body: Any) -> Any:
        """What the API made of the body."""
        answer = self.world.post(path, json=body)
        if answer.status_code not in (200, 201):
            raise SystemExit(f"{path}: {answer.status} {answer.text[:500]}")
        return answer.json

    def made_often(self, path: str, count: int, body: Callable[[int], Any]) -> Any:
        """Make so many of a kind, and return the id of the last one."""
        return [self.made(path, body(number)) for number in range(count)][-1]["id"]

    def store(self, batch: bytes) -> None:
        """Send a batch until it is stored, at most five times, as exporters do when a busy server refuses it."""
        for _ in range(5):
            answer = self.world.send(batch)
            if answer.status_code != 503:
                break
        if answer.status_code != 200:
            raise SystemExit(f"A batch was not stored: {answer.status} {answer.text[:500]}")

    def newest(self, table: str) -> Any:
        """Return the id of the row that was added last."""
        with self.world.container.database.read() as connection:
            return connection.scalar(select(func.max(metadata.tables[table].c.id)))

    def ids_of(self, table: str, after: int) -> list[int]:
        """Return the ids of the rows that were added after this one."""
        column = metadata.tables[table].c.id
        with self.world.container.database.read() as connection:
            return list(connection.scalars(select(column).where(column > after).order_by(column)))

    def index(self) -> None:
        """Add up the sessions, and put the words of all turns into the search's index."""
        services = self.world.container.services
        services.session_sums.sweep()
        services.insight_counter.sweep()
        while self._waits():
            services.search_indexer.sweep()

    def _waits(self) -> bool:
        with self.world.container.database.read() as connection:
            return bool(search.waiting_projects(connection))

    def send(self, method: str, template: str, ask: Any) -> Sent:
        """Send a request, and wait until nothing more is in work."""
        started = time.process_time()
        answer = self.answer(method, template, ask)
        size = len(answer.content)  # reads a streamed answer to its end
        took = time.process_time() - started
        return Sent(answer.status_code, size, took + _quiet(self.working))

    def answer(self, method: str, template: str, ask: Any) -> Result:
        """Send a request to the path of the objects that it names; their names may be keys of `ids`."""
        ids = {name: self.ids.get(value, value) for name, value in ask.ids.items()}
        path = filled(template, NOTHING | self.ids | ids)
        headers = {"Content-Type": ask.content_type, **self.world.headers, **ask.headers}
        body = {"body": ask.body} if method != "GET" else {}
        return self.client.simulate_request(
            method, path, query_string=ask.query, headers=headers, cookies=self.cookies, **body
        )


def _quiet(working: Working) -> float:
    """Return the seconds that the process still works after the answer; what threads do that wait is not counted."""
    took = 0.0
    while True:
        started = time.process_time()
        time.sleep(QUIET_S)
        busy = time.process_time() - started
        # On a busy machine a process that works may have no processor for as long.
        if busy < QUIET_S / 3 and not working.messages:
            return took
        took += busy


def _patient(folder: Path) -> Settings:
    """Who waits for a batch waits until it is stored, so that all its work is counted with it."""
    return replace(settings_for(folder), ingest_wait_s=300)


@contextmanager
def stage() -> Iterator[Stage]:
    with TemporaryDirectory() as folder, running(_patient(Path(folder))) as container:
        world = new_world(container)
        world.member(EMAIL, PASSWORD)
        cookie = container.services.sign_ins.sign_in(
            email=EMAIL, password=PASSWORD, origin=SignInOrigin("127.0.0.1")
        ).token
        app = build_app(container)
        made = Stage(world, app, TestClient(app), {SESSION_COOKIE: cookie})
        made.ids |= organization(world) | everything(world)
        made.ids |= {
            "other_project": made.ids["project_id"],
            "small_prompt": made.ids["prompt_id"],
            "small_run": made.ids["run_id"],
        }
        made.ids |= {"project_id": world.project_id, "span_id": f"{1:016x}"}
        yield made
