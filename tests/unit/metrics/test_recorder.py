"""The counts of all processes are read as one, are bounded, and are never in the way."""

import threading

import fakeredis
import pytest
import redis

from app.metrics import Metrics, provider_call, registry
from app.metrics.readings import Increments
from app.metrics.recorder import PENDING_MAX
from app.metrics.registry import Metric
from app.redis_store.metric_store import MetricStore

HOUR = 3600 * 60 * 8.0


class Clock:
    def __init__(self) -> None:
        self.now = HOUR

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def client() -> redis.Redis:
    return fakeredis.FakeRedis()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(client: redis.Redis, clock: Clock) -> MetricStore:
    return MetricStore(client, now=clock)


def recorder(store: MetricStore) -> Metrics:
    """Flushes when a test asks for it."""
    return Metrics(store, every_s=3600)


def test_processes_are_added_up(store: MetricStore) -> None:
    one, other = recorder(store), recorder(store)
    one.count(registry.SPANS, "stored", by=512)
    other.count(registry.SPANS, "stored", by=8)
    other.count(registry.SPANS, "rejected")
    one.flush()
    other.flush()
    assert store.total().counts(registry.SPANS) == {("stored",): 520, ("rejected",): 1}


def test_what_was_flushed_is_not_added_again(store: MetricStore) -> None:
    metrics = recorder(store)
    metrics.count(registry.RATE_LIMITED)
    metrics.flush()
    metrics.flush()
    assert store.total().counts(registry.RATE_LIMITED) == {(): 1}


def test_observations_fall_into_the_bucket_that_ends_at_or_above_them(store: MetricStore) -> None:
    metrics = recorder(store)
    for seconds in (0.005, 0.0051, 1000.0):
        metrics.observe(registry.BATCH_SECONDS, seconds)
    metrics.flush()
    found = store.total().distributions(registry.BATCH_SECONDS)[()]
    assert {bound: count for bound, count in found.counts.items() if count} == {"0.005": 1, "0.01": 1, "+Inf": 1}
    assert found.sum == pytest.approx(1000.0101)


def test_a_counter_without_labels_is_there_before_it_counts(store: MetricStore) -> None:
    assert store.total().counts(registry.LOCK_RETRIES) == {(): 0}


def test_counting_together_is_counting_each() -> None:
    each, together = Metrics(), Metrics()
    each.count(registry.HTTP_REQUESTS, "GET", "/", "200")
    each.count(registry.CACHE_LOOKUPS, "answers", "hit")
    each.observe(registry.HTTP_SECONDS, 0.02, "GET", "/")
    counted = [(registry.HTTP_REQUESTS, ("GET", "/", "200"), ""), (registry.CACHE_LOOKUPS, ("answers", "hit"), "")]
    together.count_together(counted, registry.HTTP_SECONDS, ("GET", "/"), 0.02)
    assert together.pending() == each.pending()


def test_threads_lose_no_count(store: MetricStore) -> None:
    metrics = recorder(store)
    begin = threading.Barrier(9)

    def work() -> None:
        begin.wait()
        for _ in range(500):
            metrics.count(registry.RATE_LIMITED)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    begin.wait()
    for _ in range(20):
        metrics.flush()
    for thread in threads:
        thread.join()
    metrics.flush()
    assert store.total().counts(registry.RATE_LIMITED) == {(): 4000}


def test_label_sets_are_bounded_for_all_processes_together(store: MetricStore) -> None:
    bound = registry.RUNS.series_max
    for process in range(3):
        metrics = recorder(store)
        for number in range(bound):
            metrics.count(registry.RUNS, f"model {process}-{number}", "ok")
        metrics.count(registry.RUNS, "model 0-0", "ok")
        metrics.flush()
    counted = store.total().counts(registry.RUNS)
    assert len(counted) == bound + 1
    assert counted["other", "other"] == 2 * bound
    assert counted["model 0-0", "ok"] == 4


def test_memory_is_bounded_between_two_flushes() -> None:
    metrics = Metrics()
    for number in range(PENDING_MAX + 500):
        metrics.count(registry.RUNS, str(number), "ok")
    assert len(metrics.pending()) == PENDING_MAX


def test_without_redis_counts_wait_and_nothing_fails() -> None:
    server = fakeredis.FakeServer()
    store = MetricStore(fakeredis.FakeRedis(server=server))
    metrics = recorder(store)
    server.connected = False
    metrics.count(registry.RATE_LIMITED)
    metrics.flush()
    server.connected = True
    metrics.count(registry.RATE_LIMITED)
    metrics.flush()
    assert store.total().counts(registry.RATE_LIMITED) == {(): 2}


