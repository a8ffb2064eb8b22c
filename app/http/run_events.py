"""The events of a run. The API and the pages send them while a model writes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import falcon
import orjson

from app.errors import Invalid, ServiceError
from app.http import event_stream
from app.http.event_stream import LAST_ID
from app.models.runs import RunRow
from app.schemas.answer import dump
from app.schemas.runs import RunAnswer
from app.services.runs.following import BEGINNING, AnswerFollower, AnswerPiece, RunUpdate
from app.services.runs.outcome import raise_failure

_ID = re.compile(r"\d{1,19}-\d{1,19}", re.ASCII)


def last_seen(req: falcon.Request) -> str | None:
    """Return the id of the last event that the caller received; None if it received none."""
    seen = (req.get_header("Last-Event-ID") or "").strip()
    if seen and seen != LAST_ID and not _ID.fullmatch(seen):
        raise Invalid("Last-Event-ID: Must be the id of an event of this run.")
    return seen or None


def send_run_events(
    req: falcon.Request,
    resp: falcon.Response,
    follower: AnswerFollower,
    *,
    project_id: int,
    run_id: int,
    after: str | None,
    api_key_id: int | None = None,
) -> None:
    """Answer with the run's events after `after`. If none can follow, answer 204, which stops an EventSource."""
    if after == LAST_ID:
        resp.status = falcon.HTTP_204
        return
    updates = follower.follow(project_id=project_id, run_id=run_id, after=after or BEGINNING, api_key_id=api_key_id)
    event_stream.begin(req, resp, _events(updates, run_id, req.path))


def _events(updates: Iterator[RunUpdate], run_id: int, path: str) -> Iterator[bytes]:
    yield f": run {run_id}\nretry: 1000\n\n".encode()
    for update in updates:
        if update is None:
            yield event_stream.comment("still in work")
        elif isinstance(update, AnswerPiece):
            yield event_stream.event(update.kind, update.data, update.id)
        else:
            yield _end(update, path)


def _end(row: RunRow, path: str) -> bytes:
    try:
        raise_failure(row)
    except (ServiceError, RuntimeError) as error:
        return event_stream.failure(error, path, LAST_ID)
    return event_stream.event("done", orjson.dumps(dump(RunAnswer, row)), LAST_ID)
