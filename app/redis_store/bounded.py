"""Connections to Redis with a limit for each whole wait, even when a reply arrives byte by byte."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import redis
from redis.connection import AbstractConnection

from app.concurrency.deadline import end_of_wait, left_s
from app.concurrency.socket_watch import WATCH
from app.errors import Unavailable

# A wait that was cut off earlier does not show whether Redis is away.
OUTAGE_S = 1.0
# Shorter commands fit into the socket's buffers, so sending them does not block.
LONG_COMMAND_BYTES = 64 * 1024
# For connections without a time-out.
LONGEST_S = 3600.0
LATE = "Redis did not answer in time."


class CutShort(redis.TimeoutError):
    """The request's deadline left too little time to know whether Redis answers."""


class BoundedWaits(AbstractConnection):
    """A mixin that limits each whole wait of a connection.

    A wait ends after the socket's time-out, which redis-py would restart at each byte, or at the thread's deadline.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._connect_s = self.socket_connect_timeout or LONGEST_S
        self._answer_s = self.socket_timeout or LONGEST_S

    def connect_check_health(self, *args: Any, **options: Any) -> None:
        self.socket_connect_timeout = self._allowed(left_s, self._connect_s)
        super().connect_check_health(*args, **options)

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        send: Callable[..., None] = super().send_packed_command
        if sum(map(len, command)) < LONG_COMMAND_BYTES:
            send(command, check_health)
        else:
            self._bounded(send, command, check_health)

    def read_response(self, *args: Any, **options: Any) -> Any:
        return self._bounded(super().read_response, *args, **options)

    def _bounded(self, wait_for_redis: Callable[..., Any], *args: Any, **options: Any) -> Any:
        began = time.monotonic()
        until = self._allowed(end_of_wait, self._answer_s)
        wait = WATCH.begin(until, self._descriptor)
        try:
            return wait_for_redis(*args, **options)
        except redis.ConnectionError as error:
            if not WATCH.end(wait):
                raise
            shows_outage = until - began >= min(OUTAGE_S, self._answer_s)
            raise (redis.TimeoutError if shows_outage else CutShort)(LATE) from error
        finally:
            WATCH.end(wait)

    def _allowed(self, limit: Callable[[float], float], most_s: float) -> float:
        """Return the limit of a wait. After the deadline close the connection, because a reply may still arrive on it.

        That raises no `redis.TimeoutError`, because the circuit breaker would count it as an outage of Redis.
        """
        try:
            return limit(most_s)
        except Unavailable as error:
            self.disconnect()  # type: ignore[no-untyped-call]
            raise redis.ConnectionError(str(error)) from error

    def _descriptor(self) -> int:
        connected = self._sock
        return -1 if connected is None else int(connected.fileno())


@cache
def bounded(kind: type[AbstractConnection]) -> type[AbstractConnection]:
    """Return a subclass of `kind` with `BoundedWaits`."""
    return type(f"Bounded{kind.__name__}", (BoundedWaits, kind), {})
