"""The organization of a message, which is the number in front of its id in Redis."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TypeVar

from dramatiq import Broker, Message, Middleware

R = TypeVar("R")
OPTION = "organization_id"


def organization_of(message_id: str) -> int:
    """Return the organization of a message by its id in Redis."""
    number, colon, _ = message_id.partition(":")
    return int(number) if colon and number.isdecimal() else 0


class HeldMessages:
    """The messages that this process has taken of a queue, until it is done with them; safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: set[str] = set()
        self._held: Counter[int] = Counter()

    def add(self, message_id: str) -> None:
        with self._lock:
            if message_id not in self._ids:
                self._ids.add(message_id)
                self._held[organization_of(message_id)] += 1

    def discard(self, message_id: str) -> None:
        """Remove a message; safe to repeat, since an acknowledgement that fails comes again."""
        with self._lock:
            if message_id in self._ids:
                self._ids.discard(message_id)
                self._held[organization_of(message_id)] -= 1

    def __len__(self) -> int:
        return len(self._ids)

    def by_organization(self) -> dict[int, int]:
        with self._lock:
            self._held = +self._held
            return dict(self._held)


class Ownership(Middleware):
    """Puts a message's organization in front of its id in Redis."""

    def before_enqueue(self, _broker: Broker, message: Message[object], _delay: int | None) -> None:
        if organization_id := message.options.get(OPTION):
            message.options["redis_message_id"] = f"{organization_id}:{message.options['redis_message_id']}"


def owned(message: Message[R], organization_id: int) -> Message[R]:
    """Return the message as one of the organization."""
    return message.copy(options={OPTION: organization_id})
