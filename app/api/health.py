"""/health: the state of this process, for load balancers and init systems; /metrics: metrics of all processes."""

from __future__ import annotations

import falcon

from app.api.operation import Resource
from app.errors import Unavailable
from app.http.access import ByMetricsToken, Public


class Live(Resource):
    """Answers 200 as long as the process runs."""

    access = Public({"GET"})

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.media = {"status": "live"}


class Ready(Resource):
    """Answers 200 if requests can be served, else 503 with a message that names what is missing.

    If the process works only in part, the answer is 200 with `warnings`.
    """

    access = Public({"GET"})

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        if problems := self.services.readiness.problems():
            raise Unavailable(" ".join(problems))
        warnings = self.services.readiness.warnings()
        resp.media = {"status": "ready"} | ({"warnings": warnings} if warnings else {})


class MetricsResource(Resource):
    """Requires the metrics token instead of an API key, so that monitoring needs no access to the API."""

    access = ByMetricsToken({"GET"})

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        resp.data, resp.content_type = self.services.metrics.exposition(req.accept)
