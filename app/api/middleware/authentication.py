"""Knows whose request it is: the API key, its project, and whether the key's minute is used up."""

from __future__ import annotations

import falcon

from app.errors import Forbidden, RateLimited
from app.limits.rate import RateLimiter
from app.models.api_keys import ApiKey
from app.services.keys import KeyService


class Authentication:
    """Every resource under /api is closed, unless its class says `public = True`.

    A resource names the scope that its method needs in `scopes`, e.g. `{"POST": "run"}`;
    otherwise reading needs `read` and changing needs `write`.
    """

    def __init__(self, *, keys: KeyService, limiter: RateLimiter) -> None:
        self._keys = keys
        self._limiter = limiter

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: object, _params: dict[str, object]
    ) -> None:
        if not req.path.startswith("/api/") or getattr(resource, "public", False):
            return
        key = self._keys.authenticate(req.auth)
        req.context.key = key
        req.context.epoch = self._count(resp, key)
        if (needed := scope_of(resource, req.method)) not in key.scopes:
            raise Forbidden(f"This API key lacks the scope {needed}.")

    def _count(self, resp: falcon.Response, key: ApiKey) -> bytes:
        """The epoch of the key's project."""
        allowance = self._limiter.hit(key.id, project_id=key.project_id)
        resp.set_header("RateLimit-Limit", str(allowance.limit))
        resp.set_header("RateLimit-Remaining", str(allowance.remaining))
        resp.set_header("RateLimit-Reset", str(allowance.reset_s))
        if not allowance.allowed:
            raise RateLimited(
                f"Over the rate limit of {allowance.limit} requests per minute and API key.",
                max(1, allowance.reset_s),
            )
        return allowance.epoch


def scope_of(resource: object, method: str) -> str:
    """The scope that a method of a resource takes."""
    scopes: dict[str, str] = getattr(resource, "scopes", {})
    return scopes.get(method) or ("read" if method in {"GET", "HEAD"} else "write")
