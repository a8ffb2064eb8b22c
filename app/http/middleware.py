"""Falcon middleware for every request: deadline, address, metrics, id, headers, path, bulkheads for slow requests."""

from __future__ import annotations

import logging
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache

import falcon
import structlog
from falcon.typing import ReadableIO

from app.concurrency import deadline, lasting_changes
from app.concurrency.quotas import FairSemaphore, Quota, Shares
from app.errors import Unavailable, require
from app.metrics import Metrics
from app.metrics.registry import HTTP_REQUESTS, HTTP_SECONDS, RATE_LIMITED
from app.network.proxies import TrustedProxies, parse_address

REQUEST_LOGGER = "request"
BODILESS = (204, 304)
log = structlog.get_logger(__name__)
request_log = structlog.get_logger(REQUEST_LOGGER)
FORWARDING_HEADERS = (
    "HTTP_FORWARDED",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
)
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}
# Browsers send no unencrypted request for a year.
HSTS = {"Strict-Transport-Security": "max-age=31536000"}
# With what is made of it, a body needs about three times its bytes. The largest body is one of a run with files.
BODIES_BYTES = 48 * 1024 * 1024
BODIES_SHARE_PERCENT = 100
BODY_WAIT_S = 5.0
BULKHEAD_ATTRIBUTES = ("waits", "stores", "follows", "exports")
"""The attributes of resources that name the methods of one kind (see `Bulkhead`)."""
_CONVERTER = re.compile(r":[a-z]+(\([^)]*\))?}")
_SANE_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Lets a request wait for the database and Redis until `within_s` after its beginning.

    It also begins to note whether the request changes something that lasts (`app/concurrency/lasting_changes.py`). A
    streamed answer has no deadline. This middleware comes before all that wait, so that the deadline covers them.
    """

    within_s: float

    def process_request(self, _req: falcon.Request, _resp: falcon.Response) -> None:
        deadline.begin(self.within_s)
        lasting_changes.begin()

    def process_response(
        self, _req: falcon.Request, _resp: falcon.Response, _resource: object, _succeeded: bool
    ) -> None:
        deadline.finish()


class Forwarded:
    """Sets `req.remote_addr` and `req.scheme` to the client's, and removes the headers of proxies that name them.

    This middleware comes before all that read the address, the scheme or these headers.
    """

    def __init__(self, proxies: TrustedProxies) -> None:
        self._proxies = proxies
        self._warned = False

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        env, peer = req.env, req.remote_addr
        forwarded_for = env.get("HTTP_X_FORWARDED_FOR", "")
        if self._proxies.trusts(peer):
            env["REMOTE_ADDR"] = self._proxies.client(peer, forwarded_for)
            # The last of several proxies is the nearest.
            scheme = env.get("HTTP_X_FORWARDED_PROTO", "").rpartition(",")[2].strip().lower()
            if scheme in ("http", "https"):
                env["wsgi.url_scheme"] = scheme
        elif forwarded_for and not self._warned:
            self._warn(peer)
        for name in FORWARDING_HEADERS:
            env.pop(name, None)

    def _warn(self, peer: str) -> None:
        """Warn once about a proxy that is not configured: all of its clients seem to have one address."""
        address = parse_address(peer)
        if address is not None and address.is_private:
            self._warned = True
            log.warning("proxy_not_trusted", address=peer, setting="REPRISE_TRUSTED_PROXIES")


@dataclass(frozen=True, slots=True)
class RequestMetrics:
    """Counts and times every request, by route template and status.

    This middleware comes first, so that it also counts requests that others refuse.
    """

    metrics: Metrics

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        req.context.counted_from = time.perf_counter()

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        # Only known methods and routes become labels: callers can invent unlimited others.
        method = req.method if req.method in falcon.HTTP_METHODS else "OTHER"
        route = route_of(req.uri_template or "unmatched")
        self.metrics.count(HTTP_REQUESTS, method, route, str(resp.status_code))
        self.metrics.observe(HTTP_SECONDS, time.perf_counter() - req.context.counted_from, method, route)
        if resp.status_code == 429:
            self.metrics.count(RATE_LIMITED)


@lru_cache
def route_of(template: str) -> str:
    """Return a template of the router without its converters."""
    return _CONVERTER.sub("}", template)


class RequestId:
    """Sets the id of a request for the answer and log lines: the caller's id if it is well-formed, else a new one."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        request_id = request_id_of(req.get_header("X-Request-Id") or "")
        structlog.contextvars.bind_contextvars(request_id=request_id)
        resp.set_header("X-Request-Id", request_id)
        req.context.started = time.monotonic()

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        # Checked first, because collecting the fields costs time in every request.
        if not logging.getLogger(REQUEST_LOGGER).isEnabledFor(logging.DEBUG):
            return
        request_log.debug(
            "request",
            method=req.method,
            path=path_for_log(req),
            status=resp.status_code,
            duration_ms=round((time.monotonic() - req.context.started) * 1000, 1),
        )


