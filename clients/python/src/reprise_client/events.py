"""Server-sent events, read from the pieces in which they arrive.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from reprise_client.errors import UnreachableError

EVENT_MAX = 64_000_000
_END, _END_LENGTH = re.compile(rb"\r?\n\r?\n"), 3


@dataclass(frozen=True, slots=True)
class Event:
    kind: str
    data: str
    id: str


class EventReader:
    """Reads the events of one connection; only LF and CRLF end a line, as the server sends no other."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._searched = 0

    def feed(self, piece: bytes) -> Iterator[Event]:
        """Yield each event that ends in this piece."""
        self._begun += piece
        ended: list[bytearray] = []
        start = 0
        while end := _END.search(self._begun, max(start, self._searched)):
            ended.append(self._begun[start : end.start()])
            start = end.end()
        del self._begun[:start]
        # The end of an event may have begun.
        self._searched = max(0, len(self._begun) - _END_LENGTH)
        self._check_size()
        for text in ended:
            if event := _event(text.replace(b"\r\n", b"\n").decode(errors="replace")):
                yield event

    def _check_size(self) -> None:
        if len(self._begun) > EVENT_MAX:
            raise UnreachableError(f"An event of more than {EVENT_MAX} bytes is none of Reprise.")


def _event(text: str) -> Event | None:
    """Return the event, or None for comments and others without data."""
    fields: dict[str, list[str]] = {"event": [], "data": [], "id": []}
    for line in text.split("\n"):
        name, _, value = line.partition(":")
        fields.get(name, []).append(value.removeprefix(" "))
    if not fields["data"]:
        return None
    kind, ids = fields["event"], fields["id"]
    return Event(kind[-1] if kind else "message", "\n".join(fields["data"]), ids[-1] if ids else "")
