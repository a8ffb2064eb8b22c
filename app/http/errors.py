"""Answers errors over HTTP: status, headers and the body `{"error": message}`."""

from __future__ import annotations

import re
import uuid

import falcon
import orjson
import redis
import structlog

from app import errors
from app.concurrency import lasting_changes
from app.http.bodies import media_type_of
from app.http.middleware import path_for_log
from app.otlp.answers import (
    METRICS,
    PROTOBUF,
    SIGNALS,
    base_address,
    is_of_exporter,
    is_of_prompt,
    reason_phrase,
    status,
)

log = structlog.get_logger(__name__)

_ADDRESSES = (
    "OTLP over HTTP is accepted at /api/public/prompts/{id}/otel/v1/traces: set OTEL_EXPORTER_OTLP_ENDPOINT to "
    "this address without /v1/traces, and OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf."
)
_FIRST_PATH = re.compile(r"/v1/[^/]*")
# google.rpc.Code by HTTP status: OTLP requires it in error bodies. Other statuses have the code 2, unknown.
RPC_CODE = {400: 3, 401: 16, 403: 7, 404: 5, 413: 3, 415: 3, 429: 8, 500: 13, 503: 14}


def install(app: falcon.App[falcon.Request, falcon.Response]) -> None:
    """Answer the errors that requests of the app raise, known and unknown ones."""
    app.add_error_handler(Exception, _unexpected_error)
    app.add_error_handler(falcon.HTTPError, _http_error)
    app.add_error_handler(errors.ServiceError, _service_error)
    app.add_error_handler(redis.RedisError, _redis_away)


def status_of(error: errors.ServiceError) -> str:
    """Return the status line of an error, such as `404 Not Found`."""
    return str(falcon.code_to_http_status(error.status))


def bug_message(error: Exception, path: str) -> str:
    """Log a bug with an id, and return a message with this id for the caller."""
    error_id = uuid.uuid4().hex
    log.error("unhandled_error", error_id=error_id, path=path, exc_info=error)
    return f"Something is broken on our side. The log has more under the id {error_id}."


def _service_error(req: falcon.Request, resp: falcon.Response, error: errors.ServiceError, _params: object) -> None:
    resp.status = status_of(error)
    if isinstance(error, errors.Unauthorized):
        resp.set_header("WWW-Authenticate", "Bearer")
    if isinstance(error, errors.RateLimited):
        resp.set_header("Retry-After", str(error.retry_after_s))
    if isinstance(error, errors.Unavailable):
        resp.set_header("Retry-After", "1")
        if not lasting_changes.may_have_been_made():
            resp.set_header("X-Unchanged", "true")
    _body(req, resp, str(error))
    _forget_frames(error)


def _forget_frames(error: BaseException | None) -> None:
    """Drop the frames that an answered error passed, because they refer to the request.

    Something may refer to the error for long: a connection of fakeredis that was used while the error was handled.
    """
    while error:
        error.__traceback__ = None
        error = error.__context__


def _redis_away(req: falcon.Request, resp: falcon.Response, error: redis.RedisError, params: object) -> None:
    log.warning("redis_unavailable", error=str(error))
    _service_error(req, resp, errors.Unavailable("Redis is not available; try again."), params)


def _http_error(req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: object) -> None:
    resp.status = error.status
    resp.set_headers(error.headers or {})
    _body(req, resp, _http_message(req, error))
    _forget_frames(error)


def _http_message(req: falcon.Request, error: falcon.HTTPError) -> str:
    if error.status_code == 405:
        return f"{req.path} does not support {req.method}."
    if error.status_code != 404:
        return error.description or error.title or "The request can't be answered."
    base = base_address(req.path)
    if base is not None:
        return _otlp_path_message(base, req.path.removeprefix(base))
    return f"There is no such path. {_ADDRESSES}" if is_of_exporter(req.path) else "There is no such path."


def _otlp_path_message(base: str, signal: str) -> str:
    if signal.count("/v1/") > 1:
        return (
            f"The path {_FIRST_PATH.findall(signal)[0]} is doubled: "
            "OTEL_EXPORTER_OTLP_ENDPOINT is the base address without it; the exporter appends it."
        )
    if signal.rstrip("/") in SIGNALS:
        return "There is no such prompt."
    advice = "Set OTEL_METRICS_EXPORTER=none. " if signal.rstrip("/") == METRICS else ""
    return f"{advice}Only traces and log records are accepted here, at {base}/v1/traces and {base}/v1/logs."


def _unexpected_error(req: falcon.Request, resp: falcon.Response, error: Exception, _params: object) -> None:
    resp.status = falcon.HTTP_500
    _body(req, resp, bug_message(error, path_for_log(req)))
    _forget_frames(error)


def _body(req: falcon.Request, resp: falcon.Response, message: str) -> None:
    if is_of_exporter(req.path):
        req.context.refusal = message
        # Python's exporter prints only the status line.
        resp.status = f"{resp.status_code} {reason_phrase(message)}"
    body: dict[str, object] = {"error": message}
    code = RPC_CODE.get(resp.status_code, 2)
    if base_address(req.path) is not None:
        body |= {"message": message, "code": code}
    # 415 refuses the media type of the request, so it is answered in JSON.
    if _answered_in_protobuf(req) and resp.status_code != 415:
        resp.content_type, resp.data = PROTOBUF, status(code, message)
    else:
        resp.content_type, resp.data = falcon.MEDIA_JSON, orjson.dumps(body)


def _answered_in_protobuf(req: falcon.Request) -> bool:
    return is_of_prompt(req.path) and media_type_of(req) == PROTOBUF
