"""After a change of Dramatiq's version: compare its redis.py and worker.py with ours, then change the number."""

import inspect
from importlib.metadata import version

from dramatiq import Worker
from dramatiq.brokers.redis import RedisBroker, _RedisConsumer
from dramatiq.brokers.stub import StubBroker


def test_dramatiq_has_the_version_of_the_undocumented_parts_in_use() -> None:
    assert version("dramatiq") == "2.2.1"


def test_dramatiq_has_the_parts_that_ours_replace() -> None:
    assert [*inspect.signature(RedisBroker._should_do_maintenance).parameters] == ["self", "command"]
    assert [*inspect.signature(_RedisConsumer).parameters] == ["broker", "queue_name", "prefetch", "timeout"]
    assert hasattr(Worker(StubBroker()), "work_queue")
