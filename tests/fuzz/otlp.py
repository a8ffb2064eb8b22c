"""Coverage-guided fuzz of what reads trace batches, from the bytes on the wire to the session's page: `make fuzz`.

Any bytes in any encoding must give spans or one of our own errors; anything else ends the run and keeps the input.
"""

from __future__ import annotations

import sys
from collections import defaultdict

import atheris

with atheris.instrument_imports(include=["app.otlp", "app.sessions"]):
    from app.errors import ServiceError
    from app.otlp.decode import decode
    from app.otlp.decode_protobuf import decode_protobuf
    from app.otlp.inflate import ENCODINGS, inflate
    from app.schemas.answer import dump
    from app.schemas.traces import SessionSchema as SessionAnswer
    from app.services.sessions.service import Session
    from app.sessions.build import build_session

LIMIT = 1024 * 1024


def read(data: bytes) -> None:
    """The first byte picks the encoding, and whether it is protobuf."""
    if not data:
        return
    try:
        body = inflate(data[1:], ENCODINGS[data[0] % len(ENCODINGS)], limit=LIMIT)
        decoded = decode_protobuf(body, 1) if data[0] & 128 else decode(body)
    except ServiceError:
        return
    turns = defaultdict(list)
    for span in decoded.spans:
        turns[span.trace_id].append(span)
    dump(SessionAnswer, Session("0" * 32, 1, None, build_session(turns.values())))


if __name__ == "__main__":
    atheris.Setup(sys.argv, read)
    atheris.Fuzz()
