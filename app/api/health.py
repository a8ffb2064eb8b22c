"""/health: the state of this process, for load balancers and init systems; /metrics: the numbers of all processes."""

from __future__ import annotations

import falcon

from app.access import ByMetricsToken, Public
from app.api.operation import Resource
from app.errors import Unavailable


class Live(Resource):
    """Answers 200 as long as the process runs."""

    access = Public({"GET"})

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.media = {"status": "live"}


class Ready(Resource):
    """Answers 200 when database, schema and Redis are available, else 503 with a message that names the missing one."""

    access = Public({"GET"})

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        if problems := self.services.readiness.problems():
            raise Unavailable(" ".join(problems))
        resp.media = {"status": "ready"}


class MetricsResource(Resource):
    """Takes a token of its own: a monitor of the service need not be able to use it."""

    access = ByMetricsToken({"GET"})

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        resp.data, resp.content_type = self.services.metrics.exposition(req.accept)
