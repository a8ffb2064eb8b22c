"""A Falcon application whose resources do nothing: what `bench.requests` compares with.

One of them is behind the rate limit that all requests of the API are counted by, and does nothing else.
"""

from __future__ import annotations

import os

import falcon

from app.redis_store.clients import connect
from app.redis_store.rate import RateLimiter


class Empty:
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.data = b"{}"


class Limited(Empty):
    def __init__(self, limiter: RateLimiter) -> None:
        self._limiter = limiter

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        self._limiter.hit("bench", project_id=1)
        super().on_get(req, resp)


application: falcon.App[falcon.Request, falcon.Response] = falcon.App()
application.add_route("/", Empty())
if url := os.environ.get("BENCH_REDIS_URL"):
    quick = connect(url, waiters=1, longest_wait_s=1).quick
    application.add_route("/limited", Limited(RateLimiter(quick, 100_000_000)))
