"""A worker is killed in the middle of an experiment's replays, while other replays still wait."""

from __future__ import annotations

import threading
from collections import Counter

from app.services.replays.claims import ReplaySweeper
from app.work.sweeper import Resending
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import behave, changed_prompt, experiment, verdict
from tests.integration.replays.test_replays_killed_worker import apart, worker
from tests.support.process import ChildProcess
from tests.support.sweeping import Clock, sweep_for
from tests.support.waiting import wait_until
from tests.support.world import World

__all__ = ["apart", "worker"]
CASES, CALLS = 4, 32


def test_it_continues_and_plays_nothing_twice(apart: World, worker: ChildProcess, upstream: Upstream) -> None:
    prompt_id = changed_prompt(apart, cases=CASES)
    held = threading.Event()
    behave(upstream, lambda number: Reply(text="Ping", held=None if number < 6 else held))
    path = experiment(apart, prompt_id)
    wait_until(lambda: apart.get(path).json["progress"]["done"] > 5, "some replays")

    worker.restart()
    held.set()
    wait_until(lambda: swept(apart) and apart.get(path).json["finishedAt"], path, interval_s=2.5)

    found = apart.get(path).json
    assert verdict(found) == ("finished", "passed")
    assert found["progress"] == {"done": CALLS, "total": CALLS}
    sides = [each[side] for each in found["testCases"] for side in ("candidate", "baseline")]
    assert [side["runs"] for side in sides] == [4] * 2 * CASES
    counted = Counter(replay_id for side in sides for replay_id in side["replayIds"])
    assert (len(counted), set(counted.values())) == (CALLS, {1})
    assert apart.count("replays") == CALLS


def swept(world: World) -> bool:
    """Do what the clock does, without waiting for its next round."""
    of, clock = world.container, Clock()
    sweeper = ReplaySweeper(
        database=of.database, now=of.now, metrics=of.metrics, monotonic=clock, resending=Resending(False)
    )
    sweeper.sweep()
    for ids in sweep_for(sweeper, clock, ReplaySweeper.stale_s).values():
        of.replay_delivery.send(ids)
    of.experiment_delivery.sweep()
    return True
