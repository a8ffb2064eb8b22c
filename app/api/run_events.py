"""A run as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import falcon
import orjson

from app.api.operation import Call
from app.errors import Invalid, RepriseError
from app.http.errors import bug_message, status_of
from app.models.api_keys import ApiKey
from app.schemas.answer import dump
from app.schemas.runs import RunAnswer
from app.services.runs import Started
from app.services.runs.following import BEGINNING, SILENCE, Follower, Piece, Seen
from app.services.runs.outcome import raise_failure

EVENT_STREAM = "text/event-stream"
# The id of `done` and of a run's own `error`: after it there is nothing.
LAST_ID = "end"
_ID = re.compile(r"\d{1,19}-\d{1,19}", re.ASCII)


def wants_events(req: falcon.Request) -> bool:
    return req.client_prefers((falcon.MEDIA_JSON, EVENT_STREAM)) == EVENT_STREAM


def last_seen(req: falcon.Request) -> str | None:
    """Return the id of the last event that the caller received; None for a caller that received none."""
    seen = (req.get_header("Last-Event-ID") or "").strip()
    if seen and seen != LAST_ID and not _ID.fullmatch(seen):
        raise Invalid("Last-Event-ID: Must be the id of an event of this run.")
    return seen or None


def send_events(call: Call, key: ApiKey, follower: Follower, started: Started, *, after: str | None) -> None:
    """Answer with the events after `after`; with 204, which stops an EventSource, when there can be none."""
    resp = call.resp
    if after == LAST_ID:
        resp.status = falcon.HTTP_204
        return
    resp.content_type = EVENT_STREAM
    resp.cache_control = ["no-store"]
    resp.set_header("X-Accel-Buffering", "no")  # nginx would hold events back
    seen = follower.follow(
        project_id=started.project_id,
        run_id=started.run_id,
        after=after or BEGINNING,
        api_key_id=key.id,
    )
    resp.stream = _events(seen, started.run_id, call.req.path)


def _events(seen: Iterator[Seen], run_id: int, path: str) -> Iterator[bytes]:
    """Yield events; an error, for which the headers were sent too early, is an event with the status of the error."""
    yield f": run {run_id}\nretry: 1000\n\n".encode()
    finished = False
    try:
        for one in seen:
            if one is SILENCE:
                yield b": still in work\n\n"
            elif isinstance(one, Piece):
                yield _event(one.kind, one.data, one.id)
            else:
                finished = True
                raise_failure(one)
                yield _event("done", orjson.dumps(dump(RunAnswer, one)), LAST_ID)
    except RepriseError as error:
        yield _error(status_of(error), str(error), LAST_ID if finished else None)
    except Exception as error:  # noqa: BLE001 - outermost edge: no error handler sees what a stream raises
        yield _error(falcon.HTTP_500, bug_message(error, path), LAST_ID if finished else None)


def _event(kind: str, data: bytes, event_id: str | None) -> bytes:
    """Return an event; its data is one line, as JSON has no line breaks."""
    number = f"id: {event_id}\n" if event_id else ""
    return f"{number}event: {kind}\ndata: ".encode() + data + b"\n\n"


def _error(status: str, message: str, event_id: str | None) -> bytes:
    return _event("error", orjson.dumps({"error": message, "status": int(status[:3])}), event_id)
