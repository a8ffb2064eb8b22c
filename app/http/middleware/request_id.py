"""Gives every request an id: the caller's own when it is sane, in the answer and on every log line."""

from __future__ import annotations

import logging
import re
import secrets
import time

import falcon
import structlog

NAME = "request"
log = structlog.get_logger(NAME)
_SANE = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


class RequestId:
    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        sent = req.get_header("X-Request-Id") or ""
        request_id = sent if _SANE.fullmatch(sent) else secrets.token_hex(16)
        structlog.contextvars.bind_contextvars(request_id=request_id)
        resp.set_header("X-Request-Id", request_id)
        req.context.started = time.monotonic()

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        # Asked first: what leads to a line is made for every request.
        if not logging.getLogger(NAME).isEnabledFor(logging.DEBUG):
            return
        log.debug(
            "request",
            method=req.method,
            path=path_for_log(req),
            status=resp.status_code,
            duration_ms=round((time.monotonic() - req.context.started) * 1000, 1),
        )


def path_for_log(req: falcon.Request) -> str:
    """Return the path, or its template where the path is a secret: an invitation's token lets its bearer join."""
    template = req.uri_template or ""
    return template if "{token}" in template else req.path
