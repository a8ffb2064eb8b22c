"""An actor that only reports that it has begun; `bench.run_parts` sends it messages."""

import os

import dramatiq
import redis

from app.redis_store.broker import WakingBroker, build_broker

QUEUE = "parts"


def connect(url: str) -> WakingBroker:
    client = redis.Redis.from_url(url)
    return build_broker(client, client)


def declare(broker: WakingBroker) -> dramatiq.Actor[[str], None]:
    @dramatiq.actor(broker=broker, queue_name=QUEUE, max_retries=0)
    def begun(key: str) -> None:
        broker.client.rpush(key, b"begun")

    return begun


if "BENCH_WORKER" in os.environ:
    broker = connect(os.environ["REDIS_URL"])
    dramatiq.set_broker(broker)
    declare(broker)
