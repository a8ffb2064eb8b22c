"""A fork waits for a thread that makes a client: its child would wait for OpenSSL's locks for ever."""

from __future__ import annotations

import os
import threading

import httpx
import pytest
from reprise_client.connection import Connection
from reprise_client.instrumentation.endpoint import TraceEndpoint
from reprise_client.transport import Transport

URL = "http://127.0.0.1:1"
OPENERS = {
    "instrumentation": TraceEndpoint(URL, "key").open,
    "runs": Transport(Connection(URL, "key"), True).open,
}


@pytest.mark.parametrize("kind", OPENERS)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_waits_until_a_client_is_made(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    making, may_end, forked = threading.Event(), threading.Event(), threading.Event()
    make = httpx.Client

    def slowly(**options: object) -> httpx.Client:
        making.set()
        may_end.wait(60)
        return make(**options)  # type: ignore[arg-type]

    def fork() -> None:
        if child := os.fork():
            os.waitpid(child, 0)
            forked.set()
        else:
            os._exit(0)

    monkeypatch.setattr(httpx, "Client", slowly)
    opening = threading.Thread(target=lambda: OPENERS[kind]().close())
    opening.start()
    assert making.wait(60)
    forking = threading.Thread(target=fork)
    forking.start()

    assert not forked.wait(0.3)
    may_end.set()
    assert forked.wait(60)
    for thread in (opening, forking):
        thread.join()
    OPENERS[kind]().close()
