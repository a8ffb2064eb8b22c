"""The events of a run, as the API and the pages answer with them while a model writes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import falcon
import orjson

from app.errors import Invalid
from app.http import event_stream
from app.http.event_stream import LAST_ID
from app.schemas.answer import dump
from app.schemas.runs import RunAnswer
from app.services.runs.following import Piece, Seen
from app.services.runs.outcome import raise_failure

_ID = re.compile(r"\d{1,19}-\d{1,19}", re.ASCII)


def last_seen(req: falcon.Request) -> str | None:
    """Return the id of the last event that the caller received; None for a caller that received none."""
    seen = (req.get_header("Last-Event-ID") or "").strip()
    if seen and seen != LAST_ID and not _ID.fullmatch(seen):
        raise Invalid("Last-Event-ID: Must be the id of an event of this run.")
    return seen or None


def run_events(seen: Iterator[Seen], run_id: int, path: str) -> Iterator[bytes]:
    """Yield events; an error, for which the headers were sent too early, is an event with the status of the error."""
    yield f": run {run_id}\nretry: 1000\n\n".encode()
    finished = False
    try:
        for one in seen:
            if one is None:
                yield event_stream.comment("still in work")
            elif isinstance(one, Piece):
                yield event_stream.event(one.kind, one.data, one.id)
            else:
                finished = True
                raise_failure(one)
                yield event_stream.event("done", orjson.dumps(dump(RunAnswer, one)), LAST_ID)
    except Exception as error:  # noqa: BLE001 - outermost edge: no error handler sees what a stream raises
        yield event_stream.failure(error, path, LAST_ID if finished else None)