def request_id_of(sent: str) -> str:
    """Return the id that a caller sent if it is well-formed, else a new one of 32 hexadecimal digits."""
    if sent and _SANE_ID.fullmatch(sent):
        return sent
    # An id is no secret, so it needs none of the system's random numbers: to read them would let another thread run
    # first. Python seeds `random` again in a forked process, so that its ids differ.
    return f"{random.getrandbits(128):032x}"


def path_for_log(req: falcon.Request) -> str:
    """Return the path, or its template if the path is a secret: anyone with an invitation's token can join."""
    template = req.uri_template or ""
    return template if "{token}" in template else req.path


class SecurityHeaders:
    """Prevents browsers from showing answers of the API as pages, and caches from storing them.

    The headers are set before a request is answered, so that pages can replace them (see `app/web/errors.py`).
    If `public_url` is https, browsers are instructed to use only https, independent of proxies.
    """

    def __init__(self, public_url: str = "") -> None:
        self._headers = SECURITY_HEADERS | (HSTS if public_url.startswith("https://") else {})

    def process_request(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.set_headers(self._headers)


class HeadLength:
    """Answers HEAD with the length of GET's answer.

    This middleware comes before `Compression`: Falcon calls `process_response` in reverse order, so that the length is
    that of the compressed answer.
    """

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        if req.method == "HEAD" and resp.stream is None and resp.status_code not in BODILESS:
            resp.content_length = len(resp.render_body() or b"")


class OneLeadingSlash:
    """Answers 404 to a path that does not begin with exactly one slash.

    Falcon's router skips leading slashes: the resource of `/api/v1/prompts` would also answer `//api/v1/prompts`, and
    a path that lost its slash to a `SCRIPT_NAME`. Access does not depend on this check: the resource decides it.
    """

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        # The path as sent. `req.path` has lost a trailing slash, so that "//" is "/" there.
        path = req.env["PATH_INFO"] or "/"
        if not path.startswith("/") or path.startswith("//"):
            raise falcon.HTTPRouteNotFound


class Bulkhead:
    """Limits the concurrent requests of a kind in one process, in total and per organization.

    So slow requests never occupy the last threads, which fast requests need. A request above `quota` gets 503, and
    `on_refused` is called. A resource names its methods of the kind in an attribute, e.g. `waits = {"POST"}`. A stream
    counts until it is closed. `noun` names the kind in messages. This middleware comes after the one that finds the
    organization of a request.
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
        organization_id = _required_organization(req)
        with self._lock:
            admitted = self._shares.take(organization_id)
        if not admitted:
            self._on_refused()
            raise Unavailable(f"This process is working on as many {self._noun} as it can; send the request again.")
        req.context.bulkhead = self, organization_id

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        bulkhead, organization_id = getattr(req.context, "bulkhead", (None, 0))
        if bulkhead is not self:
            return
        if resp.stream is None:
            self._release(organization_id)
        else:
            resp.stream = HeldStream(resp.stream, lambda: self._release(organization_id))

    def _release(self, organization_id: int) -> None:
        with self._lock:
            self._shares.release(organization_id)


class BodiesAtOnce:
    """Limits the large bodies that a process has in memory at once to `BODIES_BYTES`, in total and per organization.

    A body counts until its request is answered. This middleware comes before all that read bodies.
    """

    def __init__(self, *, on_refused: Callable[[], None] = lambda: None) -> None:
        self._semaphore = FairSemaphore(Quota.of(BODIES_BYTES, BODIES_SHARE_PERCENT), on_refused=on_refused)

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        req.context.held_bodies = held = ExitStack()
        req.context.hold_body = lambda size: held.enter_context(
            self._semaphore.hold(_required_organization(req), wait_s=BODY_WAIT_S, places=min(size, BODIES_BYTES))
        )

    def process_response(
        self, req: falcon.Request, _resp: falcon.Response, _resource: object, _succeeded: bool
    ) -> None:
        if held := getattr(req.context, "held_bodies", None):
            held.close()
            # It refers to the request, which would be in memory until garbage is collected.
            del req.context.hold_body


def is_counted(resource: object, method: str) -> bool:
    """Return whether a `Bulkhead` counts the requests of a resource with this method."""
    return any(method in getattr(resource, kind, ()) for kind in BULKHEAD_ATTRIBUTES)


def _required_organization(req: falcon.Request) -> int:
    """Return the organization of a request; raises `NotFound` if there is none, as for a page without a project."""
    return require(organization_of(req), "There is no such project.")


def organization_of(req: falcon.Request) -> int | None:
    """Return the organization of the API key, or of the page's project; None for other requests."""
    visit = getattr(req.context, "visit", None)
    owner = getattr(req.context, "key", None) or (visit and visit.project)
    return int(owner.organization_id) if owner else None


@dataclass(frozen=True, slots=True)
class HeldStream:
    """A stream that calls `release` when the server closes it: at its end, or when the caller is gone."""

    stream: ReadableIO | Iterable[bytes]
    release: Callable[[], None]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.stream)  # type: ignore[arg-type] # no resource with a bulkhead streams a file

    def close(self) -> None:
        self.release()
        if close := getattr(self.stream, "close", None):
            close()
