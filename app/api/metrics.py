"""GET /metrics: what all processes counted, for Prometheus."""

from __future__ import annotations

import hmac

import falcon

from app.errors import Unauthorized
from app.services.metrics import MetricsService


class MetricsResource:
    """Has a token of its own: who watches a service need not be able to use it. Without one there is no such path."""

    public = True

    def __init__(self, *, metrics: MetricsService, token: str) -> None:
        self._metrics = metrics
        self._token = token

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        if not self._token:
            raise falcon.HTTPNotFound
        sent = (req.auth or "").encode()
        if not hmac.compare_digest(sent, f"Bearer {self._token}".encode()):
            raise Unauthorized("Send the header Authorization: Bearer <REPRISE_METRICS_TOKEN>.")
        resp.data, resp.content_type = self._metrics.exposition(req.accept)
