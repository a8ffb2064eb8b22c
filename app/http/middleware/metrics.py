"""Counts every request by its route's template and status, and how long it took."""

from __future__ import annotations

import re
import time
from functools import lru_cache

import falcon

from app.metrics import Metrics
from app.metrics.registry import HTTP_REQUESTS, HTTP_SECONDS, RATE_LIMITED

UNMATCHED = "unmatched"
_CONVERTER = re.compile(r":[a-z]+(\([^)]*\))?}")


class RequestMetrics:
    """Comes first, so that it counts what the other middleware refuses, too."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        req.context.counted_from = time.perf_counter()

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        # Methods and routes are ours to name: what callers make up must not become labels.
        method = req.method if req.method in falcon.HTTP_METHODS else "OTHER"
        route = _route(req.uri_template or UNMATCHED)
        self._metrics.count(HTTP_REQUESTS, method, route, str(resp.status_code))
        self._metrics.observe(HTTP_SECONDS, time.perf_counter() - req.context.counted_from, method, route)
        if resp.status_code == 429:
            self._metrics.count(RATE_LIMITED)


@lru_cache
def _route(template: str) -> str:
    return _CONVERTER.sub("}", template)
