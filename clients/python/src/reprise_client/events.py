"""Server-sent events, read from the pieces in which they arrive.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reprise_client.errors import UnreachableError

EVENT_MAX = 64_000_000


@dataclass(frozen=True, slots=True)
class Event:
    kind: str
    data: str
    id: str


class EventReader:
    """Reads the events of one connection; only LF and CRLF end a line, as the server sends no other."""

    def __init__(self) -> None:
        self._begun = bytearray()

    def feed(self, piece: bytes) -> Iterator[Event]:
        """Yield each event that ends in this piece."""
        self._begun += piece
        if b"\n" not in piece:
            self._check_size()
            return
        *ended, rest = bytes(self._begun).replace(b"\r\n", b"\n").split(b"\n\n")
        self._begun = bytearray(rest)
        self._check_size()
        for text in ended:
            if event := _event(text.decode(errors="replace")):
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
