"""Compares the cost of metrics with the storing of span batches: `python -m bench.metrics`.

The counting for one batch (its request, its message, its spans) is compared with storing the batch, and a flush with
the second in which it happens. The sum must stay under 3 %; otherwise the status is 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from app.metrics import Metrics, registry
from app.models import language_models, schema
from app.process.bootstrap import bootstrap
from app.redis_store.metric_store import MetricStore
from app.wiring.container import Container
from bench.spans import batch
from config.settings import Settings
from tests.support.mariadb import mariadb_server
from tests.support.redis_server import redis_server
from tests.support.world import ECHO, World, new_world

SPANS = 512
GOAL = 0.03


def seconds(work: Callable[[], object], times: int) -> float:
    """The median of `times` calls."""
    took = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    return statistics.median(took)


def count_a_batch(metrics: Metrics) -> None:
    """Count everything that the web process and the worker count for one batch."""
    route = ("POST", "/api/public/otel/v1/traces")
    metrics.count(registry.HTTP_REQUESTS, *route, "200")
    metrics.observe(registry.HTTP_SECONDS, 0.04, *route)
    metrics.count(registry.CACHE_LOOKUPS, "api_keys", "hit")
    metrics.observe(registry.MESSAGE_WAIT, 0.004, "spans")
    metrics.observe(registry.MESSAGE_SECONDS, 0.03, "store_spans")
    metrics.count(registry.MESSAGES, "store_spans", "done")
    with metrics.timed(registry.BATCH_SECONDS):
        metrics.count(registry.SPANS, "received", by=SPANS)
    metrics.count(registry.BATCHES, "stored")
    metrics.count(registry.BATCH_BYTES, by=1_300_000)
    for outcome in ("stored", "duplicate", "rejected"):
        metrics.count(registry.SPANS, outcome, by=SPANS)


def store_s(world: World, bodies: Sequence[bytes]) -> float:
    """Return the seconds of storing a batch in the service, without HTTP and queue."""
    ingest = world.container.services.ingest
    took = []
    for body in bodies:
        started = time.perf_counter()
        assert ingest.store(world.project_id, body).stored == SPANS
        took.append(time.perf_counter() - started)
    return statistics.median(took)


def flush_s(container: Container) -> float:
    """Seconds of a flush in a process that counted something of everything, which few do."""
    metrics = Metrics(MetricStore(container.redis.commands), every_s=3600)
    metrics.gauge(registry.DATABASE_CONNECTIONS, lambda: {("in_use",): 1, ("idle",): 2})
    for metric in registry.METRICS:
        for number in range(5 if metric.labels else 1):
            labels = [str(number)] * len(metric.labels)
            if metric.kind == "counter":
                metrics.count(metric, *labels)
            elif metric.kind == "histogram":
                metrics.observe(metric, 0.1, *labels)
    filled = metrics.pending()

    def flush() -> None:
        metrics._pending.update(filled)
        metrics.flush()

    flush()
    return seconds(flush, 50)


def measure(name: str, settings: Settings, batches: int) -> float:
    container = bootstrap(settings)
    schema.upgrade(container.database)
    with container.database.write() as connection:
        language_models.put_catalogue(connection, entries=[ECHO], now=container.now())
    world = new_world(container)
    prompt_id = world.prompt()
    bodies = [batch(prompt_id, SPANS, start_ns=time.time_ns()) for _ in range(batches)]
    stored_s = store_s(world, bodies)
    counting_s = seconds(lambda: count_a_batch(container.metrics), 2000)
    flushing_s = flush_s(container)
    cost = counting_s / stored_s + flushing_s / 1.0
    print(f"{name}: batches of {SPANS} spans, {batches} of them")
    print(f"  storing a batch         {stored_s * 1000:8.2f} ms")
    print(f"  counting it             {counting_s * 1e6:8.1f} µs   ratio {counting_s / stored_s:.5f}")
    print(f"  a flush, once a second  {flushing_s * 1000:8.2f} ms   ratio {flushing_s:.5f}")
    print(f"  together                {cost * 100:8.2f} %    goal under {GOAL * 100:g} %")
    container.database.engine.dispose()
    return cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=30)
    batches = parser.parse_args().batches
    with tempfile.TemporaryDirectory() as folder:
        base = Settings(home=Path(folder), secret_key="bench", log_level="warning")
        costs = [measure("Embedded (SQLite)", base, batches)]
        with (
            mariadb_server(flush_log=1) as mariadb,
            mariadb.database() as mysql_url,
            redis_server() as redis,
            redis.database() as redis_url,
        ):
            costs.append(measure("MySQL + Redis", replace(base, database_url=mysql_url, redis_url=redis_url), batches))
    sys.exit(max(costs) >= GOAL)


if __name__ == "__main__":
    main()
