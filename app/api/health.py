"""Whether this process lives, and whether it can work: for load balancers and init systems, without a key."""

from __future__ import annotations

import falcon

from app.access import Public
from app.errors import Unavailable
from app.services.operations.readiness import Readiness


class Live:
    """200 as long as the process answers at all."""

    access = Public({"GET"})

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.media = {"status": "live"}


class Ready:
    """200 when database, schema and Redis are there, else 503 saying which is not."""

    access = Public({"GET"})

    def __init__(self, *, readiness: Readiness) -> None:
        self._readiness = readiness

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        if problems := self._readiness.problems():
            raise Unavailable(" ".join(problems))
        resp.media = {"status": "ready"}
