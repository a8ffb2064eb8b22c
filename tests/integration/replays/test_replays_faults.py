"""Workers die, messages come twice or never, people click twice: a replay is played once at a time and always ends."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import redis
from sqlalchemy import Connection

from app.metrics.registry import REPLAYS
from app.models.replays import find_replay
from app.models.replays import replays as table
from app.services.replays.claims import ATTEMPTS_MAX, REPLAY_WORK, ReplaySweeper
from app.work.sweeper import DOUBT_S, Resending
from app.work.table import Claim, WorkTable
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import THANKS, finished, make_case, prompt, record, replayed, start
from tests.support.counting import Since
from tests.support.sweeping import ROUND_S, Clock, sweep_for
from tests.support.waiting import wait_until
from tests.support.world import World

SAID = Reply(text="You are welcome.")


@pytest.fixture
def case_id(world: World) -> int:
    case_id: int = make_case(world, record(world, prompt(world), [THANKS, THANKS]))["id"]
    return case_id


def waiting(world: World, case_id: int) -> int:
    """Make a replay and do not send its message."""
    return world.container.services.replays.start(project_id=world.project_id, test_case_id=case_id).id


def claim(world: World, replay_id: int, token: str = "dead") -> Any:
    with world.container.database.write() as connection:
        if not REPLAY_WORK.claim(connection, [replay_id], token=token, now=world.container.now()):
            return None
        return find_replay(connection, project_id=world.project_id, replay_id=replay_id)


def stored(world: World, replay_id: int, **values: Any) -> None:
    with world.container.database.write() as connection:
        connection.execute(table.update().where(table.c.id == replay_id).values(values))


def shown(world: World, replay_id: int) -> dict[str, Any]:
    replay: dict[str, Any] = world.get(f"/api/v1/replays/{replay_id}").json
    return replay


def sweeper(world: World, clock: Clock, first: bool = False) -> ReplaySweeper:
    of = world.container
    return ReplaySweeper(
        database=of.database, now=of.now, metrics=of.metrics, monotonic=clock, resending=Resending(first)
    )


def test_a_message_that_comes_many_times_plays_once(world: World, case_id: int, upstream: Upstream) -> None:
    answer = threading.Event()
    upstream.script(*[Reply(text="You are welcome.", held=answer)] * 2)
    replay_id = waiting(world, case_id)

    with ThreadPoolExecutor(8) as pool:
        plays = [pool.submit(world.container.services.replay_player.play, replay_id) for _ in range(8)]
        wait_until(lambda: sum(one.done() for one in plays) == 7, "all but the one that plays")
        answer.set()

    assert (shown(world, replay_id)["status"], len(upstream.requests)) == ("passed", 2)


def test_a_replay_is_taken_over_from_a_worker_that_hangs(world: World, case_id: int, upstream: Upstream) -> None:
    upstream.script(SAID, SAID)
    replay_id = waiting(world, case_id)
    claim(world, replay_id)
    clock = Clock()
    sweeping = sweeper(world, clock)

    assert replay_id not in sweeping.sweep()
    assert not any(replay_id in sent for sent in sweep_for(sweeping, clock, ReplaySweeper.stale_s - ROUND_S).values())
    world.container.services.replay_player.play(replay_id)
    assert (shown(world, replay_id)["status"], len(upstream.requests)) == ("running", 0)
    assert any(replay_id in sent for sent in sweep_for(sweeping, clock, ReplaySweeper.stale_s).values())
    world.container.services.replay_player.play(replay_id)

    assert shown(world, replay_id)["status"] == "passed"


def test_a_worker_that_shows_itself_keeps_its_replay(world: World, case_id: int) -> None:
    replay_id = waiting(world, case_id)
    claim(world, replay_id)
    clock = Clock()
    sweeping = sweeper(world, clock)
    sweeping.sweep()
    for _ in range(5):
        sweep_for(sweeping, clock, ReplaySweeper.stale_s - ROUND_S)
        later = world.container.now() + timedelta(seconds=clock.at)
        with world.container.database.write() as connection:
            assert REPLAY_WORK.touch(connection, {replay_id: "dead"}, now=later) == 1
        assert replay_id not in sweeping.sweep()

    assert shown(world, replay_id)["status"] == "running"


def test_a_replay_that_kills_every_worker_ends_as_an_error(world: World, case_id: int) -> None:
    replay_id = waiting(world, case_id)
    clock = Clock()
    sweeping = sweeper(world, clock)
    counted = Since(world, REPLAYS)
    for attempt in range(1, ATTEMPTS_MAX + 1):
        assert claim(world, replay_id).attempts == attempt
        sweeping.sweep()
        sent = sweep_for(sweeping, clock, ReplaySweeper.stale_s)
        assert (replay_id in sent[clock.at]) == (attempt < ATTEMPTS_MAX)

    replay = shown(world, replay_id)
    assert (replay["status"], "interrupted 3 times" in replay["error"]) == ("error", True)
    assert counted.moved() == {("error",): 1}
    assert replay["finishedAt"]
    assert claim(world, replay_id) is None


def test_what_interrupted_attempts_cost_is_counted(world: World, case_id: int, upstream: Upstream) -> None:
    upstream.script(SAID, SAID)
    alone = replayed(world, case_id)["tokens"]
    upstream.script(SAID, SAID)
    replay_id = waiting(world, case_id)
    stored(world, replay_id, prompt_tokens=1000, completion_tokens=10, prompt_cost_usd=0.5)
    world.container.services.replay_player.play(replay_id)

    replay = shown(world, replay_id)
    assert replay["tokens"]["prompt"] == alone["prompt"] + 1000
    assert replay["cost"]["prompt"] > 0.5


def test_a_worker_that_lost_its_replay_changes_nothing_any_more(world: World, case_id: int) -> None:
    replay_id = waiting(world, case_id)
    claim(world, replay_id, "first")
    first = Claim(replay_id, "first", world.container.now())
    with world.container.database.write() as connection:
        assert REPLAY_WORK.release(connection, first)
    claim(world, replay_id, "second")

    now = world.container.now()
    with world.container.database.write() as connection:
        assert not REPLAY_WORK.finish(connection, first, {"status": "passed"}, now=now)
        assert not REPLAY_WORK.touch(connection, {replay_id: "first"}, now=now)
    assert shown(world, replay_id)["status"] == "running"


def test_replays_without_a_message_are_sent_again_ever_more_rarely(world: World, case_id: int) -> None:
    replay_id = waiting(world, case_id)
    clock = Clock()
    sweeping = sweeper(world, clock)
    assert replay_id not in sweeping.sweep()

    assert [at for at, sent in sweep_for(sweeping, clock, 100).items() if replay_id in sent] == [10, 20, 40, 80]


def test_a_clock_that_begins_sends_for_all_that_wait(world: World, case_id: int, upstream: Upstream) -> None:
    upstream.script(SAID, SAID)
    replay_id = waiting(world, case_id)

    assert replay_id in sweeper(world, Clock(), first=True).sweep()
    world.container.replay_delivery.send([replay_id])

    assert finished(world, replay_id)["status"] == "passed"


def test_a_replay_that_no_worker_starts_ends_after_a_day(world: World, case_id: int) -> None:
    replay_id = waiting(world, case_id)
    stored(world, replay_id, created_at=world.container.now() - ReplaySweeper.expires_after)
    clock = Clock()
    sweeping = sweeper(world, clock, first=True)

    assert replay_id not in sweeping.sweep()
    assert shown(world, replay_id)["status"] == "queued", "its maker's clock may have been wrong"
    assert not any(replay_id in sent for sent in sweep_for(sweeping, clock, DOUBT_S).values())

    replay = shown(world, replay_id)
    assert (replay["status"], "no worker" in replay["error"]) == ("error", True)


@pytest.mark.parametrize(
    ("begun", "jump"), [(timedelta(0), ReplaySweeper.expires_after), (ReplaySweeper.expires_after, timedelta(0))]
)
def test_a_replay_that_looks_a_day_old_to_a_clock_that_jumped_is_played(
    world: World, case_id: int, upstream: Upstream, begun: timedelta, jump: timedelta
) -> None:
    upstream.script(SAID, SAID)
    times = iter([begun])
    clock = Clock()
    sweeping = replace(sweeper(world, clock, first=True), now=lambda: world.container.now() + next(times, jump))
    replay_id = waiting(world, case_id)

    assert replay_id in sweeping.sweep()
    sweep_for(sweeping, clock, 2 * DOUBT_S)
    world.container.services.replay_player.play(replay_id)

    assert shown(world, replay_id)["status"] == "passed"


def test_a_worker_keeps_its_replay_through_an_outage_of_the_database(world: World, case_id: int) -> None:
    replay_id = waiting(world, case_id)
    claim(world, replay_id)
    clock = Clock()
    sweeping = sweeper(world, clock)
    sweeping.sweep()
    clock.at += 10 * ReplaySweeper.stale_s

    assert replay_id not in sweeping.sweep()
    assert shown(world, replay_id)["status"] == "running"


def test_a_replay_is_accepted_while_redis_is_away(world: World, case_id: int, monkeypatch, upstream) -> None:
    def away(_self: Any, _message: Any, **_options: Any) -> None:
        raise redis.ConnectionError("Connection refused")

    upstream.script(SAID, SAID)
    with monkeypatch.context() as faulty:
        faulty.setattr(type(world.container.broker), "enqueue", away)
        replay_id = start(world, case_id)
    assert shown(world, replay_id)["status"] == "queued"

    world.container.replay_delivery.send([replay_id])
    assert finished(world, replay_id)["status"] == "passed"


def test_a_bug_leaves_the_replay_to_the_next_attempt(world: World, case_id: int, monkeypatch, upstream) -> None:
    player = world.container.services.replay_player
    replay_id = waiting(world, case_id)
    with monkeypatch.context() as broken:
        broken.setattr("app.services.replays.player.replay", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            player.play(replay_id)
    upstream.script(SAID, SAID)
    player.play(replay_id)

    assert shown(world, replay_id)["status"] == "passed"


def test_progress_is_seen_while_a_replay_runs(world: World, case_id: int, upstream: Upstream) -> None:
    answer = threading.Event()
    upstream.script(SAID, Reply(text="You are welcome.", held=answer))
    replay_id = start(world, case_id)

    def half() -> bool:
        replay = shown(world, replay_id)
        return bool(replay["status"] == "running" and replay["progress"] == {"done": 1, "total": 2})

    wait_until(half, "progress")
    assert shown(world, replay_id)["tokens"]["total"] > 0
    answer.set()
    assert finished(world, replay_id)["progress"] == {"done": 2, "total": 2}


def test_a_queued_replay_that_is_cancelled_is_never_played(world: World, case_id: int, upstream: Upstream) -> None:
    replay_id = waiting(world, case_id)

    cancelled = world.post(f"/api/v1/replays/{replay_id}/cancel")
    world.container.services.replay_player.play(replay_id)

    assert (cancelled.status_code, cancelled.json["status"]) == (200, "cancelled")
    assert shown(world, replay_id)["status"] == "cancelled"
    assert upstream.requests == []
    again = world.post(f"/api/v1/replays/{replay_id}/cancel")
    assert (again.status_code, "cancelled" in again.json["error"]) == (409, True)


def test_a_running_replay_that_is_cancelled_keeps_what_it_found(
    world: World, case_id: int, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    touched: list[int] = []
    touch = WorkTable.touch

    def noted(table: WorkTable, connection: Connection, tokens: dict[int, str], **columns: Any) -> int:
        count = touch(table, connection, tokens, **columns)
        if replay_id in tokens:
            touched.append(count)
        return count

    monkeypatch.setattr(WorkTable, "touch", noted)
    answer = threading.Event()
    upstream.script(SAID, Reply(tool_calls=[("weather", {"city": "Rome"})], held=answer))
    replay_id = start(world, case_id)
    wait_until(lambda: len(upstream.requests) == 2, "the second call")

    assert world.post(f"/api/v1/replays/{replay_id}/cancel").json["status"] == "cancelled"
    wait_until(lambda: touched.count(0) >= 2, "a heartbeat after the one that found the claim gone")
    answer.set()
    wait_until(lambda: shown(world, replay_id)["turns"], "what was found")

    replay = shown(world, replay_id)
    assert (replay["status"], len(upstream.requests)) == ("cancelled", 2)
    assert replay["counts"]["passed"] == 1
    assert replay["counts"]["not_run"] == 1
    assert replay["tokens"]["total"] > 0


def test_of_two_concurrent_cancellations_one_is_refused_as_late(world: World, case_id: int) -> None:
    replay_id = waiting(world, case_id)

    with ThreadPoolExecutor(2) as pool:
        codes = pool.map(lambda _: world.post(f"/api/v1/replays/{replay_id}/cancel").status_code, range(2))

    assert sorted(codes) == [200, 409]


def test_of_two_verdicts_on_a_step_one_counts_and_verdicts_on_others_are_kept(world: World, upstream: Upstream) -> None:
    prompt_id = prompt(world)
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": "MANUAL"})
    case_id = make_case(world, record(world, prompt_id, [THANKS] * 4))["id"]
    upstream.script(*[SAID] * 4)
    replay = replayed(world, case_id)

    def decide(n: int) -> int:
        path = f"/api/v1/replays/{replay['id']}/steps/{n}"
        return int(world.patch(path, json={"verdict": "passed"}).status_code)

    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(decide, [0, 1, 2, 3, 0, 1, 2, 3]))

    assert sorted(codes) == [200] * 4 + [400] * 4
    assert shown(world, replay["id"])["counts"]["passed"] == 4
    assert shown(world, replay["id"])["status"] == "passed"
