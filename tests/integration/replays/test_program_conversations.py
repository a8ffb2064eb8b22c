"""The conversation of a program's replay goes on from request to request, as if each request played all of it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from app.concurrency.caches import BoundedCache
from app.services.replays import played_programs
from app.services.replays.played_programs import KeptProgram, PlayedProgram, PlayedPrograms
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import HOT, THANKS, finished
from tests.integration.replays.test_program_costs import orders
from tests.integration.replays.test_programs_api import ASKS, HOT_TEXT, Program, begin, case_of, use
from tests.support.operations import calls_of
from tests.support.world import World

TURNS = (orders(4), HOT, THANKS, orders(3))
Act = Callable[[World, Upstream, Program], Any]


def chat(*replies: Reply, **more: Any) -> Act:
    """Ask the model, for which the vendor answers with these."""

    def act(world: World, upstream: Upstream, program: Program) -> Any:
        upstream.reset()
        upstream.script(*replies)
        asked = Program(world, program.token, **more).ask("?")
        upstream.reset()
        if asked.status_code != 200:
            return asked.status_code, asked.text
        message = asked.json["choices"][0]["message"]
        calls = [call["function"] for call in message.get("tool_calls") or ()]
        return message.get("content"), calls

    return act


def tool(name: str, arguments: Any) -> Act:
    def act(_world: World, _upstream: Upstream, program: Program) -> Any:
        answered = use(program, name, arguments)
        return answered.status_code, answered.json

    return act


def some_call(choice: random.Random) -> tuple[str, Any]:
    text = {"text": f"the order {choice.randrange(6)}"}
    return choice.choice([("order", text), ("order", text), ("weather", {"city": "Rome"}), ("book", {"hotel": "H"})])


def acts_of(choice: random.Random) -> list[Act]:
    """Return what a program does in a turn: one call of a model at least."""
    acts: list[Act] = []
    for _ in range(choice.randrange(1, 5)):
        asks = [
            Reply(tool_calls=[some_call(choice) for _ in range(choice.randrange(1, 3))])
            for _ in range(choice.randrange(3))
        ]
        acts += [
            chat(*asks, Reply(text="Hm.")),
            *(tool(*some_call(choice)) for _ in range(choice.randrange(3))),
        ]
        if choice.random() < 0.3:
            acts.append(chat(*asks, Reply(status=400, raw=b'{"error": {"message": "no"}}')))
    return acts


def played(world: World, upstream: Upstream, seed: int, mode: str, *, forgets: bool) -> Any:
    """Return what a program got in all turns, what the replay knows, and its verdicts."""
    choice = random.Random(seed)
    faults = [{"tool": "order", "call": 1, "kind": "timeout"}] if seed % 2 else []
    replay, program = begin(world, case_of(world, *TURNS, onMissing="error")["id"], tools=mode, faults=faults)
    requests = world.container.services.program_requests
    kept: BoundedCache[KeptProgram] = requests.played._kept
    got: list[Any] = []
    for turn in range(len(TURNS)):
        if world.post(f"{replay}/turns").status_code != 200:
            break
        for act in acts_of(choice):
            if forgets:
                kept._entries.clear()
            got.append(act(world, upstream, program))
        row = world.container.services.programs.authenticate(program.token)
        with world.container.database.read() as connection:
            stored = requests.store.find(connection, project_id=row.project_id, replay_id=row.replay_id)
        assert stored
        got.append(stored.transcript.replies)
        text = choice.choice(["Hm.", TURNS[turn].answer])
        got.append(world.post(f"{replay}/turns/{turn}/answer", json={"text": text}).json)
    world.post(f"{replay}/turns")
    ended = finished(world, int(replay.rpartition("/")[2]))
    turns = re.sub("[0-9a-f]{8,32}", "", json.dumps(ended["turns"]))  # marks in the questions for a judge
    return got, ended["status"], turns, ended["violations"]


@pytest.mark.parametrize("mode", ["endpoint", "program"])
@pytest.mark.parametrize("seed", range(3))
def test_a_kept_conversation_gives_a_program_what_one_that_is_played_again_gives(
    world: World, upstream: Upstream, seed: int, mode: str
) -> None:
    kept, again = (played(world, upstream, seed, mode, forgets=forgets) for forgets in (False, True))

    assert kept == again


def test_a_request_works_as_much_after_many_calls_as_after_few(world: World) -> None:
    _, program = begin(world, case_of(world, orders(60))["id"], tools="program")
    after: dict[int, int] = {}
    for number in range(40):
        order = partial(use, program, "order", {"text": f"the order {number}"})
        if number in (9, 39):
            after[number] = calls_of(order, at_most=1e9)
        else:
            order()

    assert after[39] < 1.1 * after[9]


def test_a_request_that_has_read_less_than_the_kept_conversation_reads_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, program = begin(world, case_of(world, orders(3))["id"], tools="program")
    require_played = PlayedPrograms.require_played

    def require_before_another_request(self: PlayedPrograms, **ids: int) -> PlayedProgram:
        read = require_played(self, **ids)
        monkeypatch.setattr(PlayedPrograms, "require_played", require_played)
        use(program, "order", {"text": "the order 0"})
        return read

    monkeypatch.setattr(PlayedPrograms, "require_played", require_before_another_request)

    assert [use(program, "order", {"text": f"the order {n}"}).json["result"] for n in (1, 2)] == [{"n": 1}, {"n": 2}]


def test_a_request_with_another_tool_plays_the_conversation_again(world: World, upstream: Upstream) -> None:
    _, program = begin(world, case_of(world, HOT)["id"])
    upstream.script(ASKS, HOT_TEXT)
    assert program.ask(HOT.user).status_code == 200
    upstream.script(ASKS, HOT_TEXT)
    offered = [{"type": "function", "function": {"name": "taxi", "parameters": {"type": "object"}}}]

    asked = program.ask(HOT.user, tools=offered)

    assert (asked.status_code, len(upstream.requests)) == (200, 4)


def test_a_replay_over_the_memory_of_the_kept_ones_is_played_again(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, program = begin(world, case_of(world, orders(3))["id"], tools="program")
    monkeypatch.setattr(world.container.services.program_requests.played._kept, "_limit", 10)
    results = [use(program, "order", {"text": f"the order {n}"}).json["result"] for n in range(3)]

    assert results == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert world.container.services.program_requests.played._kept._held <= played_programs.KEPT_BYTES
