"""Authenticates requests by API key, limits their rate, and checks the scope of the key."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import assert_never

import falcon

from app.errors import Forbidden, Invalid, RateLimited, Unauthorized
from app.http.access import ByKey, ByMetricsToken, ByProgramToken, ByRole, BySession, Public, access_of
from app.models.api_keys import ApiKey
from app.redis_store.local_counts import WINDOW_S
from app.redis_store.rate import RateLimiter
from app.redis_store.shared_window import Allowance
from app.services.accounts.keys import KeyService
from app.services.replays.programs import ProgramService

COUNTED = "reprise.counted"
"""The name in the environ of the `Allowance` of a request that is already counted."""
OF_INGEST = "batches and scores"
# Where the SDKs of Anthropic, Google and Azure send a key.
_KEY_HEADERS = ("x-api-key", "x-goog-api-key", "api-key")


@dataclass(frozen=True, slots=True)
class Authentication:
    """Middleware that admits the callers that a resource declares in `access`: by API key, or by another token.

    `app.web.admission.Admission` does the same for pages.
    """

    keys: KeyService
    limiter: RateLimiter
    programs: ProgramService
    metrics_token: str

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: object, _params: dict[str, object]
    ) -> None:
        match access_of(resource):
            case ByKey() as access:
                self._check_key(req, resp, access)
            case ByProgramToken():
                self._check_program(req, resp)
            case ByMetricsToken():
                self._check_metrics_token(req)
            case ByRole() | BySession() | Public():
                pass
            case never:
                assert_never(never)

    def _check_key(self, req: falcon.Request, resp: falcon.Response, access: ByKey) -> None:
        key = self.keys.authenticate(req.auth)
        req.context.key = key
        needed = access.needed(req.method)
        req.context.epoch = self._count(req, resp, key, ingest=needed == "ingest")
        if needed is not None and needed not in key.scopes:
            raise Forbidden(f"This API key lacks the scope {needed}.")

    def _check_program(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Admit a program by the token of its replay. All programs of a project have the limit of one API key."""
        sent = (req.auth or "").removeprefix("Bearer ") or next(filter(None, map(req.get_header, _KEY_HEADERS)), "")
        program = req.context.key = self.programs.authenticate(sent.strip())
        allowance = self.limiter.hit(f"programs {program.project_id}", project_id=program.project_id)
        resp.set_header("RateLimit-Policy", self._policy)
        _check(resp, allowance, "requests of programs", "project")

    def _check_metrics_token(self, req: falcon.Request) -> None:
        if not self.metrics_token:
            raise falcon.HTTPRouteNotFound
        sent = (req.auth or "").encode()
        if not hmac.compare_digest(sent, f"Bearer {self.metrics_token}".encode()):
            raise Unauthorized("Send the header Authorization: Bearer <REPRISE_METRICS_TOKEN>.")

    def _count(self, req: falcon.Request, resp: falcon.Response, key: ApiKey, *, ingest: bool) -> bytes:
        """Count the request, unless it is counted; return the epoch of the key's project, or raise `RateLimited`.

        One round trip to Redis does both.
        """
        allowance: Allowance = req.env.pop(COUNTED, None) or self.limiter.hit(
            key.id, project_id=key.project_id, ingest=ingest
        )
        resp.set_header("RateLimit-Policy", self._policy)
        _check(resp, allowance, OF_INGEST if ingest else "requests")
        return allowance.epoch

    @property
    def _policy(self) -> str:
        """The limits of all requests and of ingest. Requests of ingest count towards both."""
        limiter = self.limiter
        return f'"api";q={limiter.limit};w={WINDOW_S}, "ingest";q={limiter.ingest_limit};w={WINDOW_S}'


def count_more(limiter: RateLimiter, resp: falcon.Response, key: ApiKey, scores: int) -> None:
    """Count `scores` in addition to the request, which is already counted. Raises `RateLimited` over the limit.

    Raises `Invalid` for more scores than the limit of a whole minute.
    """
    if scores >= limiter.ingest_limit:
        raise Invalid(f"scores: Send at most {limiter.ingest_limit} at once, the rate limit of a minute.")
    if scores:
        _check(resp, limiter.hit(key.id, ingest=True, amount=scores), OF_INGEST)


def allowance_headers(allowance: Allowance) -> list[tuple[str, str]]:
    """Return the headers with what is left of a limit."""
    return [
        ("ratelimit-limit", str(allowance.limit)),
        ("ratelimit-remaining", str(allowance.remaining)),
        ("ratelimit-reset", str(allowance.reset_s)),
    ]


def _check(resp: falcon.Response, allowance: Allowance, counted: str, caller: str = "API key") -> None:
    """Set the headers with the remaining allowance; raise `RateLimited` if it is used up."""
    resp.set_headers(allowance_headers(allowance))
    if not allowance.allowed:
        raise RateLimited(
            f"Over the rate limit of {allowance.limit} {counted} per minute and {caller}.", max(1, allowance.reset_s)
        )
