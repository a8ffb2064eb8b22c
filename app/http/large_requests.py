"""Middleware that lets a process work on few large requests at once (`app/concurrency/computing.py`)."""

from __future__ import annotations

from collections.abc import Callable

import falcon

from app.concurrency import computing
from app.concurrency.quotas import FairSemaphore, Quota
from app.http.middleware import is_counted, organization_of

LARGE_REQUESTS = 2
LARGE_REQUESTS_SHARE_PERCENT = 50
LARGE_REQUEST_WAIT_S = 30.0


class LargeRequests:
    """Lets an organization have `LARGE_REQUESTS` large requests in work in a process, and a share more of others.

    A request is large from its first call of `computing.await_place` with a large text. Without a place within
    `LARGE_REQUEST_WAIT_S` it gets 503. `AnswersAtOnce` gives it back, when there is memory for the answer. Requests of
    strangers need no place, nor requests that a `Bulkhead` counts: these wait for something else. This middleware
    comes after the one that finds the organization of a request.
    """

    def __init__(self, *, on_refused: Callable[[], None] = lambda: None) -> None:
        self._semaphore = FairSemaphore(Quota.of(LARGE_REQUESTS, LARGE_REQUESTS_SHARE_PERCENT), on_refused=on_refused)

    def process_resource(
        self, req: falcon.Request, _resp: falcon.Response, resource: object, _params: dict[str, object]
    ) -> None:
        organization_id = organization_of(req)
        if organization_id is not None and not is_counted(resource, req.method):
            computing.offer(computing.ComputingPlace(self._semaphore, organization_id, LARGE_REQUEST_WAIT_S))
