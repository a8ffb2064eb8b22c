"""Server-sent events, as answers that are written while something goes on.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

from collections.abc import Iterator

import falcon
import orjson

from app.errors import RepriseError
from app.http.errors import bug_message, status_of

EVENT_STREAM = "text/event-stream"
# The id of the last event: after it there is nothing.
LAST_ID = "end"


def begin(req: falcon.Request, resp: falcon.Response, events: Iterator[bytes]) -> None:
    """Answer with events, which nothing keeps or holds back."""
    resp.content_type = EVENT_STREAM
    resp.cache_control = ["no-store"]
    resp.set_header("X-Accel-Buffering", "no")  # nginx would hold events back
    resp.stream = _with_failure(events, req.path)


def _with_failure(events: Iterator[bytes], path: str) -> Iterator[bytes]:
    """Yield the events; an error, for which the headers were sent too early, becomes the last one."""
    try:
        yield from events
    except Exception as error:  # noqa: BLE001 - outermost edge: no error handler sees what a stream raises
        yield failure(error, path)


def event(kind: str, data: bytes, event_id: str | None = None) -> bytes:
    """Return an event; its data is one line, as JSON has no line breaks."""
    number = f"id: {event_id}\n" if event_id else ""
    return f"{number}event: {kind}\ndata: ".encode() + data + b"\n\n"


def comment(text: str) -> bytes:
    """Return a line that clients skip; it shows that the connection is alive."""
    return f": {text}\n\n".encode()


def failure(error: Exception, path: str, event_id: str | None = None) -> bytes:
    """Return the event of an error that came after the headers were sent, with the status it would have had."""
    if isinstance(error, RepriseError):
        return _error(status_of(error), str(error), event_id)
    return _error(falcon.HTTP_500, bug_message(error, path), event_id)


def _error(status: str, message: str, event_id: str | None) -> bytes:
    return event("error", orjson.dumps({"error": message, "status": int(status[:3])}), event_id)
