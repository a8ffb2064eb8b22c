"""Exports of a prompt's sessions, runs or test cases, streamed as a file of JSON lines."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import chain
from threading import Lock
from typing import Any

import falcon
import orjson

from app.errors import Invalid, NotFound
from app.schemas.answer import Dump, dumper
from app.schemas.base import Moment, StrictSchema
from app.schemas.cases import TestCaseSchema
from app.schemas.runs import Run
from app.schemas.sessions import session_csv, session_lines
from app.schemas.traces import session_pieces
from app.services.data.export import ExportService
from app.services.sessions.listing import ListedSession

NDJSON, CSV = "application/x-ndjson", "text/csv"
# Concurrent exports of one organization per web process. A slow reader occupies a thread while it reads.
EXPORTS_PER_ORGANIZATION = 8
# A caller that receives no piece within this time is gone. Long records are sent in pieces for slow connections.
STALLED_S = 60.0
PIECE = 64 * 1024  # bytes
_ONE_RECORD = Lock()
# Longer JSON is streamed.
WHOLE_BYTES_MAX = 1024 * 1024


class ExportQuerySchema(StrictSchema):
    """Selects records that began from `since` until before `until`."""

    since = Moment()
    until = Moment()


def records(
    exports: ExportService,
    kind: str,
    *,
    project_id: int,
    prompt_id: int,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Iterator[bytes]:
    """Return the records in the API's form, newest first, as lines of JSON, in pieces.

    Each record is read when the iterator reaches it.

    Raises immediately `NotFound` for an unknown kind or a prompt outside the project, and `Invalid` for times with
    test cases, which have none.
    """
    if kind not in ("sessions", "runs", "test-cases"):
        raise NotFound("There is no such export: it is of sessions, runs or test-cases.")
    exports.check(project_id=project_id, prompt_id=prompt_id)
    if kind == "test-cases":
        if since or until:
            raise Invalid("since, until: These are for sessions and runs: test cases have no time.")
        return _lines(dumper(TestCaseSchema), exports.of_test_cases(project_id=project_id, prompt_id=prompt_id))
    chosen: dict[str, Any] = {"project_id": project_id, "prompt_id": prompt_id, "since": since, "until": until}
    if kind == "runs":
        return _lines(dumper(Run), exports.of_runs(**chosen))
    of_sessions = exports.of_sessions(**chosen)
    return (piece for session in of_sessions for piece in _joined(chain(session_pieces(session), (b"\n",))))


def _lines(dump: Dump, items: Iterable[object]) -> Iterator[bytes]:
    """Yield a line for each record. A process has one record in memory at a time: one may need a hundred megabytes."""
    # No variable here has the record, which would be in memory until the caller has read its line.
    lines = map(partial(_line, dump), items)
    while True:
        with _ONE_RECORD:
            line = next(lines, None)
        if line is None:
            return
        yield line


def _line(dump: Dump, record: object) -> bytes:
    return orjson.dumps(dump(record), option=orjson.OPT_APPEND_NEWLINE)


def send_lines(req: falcon.Request, resp: falcon.Response, lines: Iterable[bytes], *, name: str) -> None:
    """Answer with the lines as a file `name`.jsonl. A line is made after the caller received the previous ones."""
    send_file(req, resp, lines, media_type=NDJSON, name=f"{name}.jsonl")


def send_sessions(
    req: falcon.Request, resp: falcon.Response, sessions: Iterable[ListedSession], *, as_csv: bool
) -> None:
    """Answer with a file of sessions, CSV or JSON lines."""
    if as_csv:
        media_type = f"{CSV}; charset=utf-8; header=present"
        send_file(req, resp, session_csv(sessions), media_type=media_type, name="sessions.csv")
    else:
        send_file(req, resp, session_lines(sessions), media_type=NDJSON, name="sessions.jsonl")


def send_file(
    req: falcon.Request, resp: falcon.Response, lines: Iterable[bytes], *, media_type: str, name: str
) -> None:
    """Answer with a file of lines. A line is made after the caller received the previous ones."""
    resp.content_type = media_type
    resp.downloadable_as = name
    _stream(req, resp, lines)


def send_json(req: falcon.Request, resp: falcon.Response, pieces: Iterator[bytes]) -> None:
    """Answer with JSON. Of a long answer a piece is made after the caller received the previous ones."""
    made, size = list[bytes](), 0
    for piece in pieces:
        made.append(piece)
        size += len(piece)
        # The answer to HEAD has the length of the whole one.
        if size > WHOLE_BYTES_MAX and req.method != "HEAD":
            _stream(req, resp, chain(made, _joined(pieces)))
            break
    else:
        resp.data = b"".join(made)
    resp.content_type = falcon.MEDIA_JSON


def _stream(req: falcon.Request, resp: falcon.Response, lines: Iterable[bytes]) -> None:
    caller = req.env.get("gunicorn.socket")
    if isinstance(caller, socket.socket):
        caller.settimeout(STALLED_S)
    resp.set_header("X-Accel-Buffering", "no")  # otherwise nginx buffers it in a file
    resp.stream = _pieces(lines)


def _joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces. Short ones are joined until they have `PIECE` bytes."""
    held, size = list[bytes](), 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= PIECE:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines. Those of more than `PIECE` bytes are divided."""
    for line in lines:
        yield from (line[at : at + PIECE] for at in range(0, len(line), PIECE))
