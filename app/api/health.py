"""/health: the state of this process, for load balancers and init systems; /metrics: the numbers of all processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import falcon

from app.access import ByMetricsToken, Public
from app.errors import Unavailable
from app.services.operations.metrics import MetricsService
from app.services.operations.readiness import Readiness


class Live:
    """Answers 200 as long as the process runs."""

    access = Public({"GET"})

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.media = {"status": "live"}


@dataclass(frozen=True, slots=True)
class Ready:
    """Answers 200 when database, schema and Redis are available, else 503 with a message that names the missing one."""

    access: ClassVar = Public({"GET"})
    readiness: Readiness

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        if problems := self.readiness.problems():
            raise Unavailable(" ".join(problems))
        resp.media = {"status": "ready"}


@dataclass(frozen=True, slots=True)
class MetricsResource:
    """Takes a token of its own: a monitor of the service need not be able to use it."""

    access: ClassVar = ByMetricsToken({"GET"})
    metrics: MetricsService

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        resp.data, resp.content_type = self.metrics.exposition(req.accept)
