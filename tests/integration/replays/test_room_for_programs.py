"""Requests of programs that wait for their models have a bound of memory together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from app.concurrency.quotas import FairSemaphore, Quota
from app.errors import ProviderError
from app.models.replays import find_replay
from app.services.replays import program_calls, program_memory
from app.services.replays.memory import PER_BYTE
from app.services.replays.program_calls import Exchange
from app.services.replays.program_memory import PER_MARK, PER_TRANSCRIPT_BYTE, ProgramMemory
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import HOT
from tests.integration.replays.test_programs_api import ASKS, HOT_TEXT, begin, case_of, use
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.waiting import wait_until
from tests.support.world import World

MEMBERS = [{"": number} for number in range(5_000)]


@pytest.fixture
def memory(world: World) -> ProgramMemory:
    return world.container.services.program_requests.memory


def with_many_members() -> RecordedTurn:
    return RecordedTurn(HOT.user, HOT.answer, (RecordedCall("weather", {"x": MEMBERS}, {"degrees": 31}),))


def test_a_request_counts_the_members_of_its_test_case_and_what_the_program_did(
    world: World, memory: ProgramMemory, upstream: Upstream
) -> None:
    _, program = begin(world, case_of(world, with_many_members())["id"], tools="program")
    row = world.container.services.programs.authenticate(program.token)
    before = memory._size(row)
    assert before > 2 * len(MEMBERS) * PER_MARK
    assert use(program, "weather", {"x": ["word"] * 100}).status_code == 200

    later = world.container.services.programs.authenticate(program.token)
    assert memory._size(later) == before + (later.size - row.size) * PER_TRANSCRIPT_BYTE > before
    with world.container.database.read() as connection:
        replay = find_replay(connection, project_id=row.project_id, replay_id=row.replay_id)
    assert replay is not None
    text = memory.sizes.of(replay.case_snapshot_id, replay.test_case_id).text
    assert before > text * PER_BYTE > 0


def test_a_request_without_room_is_refused_and_one_that_has_ended_gives_its_room_back(
    world: World, memory: ProgramMemory, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, program = begin(world, case_of(world, with_many_members())["id"], tools="program")
    size = memory._size(world.container.services.programs.authenticate(program.token))
    monkeypatch.setattr(memory, "_semaphore", FairSemaphore(Quota(size + size // 2, size // 4, size * 2)))
    monkeypatch.setattr(program_memory, "WAIT_S", 0.05)
    held = Event()
    upstream.script(Reply(text=HOT.answer, held=held), HOT_TEXT)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(program.ask, HOT.user)
        wait_until(lambda: len(upstream.requests) > 0, "the model is asked")
        refused = [program.ask(HOT.user), use(program, "weather", {"x": 1})]
        assert [answer.status_code for answer in refused] == [503, 503]
        assert len(upstream.requests) == 1
        held.set()
        assert waiting.result().status_code == 200

    assert memory._semaphore._shares.taken == 0
    assert program.ask("And tomorrow?").status_code == 200


def test_answers_of_a_model_count_while_their_request_lasts(
    world: World, memory: ProgramMemory, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, program = begin(world, case_of(world, HOT)["id"])
    grown = list[int]()
    add = memory._semaphore.add
    monkeypatch.setattr(memory._semaphore, "add", lambda owner, size: (grown.append(size), add(owner, size)))
    upstream.script(ASKS, HOT_TEXT)

    assert program.ask(HOT.user).status_code == 200

    # Two answers, and the end of the request.
    assert len(grown) == 3
    assert sum(grown) == 0
    assert memory._semaphore._shares.taken == 0


def test_answers_of_too_many_members_end_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_calls, "EXCHANGE_MEMORY", 10**6)
    grown, nothing = list[int](), SimpleNamespace()
    exchange = Exchange(nothing, nothing, grown.append)  # type: ignore[arg-type] # they are not used
    answer: Any = {"choices": [{"message": {"content": "a", "x": MEMBERS[:1_500]}}]}

    exchange.keep(0, answer)
    exchange.keep(1, answer)
    with pytest.raises(ProviderError, match="too many lists, objects and members"):
        exchange.keep(2, answer)
    assert len(set(grown)) == 1
    assert grown[0] > 2 * 1_500 * PER_MARK
