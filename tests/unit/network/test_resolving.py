"""A DNS server that does not answer delays no caller beyond its deadline, and no other name."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from app.network.resolving import lookup

PATIENCE_S = 60.0


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The names under `still.invalid` are resolved only after this event."""
    event = threading.Event()

    def resolve(host: str, *_: Any, **__: Any) -> list[Any]:
        if host.endswith("still.invalid"):
            event.wait()
        return [(None, None, None, "", ("192.0.2.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    yield event
    event.set()


def test_a_dns_server_that_does_not_answer_delays_no_other_name(answered: threading.Event) -> None:
    still = [lookup(f"{number}.still.invalid", 443) for number in range(100)]

    assert lookup("prompt.invalid", 443).result(PATIENCE_S) == ["192.0.2.1"]
    with pytest.raises(TimeoutError):
        still[0].result(0.01)
    assert not any(future.done() for future in still)
    answered.set()
    assert still[0].result(PATIENCE_S) == ["192.0.2.1"]


def test_a_caller_that_waits_no_longer_breaks_nothing(
    answered: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[object] = []
    monkeypatch.setattr(threading, "excepthook", failures.append)
    future = lookup("still.invalid", 443)

    async def wait() -> None:
        async with asyncio.timeout(0.01):
            await asyncio.wrap_future(future)

    with pytest.raises(TimeoutError):
        asyncio.run(wait())
    answered.set()

    assert future.result(PATIENCE_S) == ["192.0.2.1"]
    assert failures == []


@pytest.mark.parametrize("host", ["x" * 70, "nowhere.invalid\0"])
def test_what_is_no_name_has_an_error(host: str) -> None:
    with pytest.raises((OSError, ValueError)):
        lookup(host, 443).result(PATIENCE_S)
