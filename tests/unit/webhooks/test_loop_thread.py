"""The event loop that threads share: results and errors."""

import asyncio
import threading
from contextlib import closing

import pytest

from app.webhooks.loop_thread import LoopThread


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
