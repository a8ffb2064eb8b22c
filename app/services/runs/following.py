"""Follows a run while its answer is written: reads its pieces from Redis, and its end from the row."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import redis
import structlog

from app.errors import WaitTimeout
from app.models.runs import RunRow
from app.redis_store import keys
from app.redis_store.runs import DATA, END, KIND, SEALED
from app.services.runs.masking import RunMasking

log = structlog.get_logger(__name__)

# After this many seconds without a piece a keep-alive is sent and the row is read: the worker may have died.
KEEP_ALIVE_S = 10.0
PAUSE_AFTER_ERROR_S = 1.0
PIECES_PER_READ = 500
BEGINNING = "0-0"


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A piece of an answer; `id` is its entry's id in Redis, `data` is JSON, empty if the follower may not read it."""

    id: str
    kind: str
    data: bytes


RunUpdate = AnswerPiece | RunRow | None
"""A piece, the run after its end, or None as a keep-alive."""


def shortened(time_s: float) -> float:
    """Return between half of `time_s` and `time_s`, at random, so that callers don't read their rows all at once."""
    return random.uniform(time_s / 2, time_s)  # noqa: S311 - jitter, no secret


def still_in_work(run_id: int, wait_s: float) -> WaitTimeout:
    return WaitTimeout(f"The run has not ended within {wait_s:g} s. It goes on: see GET /api/v1/runs/{run_id}.")


def when_ended(row: RunRow) -> RunRow | None:
    """Return a run that has ended; None for one in work.

    A thread that waits must not keep the row of a run in work: its texts may have megabytes.
    """
    return row if row.finished else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFollower:
    """Follows runs; `client` may block, `read_run` is called with a project's and a run's id."""

    client: redis.Redis
    masking: RunMasking
    read_run: Callable[[int, int], RunRow]
    wait_s: float
    look_s: float = KEEP_ALIVE_S
    pause_s: float = PAUSE_AFTER_ERROR_S

    def follow(
        self, *, project_id: int, run_id: int, after: str = BEGINNING, api_key_id: int | None = None
    ) -> Iterator[RunUpdate]:
        """Yield the pieces after `after`, and finally the row of the ended run.

        If the project masks, the API key that began the run gets the model's original answer. Other followers get the
        stored row and no pieces. Pieces that Redis has lost are missing, but the row is complete. Raises `WaitTimeout`
        if the run does not end in time; it goes on.
        """
        deadline = time.monotonic() + self.wait_s
        row = self.read_run(project_id, run_id)
        is_own = api_key_id is not None and api_key_id == row.api_key_id
        ended = when_ended(row)
        del row
        while True:
            pieces = self._read(run_id, after, 0.0 if ended else min(shortened(self.look_s), self.wait_s), is_own)
            written = [piece for piece in pieces if piece.kind != END]
            yield from (piece if piece.data else None for piece in written)
            after = written[-1].id if written else after
            if len(written) < len(pieces) or not pieces:
                if ended:
                    yield self.masking.with_original_answer(ended) if is_own else ended
                    return
                ended = when_ended(self.read_run(project_id, run_id))
            if not ended and time.monotonic() >= deadline:
                raise still_in_work(run_id, self.wait_s)
            if not pieces and not ended:
                yield None

    def _read(self, run_id: int, after: str, wait_s: float, is_own: bool) -> list[AnswerPiece]:
        """Return the pieces after `after`; waits at most `wait_s` for the first one."""
        key = keys.run_events(run_id)
        try:
            reply = self.client.xread({key: after}, count=PIECES_PER_READ, block=max(1, round(wait_s * 1000)))
        except redis.RedisError as error:
            log.debug("live_run_unreadable", run_id=run_id, error=str(error))
            time.sleep(min(self.pause_s, wait_s))
            return []
        streams: list[tuple[bytes, list[tuple[bytes, dict[bytes, bytes]]]]] = reply  # type: ignore[assignment]
        return [self._piece(number, fields, is_own) for _, entries in streams for number, fields in entries]

    def _piece(self, number: bytes, fields: dict[bytes, bytes], is_own: bool) -> AnswerPiece:
        data, sealed = fields.get(DATA.encode(), b""), fields.get(SEALED.encode())
        if sealed and is_own:
            data = self.masking.rules.cipher.decrypt(sealed)
        return AnswerPiece(number.decode(), fields[KIND.encode()].decode(), data)
