"""Stopping a call: while it pauses, while it waits for its vendor, and between two pieces of an answer."""

import socket
import threading
from collections.abc import Iterator

import pytest

from app.providers.failures import ProviderFailure
from app.providers.http_client import HttpClient
from app.providers.router import Retry
from app.providers.stopping import NEVER, CallStop, Stopped

LONG_S = 600.0


def requested() -> CallStop:
    stop = CallStop()
    stop.request()
    return stop


def test_a_call_that_is_not_to_stop_goes_on() -> None:
    CallStop().check()
    NEVER.check()


def test_a_pause_ends_when_the_call_is_to_stop() -> None:
    stop, slept = CallStop(), []

    def sleep(pause_s: float) -> None:
        slept.append(pause_s)
        if len(slept) == 2:
            stop.request()

    with pytest.raises(Stopped):
        stop.pause(sleep, LONG_S)
    assert sum(slept) <= 1


def test_a_pause_that_nothing_stops_is_as_long_as_it_was_asked_for() -> None:
    slept: list[float] = []
    CallStop().pause(slept.append, 1.125)
    NEVER.pause(slept.append, 3)

    assert sum(slept) == pytest.approx(4.125)
    assert slept[-1] == 3, "one sleep"


def test_a_stopped_call_is_not_tried_again() -> None:
    stop, tries = CallStop(), []

    def attempt(_left_s: float) -> None:
        tries.append(1)
        stop.request()
        raise ProviderFailure("broken", retryable=True)

    with pytest.raises(Stopped):
        Retry(sleep=lambda _: None).call(attempt, LONG_S, stop)
    with pytest.raises(Stopped):
        Retry().call(attempt, LONG_S, requested())
    assert tries == [1]


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that accepts connections and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


def test_a_call_that_waits_for_its_vendor_stops(silent: str) -> None:
    stop, client = CallStop(), HttpClient()
    threading.Timer(0.01, stop.request).start()

    with pytest.raises(Stopped), client.post(silent, {}, b"{}", LONG_S, stop):
        pass


def test_a_later_call_of_the_same_thread_does_not_stop(silent: str) -> None:
    client = HttpClient()
    with pytest.raises(Stopped), client.post(silent, {}, b"{}", LONG_S, requested()):
        pass

    with pytest.raises(Exception, match="timed out"), client.post(silent, {}, b"{}", 0.01):
        pass


def test_a_call_that_may_be_stopped_still_ends_at_its_deadline(silent: str) -> None:
    with pytest.raises(Exception, match="timed out"), HttpClient().post(silent, {}, b"{}", 0.01, CallStop()):
        pass
