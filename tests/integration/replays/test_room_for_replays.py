"""Replays that a worker plays at once have a bound of memory together, and wait for it without failing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import Connection

from app.concurrency.quotas import FairSemaphore, Quota
from app.errors import Unavailable
from app.models import case_snapshots
from app.models.replays import get_replays
from app.services.replays import memory
from app.services.replays.memory import PER_BYTE, HeldMemory
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import RecordedTurn, finished, make_case, prompt, record, start
from tests.integration.replays.test_replays_faults import case_id, shown, waiting  # noqa: F401 - a fixture
from tests.support.waiting import wait_until
from tests.support.world import World

SAID = Reply(text="You are welcome.")


@pytest.fixture
def semaphore(world: World, monkeypatch: pytest.MonkeyPatch) -> FairSemaphore:
    """Let the world's worker have room for a single replay; further tests have the same world."""
    only = FairSemaphore(Quota(1, 1, 1))
    monkeypatch.setattr(world.container.services.replay_player.memory, "_semaphore", only)
    return only


def test_a_replay_waits_until_another_one_has_ended(
    world: World,
    case_id: int,  # noqa: F811
    upstream: Upstream,
    semaphore: FairSemaphore,
) -> None:
    answer = threading.Event()
    upstream.script(*[Reply(text="You are welcome.", held=answer)] * 4)
    first, second = waiting(world, case_id), waiting(world, case_id)
    play = world.container.services.replay_player.play

    with ThreadPoolExecutor(2) as pool:
        played = [pool.submit(play, first)]
        wait_until(lambda: len(upstream.requests) > 0, "the first replay calls its model")
        played.append(pool.submit(play, second))
        wait_until(lambda: semaphore._lines, "the second replay waits")
        assert (shown(world, second)["status"], shown(world, first)["status"]) == ("queued", "running")
        answer.set()
        assert [one.result() for one in played] == [True, True]

    assert [shown(world, id_)["status"] for id_ in (first, second)] == ["passed", "passed"]


@pytest.mark.usefixtures("semaphore")
def test_a_message_of_a_replay_that_is_played_does_not_wait_for_room(
    world: World,
    case_id: int,  # noqa: F811
    upstream: Upstream,
) -> None:
    answer = threading.Event()
    upstream.script(*[Reply(text="You are welcome.", held=answer)] * 2)
    replay_id = waiting(world, case_id)
    play = world.container.services.replay_player.play

    with ThreadPoolExecutor(1) as pool:
        played = pool.submit(play, replay_id)
        wait_until(lambda: len(upstream.requests) > 0, "the replay calls its model")
        assert [play(replay_id) for _ in range(3)] == [True] * 3
        assert not played.done()
        answer.set()
        assert played.result()


def test_a_replay_without_room_is_not_claimed_and_goes_back_to_the_queue(
    world: World,
    case_id: int,  # noqa: F811
    upstream: Upstream,
    semaphore: FairSemaphore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "WAIT_S", 0.0)
    upstream.script(*[SAID] * 2)
    with semaphore.hold(0, wait_s=0):
        sent = start(world, case_id)
        assert not world.container.services.replay_player.play(waiting(world, case_id))
        assert not world.container.services.replay_player.play(sent)
        assert shown(world, sent)["status"] == "queued"
    assert finished(world, sent)["status"] == "passed"


def test_a_replay_that_waits_for_room_ends_with_its_process(
    world: World,
    case_id: int,  # noqa: F811
    semaphore: FairSemaphore,
) -> None:
    player = replace(world.container.services.replay_player, stopping=lambda: True)
    replay_id = waiting(world, case_id)
    with semaphore.hold(0, wait_s=0), pytest.raises(Unavailable):
        player.play(replay_id)
    assert shown(world, replay_id)["status"] == "queued"


def test_a_wide_test_case_counts_each_of_its_characters_as_four_bytes(world: World) -> None:
    sizes = []
    for text in ("x" * 20_000, "x" * 19_999 + "\U0001f600"):
        turn = RecordedTurn(text, "You are welcome.")
        replay_id = waiting(world, make_case(world, record(world, prompt(world), [turn]))["id"])
        with world.container.database.read() as connection:
            row = get_replays(connection, ids=[replay_id])[0]
        sizes.append(world.container.services.replay_player.memory._size(row))
    narrow, wide = sizes
    assert 20_000 < narrow < 25_000
    assert 3.9 * narrow < wide < 4.1 * narrow


def test_the_size_of_a_snapshot_is_read_once_for_all_of_its_replays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = RecordedTurn("x" * 20_000, "You are welcome.")
    recorded_id = make_case(world, record(world, prompt(world), [turn]))["id"]
    reads, text_of = list[int](), case_snapshots.text_of

    def reading(connection: Connection, *, snapshot_id: int) -> str | None:
        reads.append(snapshot_id)
        return text_of(connection, snapshot_id=snapshot_id)

    monkeypatch.setattr(case_snapshots, "text_of", reading)
    replay_ids = [waiting(world, recorded_id) for _ in range(3)]
    with world.container.database.read() as connection:
        rows = get_replays(connection, ids=replay_ids)
    sizes = [world.container.services.replay_player.memory._size(row) for row in rows]
    assert (len(rows), len(set(sizes)), len(reads)) == (3, 1, 1)


def test_what_a_model_answers_counts_beyond_the_size_of_the_test_case() -> None:
    grown: list[int] = []
    place = HeldMemory(1000, grown.append)
    for size in (600, 300, 300, 50):
        place.answered(size)
    assert (grown, place.grown) == ([200 * PER_BYTE, 50 * PER_BYTE], 250 * PER_BYTE)


def test_the_room_of_a_replay_is_free_after_it(
    world: World,
    case_id: int,  # noqa: F811
    upstream: Upstream,
) -> None:
    upstream.script(*[Reply(text="long " * 10_000)] * 2)
    assert finished(world, start(world, case_id))["status"] in ("passed", "failed", "needs_review")
    shares = world.container.services.replay_player.memory._semaphore._shares
    wait_until(lambda: shares.taken == 0, "the worker has given the memory back")
