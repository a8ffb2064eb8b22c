"""Keeps the answers of reads and renderings of prompts as bytes, and sends them again while they are current.

Streams are not kept, and neither are large answers, which `app/http/answers.py` counts until they are sent.

An answer is current for the time and the epoch of what it was made of (`app/services/prompts/service.py`). Each request
is authenticated and counted before it gets a kept answer. Falcon and its middleware are not called then, so this module
does what they do for such a request: deadline, request id, rate limit, metrics. Whatever needs the database, is refused
or is logged goes to the application.
"""

from __future__ import annotations

import io
import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import falcon
import structlog
from gunicorn.http.errors import ParseException

from app.api.authentication import COUNTED, allowance_headers
from app.concurrency import deadline
from app.concurrency.caches import BoundedCache
from app.http.middleware import REQUEST_LOGGER, request_id_of
from app.metrics import Metrics
from app.metrics.recorder import Increment
from app.metrics.registry import CACHE_LOOKUPS, HTTP_REQUESTS, HTTP_SECONDS
from app.models.api_keys import ApiKey
from app.redis_store.rate import RateLimiter
from app.redis_store.shared_window import Allowance
from app.services.accounts.keys import KeyService

Environ = dict[str, Any]
Headers = list[tuple[str, str]]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
RequestKey = tuple[str | bytes, ...]

