"""The servers to which a load balancer sends requests."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.support.http_client import Client
from tests.support.waiting import wait_until


class Rotation:
    """Servers in turn. One that is drained gets nothing more, and finishes what it has before it is stopped."""

    def __init__(self, urls: Sequence[str], api_key: str) -> None:
        self._urls, self._api_key = list(urls), api_key
        self._in_flight: Counter[str] = Counter()
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    @contextmanager
    def client(self, timeout_s: float = 120) -> Iterator[Client]:
        """Yield a client of the next server for one request."""
        with self._lock:
            url = self._urls[next(self._numbers) % len(self._urls)]
            self._in_flight[url] += 1
        try:
            yield Client(url, self._api_key, timeout_s)
        finally:
            with self._lock:
                self._in_flight[url] -= 1

    def add(self, url: str) -> None:
        with self._lock:
            self._urls.append(url)

    def drain(self, url: str) -> None:
        with self._lock:
            self._urls.remove(url)
        wait_until(lambda: self._in_flight[url] == 0, f"{url} to be idle")
