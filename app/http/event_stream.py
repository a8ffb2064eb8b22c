"""Server-sent events: answers that are written while work goes on.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

from collections.abc import Iterator

import falcon
import orjson

from app.errors import ServiceError
from app.http.errors import bug_message, status_of

EVENT_STREAM = "text/event-stream"
# The id of the last event; no event follows it.
LAST_ID = "end"


def begin(req: falcon.Request, resp: falcon.Response, events: Iterator[bytes]) -> None:
    """Answer with events that nothing on the way caches or buffers."""
    resp.content_type = EVENT_STREAM
    resp.cache_control = ["no-store"]
    resp.set_header("X-Accel-Buffering", "no")  # otherwise nginx buffers events
    resp.stream = _with_failure(events, req.path)


def _with_failure(events: Iterator[bytes], path: str) -> Iterator[bytes]:
    """Yield the events. An error becomes the last event, because the headers have been sent already."""
    try:
        yield from events
    except Exception as error:  # noqa: BLE001 - outermost edge: no error handler sees what a stream raises
        yield failure(error, path)


def event(kind: str, data: bytes, event_id: str | None = None) -> bytes:
    """Return an event. `data` must be one line, which JSON is."""
    number = f"id: {event_id}\n" if event_id else ""
    return f"{number}event: {kind}\ndata: ".encode() + data + b"\n\n"


def comment(text: str) -> bytes:
    """Return a comment. Clients skip it; it keeps the connection alive."""
    return f": {text}\n\n".encode()


def failure(error: Exception, path: str, event_id: str | None = None) -> bytes:
    """Return the event of an error after the headers were sent, with the status that it would have had."""
    if isinstance(error, ServiceError):
        return _error(status_of(error), str(error), event_id)
    return _error(falcon.HTTP_500, bug_message(error, path), event_id)


def _error(status: str, message: str, event_id: str | None) -> bytes:
    return event("error", orjson.dumps({"error": message, "status": int(status[:3])}), event_id)
