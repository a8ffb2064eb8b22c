"""Middleware that bounds the memory of large answers, which a process needs until their callers have read them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import falcon

from app.concurrency import computing
from app.concurrency.quotas import FairSemaphore, Quota
from app.errors import Unavailable
from app.http.middleware import HeldStream, organization_of

LARGE_ANSWER = 256 * 1024
"""Bytes from which an answer counts."""
ANSWERS_BYTES = 96 * 1024 * 1024
ANSWERS_SHARE_PERCENT = 25
ANSWER_WAIT_S = 1.0


class AnswersAtOnce:
    """Limits the large answers that a process has in memory at once to the bytes of a `Quota`, by organization.

    An answer counts until it is sent. If its bytes are not free within `ANSWER_WAIT_S`, the caller gets 503 instead.
    Streams do not count, because a piece is made only after the caller has read the previous ones. Answers to requests
    without an organization do not count: large ones, such as static files, are the same for all callers, and a process
    has one copy of each.

    A request that computed with a large text gives back its place (`app/concurrency/computing.py`) only after this, so
    that few answers wait for their bytes at once. This middleware comes before `Deadlines`, so that it also handles the
    answer to a request that was too slow.
    """

    def __init__(self, *, on_refused: Callable[[], None] = lambda: None) -> None:
        self._semaphore = FairSemaphore(Quota.of(ANSWERS_BYTES, ANSWERS_SHARE_PERCENT), on_refused=on_refused)

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        try:
            self._hold(req, resp)
        finally:
            computing.finish()

    def _hold(self, req: falcon.Request, resp: falcon.Response) -> None:
        organization_id = organization_of(req)
        if len(resp.data or resp.text or b"") < LARGE_ANSWER or req.method == "HEAD" or organization_id is None:
            return
        body = resp.render_body() or b""
        resp.data = resp.text = None
        held = ExitStack()
        try:
            places = min(len(body), ANSWERS_BYTES)
            held.enter_context(self._semaphore.hold(organization_id, wait_s=ANSWER_WAIT_S, places=places))
        except Unavailable:
            resp.delete_header("Content-Encoding")  # of the refused answer
            raise
        resp.content_length = len(body)
        resp.stream = HeldStream([body], held.close)
