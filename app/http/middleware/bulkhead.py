"""Keeps slow requests from taking the last threads of those that are answered at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator

import falcon
from falcon.typing import ReadableIO

from app.errors import Unavailable
from app.shares import Quota, Shares


class Bulkhead:
    """Limits how many requests of a kind are in work in one process, and how many of them belong to one organization.

    A request beyond `quota` gets 503, and `on_refused` is called. A resource names its methods of the kind in an
    attribute of that name, e.g. `waits = {"POST"}`; a stream is in work until it is closed. `noun` names the kind to
    callers. This comes after the middleware that finds the organization of a request.
    """

    def __init__(
        self, quota: Quota, *, kind: str = "waits", noun: str = "runs", on_refused: Callable[[], None] = lambda: None
    ) -> None:
        self._shares = Shares(quota)
        self._lock = threading.Lock()
        self._kind = kind
        self._noun = noun
        self._on_refused = on_refused

    def process_resource(
        self, req: falcon.Request, _resp: falcon.Response, resource: object, _params: dict[str, object]
    ) -> None:
        if req.method not in getattr(resource, self._kind, ()):
            return
        organization_id = _organization_of(req)
        with self._lock:
            admitted = self._shares.take(organization_id)
        if not admitted:
            self._on_refused()
            raise Unavailable(f"As many {self._noun} as this process takes are in work; send this one again.")
        req.context.place = self, organization_id

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        bulkhead, organization_id = getattr(req.context, "place", (None, 0))
        if bulkhead is not self:
            return
        if resp.stream is None:
            self._release(organization_id)
        else:
            resp.stream = _Held(resp.stream, lambda: self._release(organization_id))

    def _release(self, organization_id: int) -> None:
        with self._lock:
            self._shares.release(organization_id)


def _organization_of(req: falcon.Request) -> int:
    """The organization of the API key, or of the page's project."""
    owner = getattr(req.context, "key", None) or req.context.visit
    return int(owner.organization_id)


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
