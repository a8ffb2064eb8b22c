"""The content of a database, to be compared with that of a restored backup, and a writer that works meanwhile."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from sqlalchemy import select

from app.database.transactions import Database
from app.models import metadata
from app.process.application import build_app
from app.wiring.container import Container
from tests.support.checked_client import CheckedClient
from tests.support.conversations import RecordedTurn, export
from tests.support.full_project import Project
from tests.support.waiting import wait_until
from tests.support.world import World

TURNS = (RecordedTurn("Where is my parcel?", "On its way."), RecordedTurn("Thanks!", "You are welcome."))


def content(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of every table by its name, in the order of their keys."""
    with database.read() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for table in metadata.sorted_tables
        }


def on(container: Container, world: World) -> World:
    """Return the same project, with its key, on another container, with the restored database."""
    return replace(world, container=container, client=CheckedClient(build_app(container)))


@dataclass
class Writer:
    """Sends one conversation after the other, each in one batch, until the `with` block ends.

    `stored` has the acknowledged names, in their order.
    """

    project: Project
    prompt_id: int
    prefix: str = "c"
    stored: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait_for_more()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def wait_for_more(self) -> None:
        """Wait until another conversation is stored."""
        before = len(self.stored)
        wait_until(lambda: len(self.stored) > before, "a stored conversation")

    def send(self, name: str) -> None:
        """Store one conversation of this name."""
        batch = export(self.prompt_id, name, TURNS, start_ns=1_760_000_000_000_000_000)
        assert self.project.send(batch).status_code == 200
        self.stored.append(name)

    def _write(self) -> None:
        for number in itertools.count():
            if self._stop.is_set():
                return
            self.send(f"{self.prefix}-{number}")
