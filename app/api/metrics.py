"""GET /metrics: what all processes counted, for Prometheus."""

from __future__ import annotations

import falcon

from app.access import ByMetricsToken
from app.services.operations.metrics import MetricsService


class MetricsResource:
    """Has a token of its own: who watches a service need not be able to use it."""

    access = ByMetricsToken({"GET"})

    def __init__(self, *, metrics: MetricsService) -> None:
        self._metrics = metrics

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        resp.data, resp.content_type = self._metrics.exposition(req.accept)