def test_what_a_redis_that_hangs_was_sent_is_not_counted_twice(client: redis.Redis) -> None:
    class Hanging(MetricStore):
        def add(self, increments: Increments) -> None:
            super().add(increments)
            raise redis.TimeoutError

    metrics = recorder(Hanging(client))
    metrics.count(registry.RATE_LIMITED)
    metrics.flush()
    metrics.flush()
    assert MetricStore(client).total().counts(registry.RATE_LIMITED) == {(): 1}


def test_a_thread_flushes_by_itself(client: redis.Redis) -> None:
    flushed = threading.Event()

    class Store(MetricStore):
        def add(self, increments: object) -> None:
            flushed.set()

    metrics = Metrics(Store(client), every_s=0.001)
    metrics.count(registry.RATE_LIMITED)
    assert flushed.wait(60)
    metrics.close()


def test_what_is_closed_flushes_a_last_time_and_has_no_thread(store: MetricStore) -> None:
    before = set(threading.enumerate())
    metrics = recorder(store)
    metrics.count(registry.RATE_LIMITED)
    (own,) = set(threading.enumerate()) - before
    metrics.close()
    assert not own.is_alive()
    assert store.total().counts(registry.RATE_LIMITED) == {(): 1}


@pytest.mark.parametrize("labels", [(), ("a", "b")])
def test_a_wrong_number_of_labels_is_a_bug(labels: tuple[str, ...]) -> None:
    with pytest.raises(TypeError, match="reprise_spans_total"):
        Metrics().count(registry.SPANS, *labels)


@pytest.mark.parametrize("label", ["", "a\x1fb", "роль 🦊", "{}:*", '"\\'])
def test_any_text_can_be_a_label(store: MetricStore, label: str) -> None:
    metrics = recorder(store)
    metrics.count(registry.RUNS, label, "ok")
    metrics.flush()
    assert store.total().counts(registry.RUNS) == {(label.replace("\x1f", "_"), "ok"): 1}


def test_a_window_has_its_minutes_and_no_older_ones(store: MetricStore, clock: Clock) -> None:
    metrics = recorder(store)
    for minute in range(4):
        clock.now = HOUR + 60 * minute
        metrics.count(registry.RATE_LIMITED, by=10**minute)
        metrics.flush()
    clock.now += 30
    recent, seconds, history = store.window(2, by_minute=[registry.RATE_LIMITED])
    assert recent.counts(registry.RATE_LIMITED) == {(): 1110}
    assert seconds == 150
    assert [minute.counts(registry.RATE_LIMITED)[()] for minute in history] == [10, 100, 1000]


def test_minutes_go_by_themselves(store: MetricStore, client: redis.Redis) -> None:
    metrics = recorder(store)
    metrics.count(registry.RATE_LIMITED)
    metrics.flush()
    kept = {key: client.ttl(key) for key in client.scan_iter("reprise:metrics:minute:*")}
    assert len(kept) == 1
    assert 3600 < min(kept.values()) < 2 * 3600


def test_gauges_are_summed_over_living_processes(store: MetricStore, clock: Clock) -> None:
    one, other = recorder(store), recorder(store)
    for metrics, used in ((one, 3), (other, 4)):
        metrics.gauge(registry.DATABASE_CONNECTIONS, lambda used=used: {("in_use",): used})
        metrics.flush()
    assert store.gauges() == {registry.DATABASE_CONNECTIONS: {("in_use",): 7.0}}
    clock.now += 60
    other.flush()
    assert store.gauges() == {registry.DATABASE_CONNECTIONS: {("in_use",): 4.0}}


def test_metrics_of_another_release_are_left_out(store: MetricStore) -> None:
    later = Metric("reprise_of_tomorrow_total", "counter", "")
    relabelled = Metric(registry.SPANS.name, "counter", "", ("outcome", "sort"))
    store.add({(later, (), ""): 1, (relabelled, ("stored", "new"), ""): 1, (registry.SPANS, ("stored",), ""): 1})
    assert store.total().series() == {registry.SPANS: {("stored",)}}


def test_a_providers_error_is_counted_and_goes_on() -> None:
    metrics = Metrics()

    with pytest.raises(ConnectionError), provider_call(metrics, "OPENAI"):
        raise ConnectionError
    counted = metrics.pending()
    assert counted[registry.PROVIDER_CALLS, ("OPENAI", "ConnectionError"), ""] == 1
    assert any(metric is registry.PROVIDER_SECONDS for metric, _, _ in counted)
