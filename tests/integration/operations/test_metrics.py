"""Events are counted: requests, batches, spans, runs, caches; and Prometheus can read it."""

import itertools
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis
from falcon.testing import TestClient
from prometheus_client.parser import text_string_to_metric_families

from app.actors.spans import BatchesHere
from app.errors import Unavailable
from app.metrics import registry
from app.process.application import build_app
from app.redis_store.broker import QUEUES, QUEUES_EMBEDDED
from app.services.operations.metrics import MetricsService
from app.web.views.operations import troubles
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.counting import Since, counts
from tests.support.operations import calls_of
from tests.support.waiting import wait_until
from tests.support.world import World, new_world, running, settings_for

TOKEN = {"Authorization": "Bearer watcher"}
OTLP = Path(__file__).parents[2] / "data/otlp"


@pytest.fixture
def watcher(world: World) -> TestClient:
    """Calls an API with a token for its metrics."""
    settings = replace(world.container.settings, metrics_token="watcher")
    return TestClient(build_app(replace(world.container, settings=settings)))


def span(prompt_id: int, span_id: str, name: str = "chat") -> dict[str, Any]:
    return {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": span_id,
        "name": name,
        "startTimeUnixNano": "1000",
        "endTimeUnixNano": "2000",
        "attributes": [{"key": "service.prompt.id", "value": {"intValue": prompt_id}}],
    }


def batch(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def test_spans_are_counted_by_what_became_of_them(world: World) -> None:
    prompt = world.prompt()
    found, batches = Since(world, registry.SPANS), Since(world, registry.BATCHES)
    world.send(batch(span(prompt, "aaaaaaaaaaaaaaa1"), span(prompt, "aaaaaaaaaaaaaaa2")))
    world.send(batch(span(prompt, "aaaaaaaaaaaaaaa1"), span(prompt, "aaaaaaaaaaaaaaa3"), span(prompt, "bad")))
    world.send(b"{")
    assert found.moved() == {("received",): 5, ("stored",): 3, ("duplicate",): 1, ("rejected",): 1}
    assert batches.moved() == {("stored",): 2, ("invalid",): 1}


def test_bytes_are_counted_as_they_were_sent(world: World) -> None:
    found = Since(world, registry.BATCH_BYTES)
    world.send(b'{"resourceSpans": []}')
    assert found.moved() == {(): 21}


@pytest.mark.filterwarnings("ignore:Unknown REQUEST_METHOD")
def test_requests_are_counted_by_template_and_status(tmp_path: Path) -> None:
    """On a separate container: where other tests have asked for many paths, further ones are counted together."""
    with running(settings_for(tmp_path)) as container:
        world = new_world(container)
        world.get("/api/v1/prompts/9999999")
        world.get("/api/v1/prompts/9999998")
        world.get("/made/up")
        world.client.simulate_get("/api/v1/prompts/1")
        world.client.simulate_request("BREW", "/made/up")
        found = counts(world, registry.HTTP_REQUESTS)
    assert found == {
        ("GET", "/api/v1/prompts/{prompt_id}", "404"): 2,
        ("GET", "/api/v1/prompts/{prompt_id}", "401"): 1,
        ("GET", "unmatched", "404"): 1,
        ("OTHER", "unmatched", "404"): 1,
    }


def test_runs_are_counted_by_model_and_outcome(world: World) -> None:
    created = world.post("/api/v1/prompts", json={"name": "n", "value": "v", "languageModelName": "echo"})
    found = Since(world, registry.RUNS)
    answer = world.post(
        "/api/v1/prompts/run", json={"id": created.json["prompt"]["id"], "question": "Hello", "productive": True}
    )
    assert answer.status_code == 200, answer.text
    assert found.moved() == {("echo", "ok"): 1}


def test_a_second_read_of_a_version_hits_the_cache(world: World) -> None:
    prompt_id = world.post("/api/v1/prompts", json={"name": "n", "value": "v"}).json["prompt"]["id"]
    found = Since(world, registry.CACHE_LOOKUPS)
    for number in range(3):  # no two requests are the same, so that no answer is kept
        world.get(f"/api/v1/prompts/{prompt_id}", params={"productive": "true", "splitKey": str(number)})
    moved = found.moved()
    assert moved["prompt_versions", "miss"] == 1
    assert moved["prompt_versions", "hit"] == 2


def test_refused_calls_are_counted(tmp_path: Path) -> None:
    with running(replace(settings_for(tmp_path), rate_limit=2)) as container:
        world = new_world(container)
        answers = [world.get("/api/v1/prompts") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert 0 < int(answers[2].headers["retry-after"]) <= 60
        assert counts(world, registry.RATE_LIMITED) == {(): 1}


@EMBEDDED_CONTAINER
def test_runs_and_batches_that_get_no_place_in_time_are_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt_id = world.prompt()
    owner = world.container.services.owners.of_project(world.project_id)
    runs, workers = world.container.services.runs.semaphore, world.container.batch_delivery.workers
    assert isinstance(workers, BatchesHere)
    monkeypatch.setattr("app.services.runs.service.QUEUE_WAIT_S", 0)
    monkeypatch.setattr("app.actors.spans.BODY_S", 0)
    found = Since(world, registry.SHARE_REFUSED)
    with ExitStack() as held:
        for semaphore in (runs, workers.semaphore):
            with suppress(Unavailable):
                while True:
                    held.enter_context(semaphore.hold(owner, wait_s=0))
        before = found.moved()
        assert before == {("run_turns",): 1, ("batch_turns",): 1}

        run = world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "Hello"})
        sent = world.send(batch(span(prompt_id, "ccccccccccccccc1")))
        assert (run.status_code, sent.status_code) == (503, 503)
    assert found.moved() == {("run_turns",): 2, ("batch_turns",): 2}


