"""A replay in work shows itself in the database: that its worker lives, how far it is, what it has cost so far."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import structlog

from app.db import Database
from app.errors import Unavailable
from app.models import replay_claims
from app.replay.types import TurnResult
from app.timestamps import Now

log = structlog.get_logger(__name__)

BEAT_S = 1.0


class Pulse:
    """Writes from a thread of its own, so that a model which takes minutes stops nothing.

    `done` counts recorded steps. `lost()` is True once the replay is no longer this worker's: it was cancelled,
    or given to another worker.
    """

    def __init__(
        self,
        *,
        database: Database,
        now: Now,
        replay_id: int,
        token: str,
        spent: Callable[[], dict[str, Any]],
        every_s: float = BEAT_S,
    ) -> None:
        self._database = database
        self._now = now
        self._replay_id = replay_id
        self._token = token
        self._spent = spent
        self._every_s = every_s
        self.done = 0
        self._stop = threading.Event()
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"replay-{replay_id}", daemon=True)

    def lost(self) -> bool:
        return self._lost.is_set()

    def progress(self, done: int, _total: int, _turn: TurnResult | None) -> None:
        self.done = done

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._stop.wait(self._every_s) and not self.lost():
            try:
                self._write()
            except Unavailable as error:
                log.warning("replay_pulse_missed", replay_id=self._replay_id, error=str(error))

    def _write(self) -> None:
        values = {"done": self.done, **self._spent()}
        with self._database.write() as connection:
            mine = replay_claims.touch_replay(
                connection, replay_id=self._replay_id, token=self._token, values=values, now=self._now()
            )
        if not mine:
            self._lost.set()
