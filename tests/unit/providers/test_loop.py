"""The event loop that threads share: results, errors, events in order, and interruption."""

import asyncio
import threading
from contextlib import closing

import pytest

from app.providers.anyllm import LoopThread


@pytest.fixture
def loop():
    with closing(LoopThread()) as loop:
        yield loop


async def _value(value):
    await asyncio.sleep(0)
    return value


async def _fail():
    raise LookupError("inside")


def test_a_result_and_an_error_reach_the_calling_thread(loop):
    assert loop.run(_value(7)) == 7
    with pytest.raises(LookupError, match="inside"):
        loop.run(_fail())


def test_all_threads_share_one_loop(loop):
    async def where():
        return threading.get_ident()

    assert loop.run(where()) == loop.run(where()) != threading.get_ident()


def test_events_are_consumed_in_order_in_the_calling_thread(loop):
    seen = []

    async def produce(emit):
        for number in range(100):
            emit(number)
            await asyncio.sleep(0)
        return "done"

    result = loop.drain(produce, lambda number: seen.append((number, threading.get_ident())))

    assert result == "done"
    assert seen == [(number, threading.get_ident()) for number in range(100)]


def test_an_error_of_the_producer_comes_after_its_events(loop):
    seen = []

    async def produce(emit):
        emit("heard")
        await _fail()

    with pytest.raises(LookupError, match="inside"):
        loop.drain(produce, seen.append)
    assert seen == ["heard"]


def test_a_consumer_that_fails_cancels_the_producer(loop):
    cancelled = threading.Event()

    async def produce(emit):
        emit("first")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def consume(event):
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        loop.drain(produce, consume)
    assert cancelled.wait(60)
