"""Keeps requests that take long from taking the last places of those that are answered at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator

import falcon
from falcon.typing import ReadableIO

from app.errors import Unavailable


class Bulkhead:
    """At most `places` requests of a kind may be in work in one process; one more is told to come back.

    A resource names the methods of that kind in the attribute `kind`, e.g. `waits = {"POST"}`. A stream is in work
    until it is closed. `words` name the kind to whoever is refused.
    """

    def __init__(self, places: int, *, kind: str = "waits", words: str = "runs") -> None:
        self._places = threading.BoundedSemaphore(places)
        self._kind = kind
        self._words = words

    def process_resource(
        self, req: falcon.Request, _resp: falcon.Response, resource: object, _params: dict[str, object]
    ) -> None:
        if req.method not in getattr(resource, self._kind, ()):
            return
        if not self._places.acquire(blocking=False):
            raise Unavailable(f"As many {self._words} as this process takes are in work; send this one again.")
        req.context.place_taken = self

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        if getattr(req.context, "place_taken", None) is not self:
            return
        if resp.stream is None:
            self._places.release()
        else:
            resp.stream = _Held(resp.stream, self._places.release)


class _Held:
    """A stream with its place. The server closes it at its end, and when the caller is gone before."""

    def __init__(self, stream: ReadableIO | Iterable[bytes], release: Callable[[], None]) -> None:
        self._stream = stream
        self._release = release

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._stream)  # type: ignore[arg-type] # files are never streamed where one waits

    def close(self) -> None:
        self._release()
        if close := getattr(self._stream, "close", None):
            close()