ANSWERED = "reprise.answered"
"""The name in the environ of the `KeepableAnswer` of a request that may be kept."""
KEPT_BYTES = 16_000_000
BODY_MAX = 4096
"""Bytes of a request's body beyond which its answer is not kept."""
_STATUSES = frozenset({falcon.HTTP_200, falcon.HTTP_304})
_OF_ONE_REQUEST = frozenset({"x-request-id", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"})
_HIT: tuple[Increment, ...] = ((CACHE_LOOKUPS, ("answers", "hit"), ""), (CACHE_LOOKUPS, ("api_keys", "hit"), ""))


class KeptRoute(NamedTuple):
    """The paths of an operation with kept answers, and the scope that a key needs for it."""

    path: re.Pattern[str]
    scope: str

    @classmethod
    def of(cls, path: str, scope: str) -> KeptRoute:
        """Return the route of a path with ids in braces."""
        return cls(re.compile("[1-9][0-9]{0,18}".join(map(re.escape, re.split(r"\{\w+\}", path)))), scope)


class AnswerSource(Protocol):
    """What an answer was made of."""

    @property
    def project_id(self) -> int: ...

    def is_current(self, epoch: bytes) -> bool:
        """Return whether the answer is current in this epoch of its project."""
        ...


@dataclass(frozen=True, slots=True)
class KeepableAnswer:
    """What the `Responder` of a request notes: what the answer was made of, and the route for the metrics."""

    source: AnswerSource
    route: str


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer without the headers that differ between requests.

    `counted` are the counters of a request that gets it, and `timed` the labels of its duration.
    """

    status: str
    headers: Headers
    chunks: list[bytes]
    source: AnswerSource
    counted: tuple[Increment, ...]
    timed: tuple[str, str]


class KeptAnswers:
    """Sends kept answers, and keeps those of the application; thread-safe. `routes` has a route for each method."""

    def __init__(
        self,
        routes: Mapping[str, KeptRoute],
        *,
        keys: KeyService,
        limiter: RateLimiter,
        metrics: Metrics,
        within_s: float,
    ) -> None:
        self._routes, self._keys, self._limiter, self._metrics = routes, keys, limiter, metrics
        self._within_s = within_s
        self._logger = logging.getLogger(REQUEST_LOGGER)
        self._answers: BoundedCache[KeptAnswer] = BoundedCache(KEPT_BYTES)

    def answer(self, env: Environ, start_response: Callable[..., Any], application: Application) -> Iterable[bytes]:
        """Return the answer to a request: a kept one, or the application's."""
        began = time.perf_counter()
        request_key = self._request_key(env)
        if request_key is None:
            return application(env, start_response)
        kept = self._answers.get(request_key)
        headers = self._headers(env, kept) if kept else None
        if kept is None or headers is None:
            self._metrics.count(CACHE_LOOKUPS, "answers", "miss")
            return self._made(request_key, env, start_response, application)
        start_response(kept.status, headers)
        self._metrics.count_together(kept.counted, HTTP_SECONDS, kept.timed, time.perf_counter() - began)
        return kept.chunks

    def _request_key(self, env: Environ) -> RequestKey | None:
        """Return everything in a request that decides its answer, besides its API key; None if no answer is kept.

        A short body is read, and put back for the application.
        """
        path: str = env["PATH_INFO"]
        route = self._routes.get(env["REQUEST_METHOD"])
        if route is None or not route.path.fullmatch(path) or self._logger.isEnabledFor(logging.DEBUG):
            return None
        if env["REQUEST_METHOD"] == "GET":
            return path, env["QUERY_STRING"], env.get("HTTP_IF_NONE_MATCH", "")
        length = env.get("CONTENT_LENGTH") or ""
        if not re.fullmatch("[0-9]{1,4}", length) or int(length) > BODY_MAX or env.get("HTTP_CONTENT_ENCODING"):
            return None
        try:
            body = env["wsgi.input"].read(int(length))
        except (OSError, ParseException) as error:
            env["wsgi.input"] = _Broken(error)
            return None
        env["wsgi.input"] = io.BytesIO(body)
        return path, env["QUERY_STRING"], env.get("CONTENT_TYPE", ""), length, body

    def _headers(self, env: Environ, kept: KeptAnswer) -> Headers | None:
        """Admit and count a request; return the headers of its answer, None if the application must answer it."""
        key = self._keys.known(env.get("HTTP_AUTHORIZATION", ""))
        if key is None or key.project_id != kept.source.project_id:
            return None
        if self._routes[env["REQUEST_METHOD"]].scope not in key.scopes:
            return None
        request_id = request_id_of(env.get("HTTP_X_REQUEST_ID", ""))
        structlog.contextvars.bind_contextvars(request_id=request_id)
        allowance = self._counted(key)
        if not allowance.allowed or not kept.source.is_current(allowance.epoch):
            env[COUNTED] = allowance
            return None
        return [*kept.headers, ("x-request-id", request_id), *allowance_headers(allowance)]

    def _counted(self, key: ApiKey) -> Allowance:
        deadline.begin(self._within_s)
        try:
            return self._limiter.hit(key.id, project_id=key.project_id)
        finally:
            deadline.finish()

    def _made(
        self, request_key: RequestKey, env: Environ, start_response: Callable[..., Any], application: Application
    ) -> Iterable[bytes]:
        """Return the application's answer, and keep it if it may be kept."""
        noted: list[tuple[str, Headers]] = []

        def note(status: str, headers: Headers, *rest: Any) -> Any:
            noted.append((status, headers))
            return start_response(status, headers, *rest)

        chunks = application(env, note)
        answered: KeepableAnswer | None = env.get(ANSWERED)
        if answered and isinstance(chunks, list) and len(noted) == 1 and noted[0][0] in _STATUSES:
            [(status, headers)] = noted
            method = env["REQUEST_METHOD"]
            kept = KeptAnswer(
                status,
                [header for header in headers if header[0].lower() not in _OF_ONE_REQUEST],
                chunks,
                answered.source,
                ((HTTP_REQUESTS, (method, answered.route, status[:3]), ""), *_HIT),
                (method, answered.route),
            )
            # Besides its bytes an answer has objects, of about 3,000 bytes.
            self._answers.put(request_key, kept, weight=3000 + sum(map(len, request_key)) + sum(map(len, chunks)))
        return chunks


@dataclass(frozen=True, slots=True)
class _Broken:
    """The stream of a body that can't be read."""

    error: Exception

    def read(self, _size: int = -1, /) -> bytes:
        raise self.error
