"""Real processes that are killed, or asked to end, in the middle of a run: workers, and Redis."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from app.models import schema
from app.process.bootstrap import bootstrap
from app.services.runs.following import AnswerPiece
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, record, run
from tests.integration.runs.conftest import KEY
from tests.support.deployment import ROOT, environment, worker_command
from tests.support.process import ChildProcess
from tests.support.redis_server import redis_server
from tests.support.sweeping import sweep_runs
from tests.support.waiting import wait_until
from tests.support.world import World, new_world, running, settings_for

EVENTS = {"Accept": "text/event-stream"}
ASYNC = {"Prefer": "respond-async"}


@pytest.fixture
def apart(tmp_path, mysql_url, redis_url) -> World:
    """A web side without workers."""
    container = bootstrap(settings_for(tmp_path, mysql_url=mysql_url, redis_url=redis_url))
    schema.upgrade(container.database)
    container.services.models.sync_catalogue()
    yield new_world(container)
    container.services.runs.ending.completions.close()
    container.database.engine.dispose()


@pytest.fixture
def worker(tmp_path: Path, apart: World, upstream) -> Iterator[ChildProcess]:
    settings = apart.container.settings
    urls = {
        "DATABASE_URL": settings.database_url,
        "REDIS_URL": settings.redis_url,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": upstream.base_url("OPENAI"),
    }
    child = ChildProcess(
        "runs",
        worker_command("runs", processes=1),
        log=tmp_path / "worker.log",
        env=environment(tmp_path, urls),
        cwd=ROOT,
    )
    with child:
        yield child


def test_a_killed_worker_loses_no_run_and_none_is_called_twice(apart, worker, upstream):
    upstream.script(Reply(hang=True), Reply(text="alive"))
    prompt_id = prompt(apart, model="gpt-4o-mini")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run, apart, prompt_id)
        wait_until(lambda: len(upstream.requests) == 1, "the first call")
        worker.restart()
        # The dead worker's message comes to the new one, which sees the claim and does not touch the run.
        redis = apart.container.redis.commands
        wait_until(lambda: redis.hlen("dramatiq:runs.msgs") == 0, "the redelivery")
        assert run(apart, prompt_id).json["answer"] == "alive"
        sweep_runs(apart)
        interrupted = waiting.result(timeout=120)

    assert (interrupted.status_code, len(upstream.requests)) == (503, 2)
    assert "interrupted" in interrupted.json["error"]
    assert record(apart, interrupted)["error"]["kind"] == "interrupted"


def test_a_run_is_cancelled_in_another_process(apart, worker, upstream):
    upstream.script(Reply(hang=True), Reply(text="alive"))
    prompt_id = prompt(apart, model="gpt-4o-mini")
    run_id = run(apart, prompt_id, headers=ASYNC).json["id"]
    path = f"/api/v1/runs/{run_id}"
    wait_until(lambda: len(upstream.requests) == 1, "the call")
    assert apart.post(f"{path}/cancel").status_code == 202
    wait_until(lambda: apart.get(path).json["status"] == "cancelled", "the end of the run")

    assert run(apart, prompt_id).json["answer"] == "alive"
    assert apart.post(f"{path}/cancel").json["status"] == "cancelled"


def test_a_worker_that_is_asked_to_end_finishes_its_run_first(apart, worker, upstream):
    upstream.script(Reply(text="finished", latency_s=1.5))
    answer = run(apart, prompt(apart, model="gpt-4o-mini"), headers=ASYNC)
    wait_until(lambda: len(upstream.requests) == 1, "the call")
    worker.terminate()

    assert record(apart, answer)["answer"] == "finished"


def test_a_worker_that_is_killed_in_the_middle_of_a_stream_ends_it_with_an_error(apart, worker, upstream):
    rest = threading.Event()
    upstream.script(Reply(text="one two three four five six seven eight", held=rest))
    run_id = int(run(apart, prompt(apart, model="gpt-4o-mini"), headers=ASYNC | EVENTS).headers["X-Run-Id"])
    follower = replace(apart.container.run_follower, look_s=0.1, wait_s=90)
    seen = follower.follow(project_id=apart.project_id, run_id=run_id)
    first = next(one for one in seen if isinstance(one, AnswerPiece))
    assert record_of(apart, run_id)["status"] == "running", "the piece came while the model was writing"
    worker.kill()
    rest.set()
    sweep_runs(apart)

    *_, row = seen
    assert (first.kind, row.error_kind) == ("token", "interrupted")
    body = apart.get(f"/api/v1/runs/{run_id}/events").text
    assert "event: token" in body
    assert body.rstrip().rpartition("\n\n")[2].startswith("id: end\nevent: error")


def record_of(world: World, run_id: int) -> dict:
    return world.get(f"/api/v1/runs/{run_id}").json


@pytest.mark.usefixtures("needs_redis")
def test_a_redis_that_is_killed_and_forgets_all_delays_a_waiting_run_and_loses_nothing(
    tmp_path, mysql_url, upstream, shared_upstream
):
    answered = threading.Event()
    upstream.script(Reply(text="still here", held=answered))
    credentials = {"OPENAI": (KEY, shared_upstream.base_url("OPENAI"))}
    with redis_server() as server, server.database() as redis_url:
        settings = settings_for(tmp_path, mysql_url=mysql_url, redis_url=redis_url)
        with running(replace(settings, vendor_credentials=credentials)) as container, ThreadPoolExecutor(1) as pool:
            container.services.models.sync_catalogue()
            world = new_world(container)
            waiting = pool.submit(run, world, prompt(world, model="gpt-4o-mini"))
            wait_until(lambda: len(upstream.requests) == 1, "the call")
            server.restart()
            answered.set()
            answer = waiting.result(timeout=120)

    assert (answer.status_code, answer.json["answer"]) == (200, "still here")
    assert len(upstream.requests) == 1
