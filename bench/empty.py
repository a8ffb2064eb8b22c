"""A Falcon application with resources that do nothing, for comparisons in `bench.requests` and `bench.run_parts`.

Some resources are behind the rate limit of the API, and some of these also check a body like the API.
"""

from __future__ import annotations

import os

import falcon
import orjson
from marshmallow import Schema

from app.metrics import Metrics
from app.redis_store.clients import connect
from app.redis_store.rate import RateLimiter
from app.schemas.base import load
from app.schemas.prompts import RenderSchema
from app.schemas.runs import RunRequest


class Empty:
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.data = b"{}"


class Limited(Empty):
    def __init__(self, limiter: RateLimiter) -> None:
        self._limiter = limiter

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        self._limiter.hit("bench", project_id=1)
        super().on_get(req, resp)


class Checked(Limited):
    def __init__(self, limiter: RateLimiter, schema: Schema) -> None:
        super().__init__(limiter)
        self._schema = schema

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        load(self._schema, orjson.loads(req.bounded_stream.read()))
        self.on_get(req, resp)


application: falcon.App[falcon.Request, falcon.Response] = falcon.App()
application.add_route("/", Empty())
if url := os.environ.get("BENCH_REDIS_URL"):
    limiter = RateLimiter(connect(url, waiters=1, longest_wait_s=1), 100_000_000, metrics=Metrics())
    application.add_route("/limited", Limited(limiter))
    application.add_route("/render", Checked(limiter, RenderSchema()))
    application.add_route("/run", Checked(limiter, RunRequest()))