def test_prometheus_can_read_every_metric(world: World, watcher: TestClient) -> None:
    world.send(batch(span(world.prompt(), "bbbbbbbbbbbbbbb1")))
    world.container.metrics.flush()
    answer = watcher.simulate_get("/metrics", headers=TOKEN)
    assert answer.status_code == 200
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert set(families) == {metric.name.removesuffix("_total") for metric in registry.METRICS}
    samples = {
        (sample.name, sample.labels.get("le")): sample.value
        for sample in families["reprise_batch_store_seconds"].samples
    }
    assert (
        samples["reprise_batch_store_seconds_bucket", "+Inf"] == samples["reprise_batch_store_seconds_count", None] > 0
    )
    states = {(s.labels["queue"], s.labels["state"]) for s in families["reprise_queue_messages"].samples}
    assert ("runs", "waiting") in states
    assert families["reprise_database_connections"].samples


def test_openmetrics_is_spoken_where_it_is_preferred(watcher: TestClient) -> None:
    answer = watcher.simulate_get("/metrics", headers=TOKEN | {"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "watcher"}])
def test_metrics_need_their_token(watcher: TestClient, headers: dict[str, str]) -> None:
    assert watcher.simulate_get("/metrics", headers=headers).status_code == 401


def test_an_api_key_is_no_token_for_metrics(world: World, watcher: TestClient) -> None:
    assert watcher.simulate_get("/metrics", headers=world.headers).status_code == 401


def test_without_a_token_there_is_no_such_path(world: World) -> None:
    assert world.client.simulate_get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


def test_the_operations_page_reads_the_last_hour(world: World) -> None:
    prompt = world.prompt()
    world.send(batch(span(prompt, "ccccccccccccccc1"), span(prompt, "ccccccccccccccc2")))
    world.container.metrics.flush()
    found = world.container.services.metrics.read()
    assert found.spans["stored"] >= 2
    assert found.spans_per_minute > 0
    assert found.ingest.count >= 1
    assert found.ingest.p50_s is not None
    assert 0 < found.ingest.p50_s <= (found.ingest.p99_s or 0)
    queues = QUEUES_EMBEDDED if world.container.settings.embedded else QUEUES
    assert {state.queue: state.workers > 0 for state in found.queues} == dict.fromkeys(queues, True)
    assert "POST /api/public/otel/v1/traces" in dict(found.slowest_routes) or len(found.slowest_routes) == 10


def test_twice_as_many_routes_cost_the_operations_page_twice_the_work(world: World) -> None:
    metrics, routes = world.container.services.metrics, itertools.count()

    def calls_with(more: int) -> int:
        labels = [("GET", f"/{next(routes)}") for _ in range(more)]
        metrics.store.add({(registry.HTTP_SECONDS, label, "0.1"): 1 for label in labels})
        return calls_of(metrics.read)

    none, once, twice = (calls_with(more) for more in (0, 200, 200))

    assert twice - none <= 2.1 * (once - none)


def test_charts_and_counts_are_of_the_same_time(world: World) -> None:
    world.send(batch(span(world.prompt(), "ccccccccccccccc3")))
    world.container.metrics.flush()

    def agree() -> bool:
        found = world.container.services.metrics.read()
        spans, runs = (sum(minutes) for minutes in zip(*found.history, strict=True))
        return (spans, runs) == (found.spans["stored"], sum(found.runs.values()))

    # Other tests' workers count meanwhile: the two are read one after the other.
    wait_until(agree, "a moment without other counts")


def test_the_operations_page_warns_of_what_keeps_work_from_being_done(world: World) -> None:
    world.container.metrics.count(registry.POOL_TIMEOUTS)
    world.container.metrics.count(registry.CLOCK_JOBS, "sweep_runs", "failed")
    world.container.metrics.flush()
    found = world.container.services.metrics.read()
    assert min(found.pool_timeouts, found.clock_failures) >= 1
    shown = troubles(found)
    assert ("timed out waits for a database connection", found.pool_timeouts, "bad") in shown
    assert ("jobs of the clock failed", found.clock_failures, "bad") in shown


def test_without_redis_metrics_are_503(world: World, watcher: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_self: MetricsService, _accept: str) -> None:
        raise redis.ConnectionError("away")

    monkeypatch.setattr(MetricsService, "exposition", away)
    assert watcher.simulate_get("/metrics", headers=TOKEN).status_code == 503
