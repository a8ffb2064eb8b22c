"""A real worker process that is killed, or asked to end, in the middle of a replay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.models import schema
from app.process.bootstrap import bootstrap
from app.services.replays.claims import ReplaySweeper
from app.work.sweeper import Resending
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.conftest import KEY
from tests.integration.replays.recording import THANKS, finished, prompt, start
from tests.support.deployment import ROOT, environment, worker_command
from tests.support.process import ChildProcess
from tests.support.sweeping import Clock, sweep_for
from tests.support.waiting import wait_until
from tests.support.world import World, new_world, settings_for

SAID = Reply(text=THANKS.answer)
HANGS = Reply(hang=True)


@pytest.fixture
def apart(tmp_path: Path, mysql_url: str, redis_url: str) -> Iterator[World]:
    """A web side without workers."""
    container = bootstrap(settings_for(tmp_path, mysql_url=mysql_url, redis_url=redis_url))
    schema.upgrade(container.database)
    container.services.models.sync_catalogue()
    yield new_world(container)
    container.database.engine.dispose()


@pytest.fixture
def worker(tmp_path: Path, apart: World, upstream: Upstream) -> Iterator[ChildProcess]:
    settings = apart.container.settings
    urls = {
        "DATABASE_URL": settings.database_url,
        "REDIS_URL": settings.redis_url,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": upstream.base_url("OPENAI"),
    }
    child = ChildProcess(
        "replays",
        worker_command("replays", processes=1),
        log=tmp_path / "worker.log",
        env=environment(tmp_path, urls),
        cwd=ROOT,
    )
    with child:
        yield child


def begun(world: World, upstream: Upstream) -> int:
    """Make a replay with a single call, which hangs."""
    upstream.script(HANGS)
    body = {"question": THANKS.user, "expectedAnswer": THANKS.answer}
    case = world.post(f"/api/v1/prompts/{prompt(world)}/test-cases", json=body).json
    replay_id = start(world, case["id"])
    wait_until(lambda: len(upstream.requests) == 1, "the first call")
    return replay_id


def test_a_killed_workers_replay_is_taken_up_by_the_next(
    apart: World, worker: ChildProcess, upstream: Upstream
) -> None:
    replay_id = begun(apart, upstream)
    upstream.script(SAID)

    worker.restart()
    sweep_until_sent(apart, replay_id)

    replay = finished(apart, replay_id)
    assert (replay["status"], len(upstream.requests)) == ("passed", 2)


def test_a_worker_that_is_asked_to_end_hands_its_replay_over(
    apart: World, worker: ChildProcess, upstream: Upstream
) -> None:
    upstream.script(Reply(text=THANKS.answer, latency_s=3))
    body = {"question": THANKS.user, "expectedAnswer": THANKS.answer}
    case = apart.post(f"/api/v1/prompts/{prompt(apart)}/test-cases", json=body).json
    replay_id = start(apart, case["id"])
    wait_until(lambda: len(upstream.requests) == 1, "the call")
    upstream.script(SAID)

    worker.terminate()
    assert apart.get(f"/api/v1/replays/{replay_id}").json["status"] in ("running", "passed")
    worker.start()

    assert finished(apart, replay_id)["status"] == "passed"


def sweep_until_sent(world: World, replay_id: int) -> None:
    """Do the clock's work without waiting for its next round."""
    of, clock = world.container, Clock()
    sweeper = ReplaySweeper(
        database=of.database, now=of.now, metrics=of.metrics, monotonic=clock, resending=Resending(False)
    )

    def freed() -> bool:
        sweeper.sweep()
        return any(replay_id in sent for sent in sweep_for(sweeper, clock, ReplaySweeper.stale_s).values())

    wait_until(freed, "the replay to be freed", interval_s=2.5)
    world.container.replay_delivery.send([replay_id])
