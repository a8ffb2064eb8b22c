"""What the requests of a program's replay cost: no more than what each of them adds, however many came before."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from sqlalchemy import Engine, event, text

from app.chat import Answer, ToolCall
from app.models.program_replays import ProgramReplay
from app.replay import faults, recording, turn_player
from app.replay.checks import Checker
from app.replay.program_transcript import OWN_CALL, ModelCall, ProgramAnswer, Transcript
from app.schemas.programs import TOOL_ARGUMENTS_MAX
from app.services.replays import program_requests, program_store, program_tools
from app.services.replays.played_programs import UPGRADED
from app.values.budget import WorkBudget
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import HOT, THANKS, finished, results
from tests.integration.replays.test_programs_api import ASKS, HOT_TEXT, Program, begin, case_of, use
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.statements import executed
from tests.support.world import World, beside, new_world

WORDS = "x" * 1000


@contextmanager
def written() -> Iterator[list[int]]:
    """Collect the bytes of the texts that each statement of this thread which changes rows brings."""
    sizes: list[int] = []
    thread = threading.get_ident()

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
        if threading.get_ident() == thread and not statement.startswith("SELECT"):
            sizes.append(sum(len(value) for value in parameters if isinstance(value, bytes | str)))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield sizes
    finally:
        event.remove(Engine, "before_cursor_execute", note)


class Calls:
    """Calls of models in one replay, stored as requests store them."""

    def __init__(self, world: World, token: str) -> None:
        self.store = world.container.services.program_requests.store
        self.row = world.container.services.programs.authenticate(token)
        self.known = Transcript()

    def add(self, count: int = 1) -> None:
        for _ in range(count):
            self.store.begin(self.row, 0)
            call = ModelCall(0, Answer("", (ToolCall("c", "weather", {"city": WORDS}),)))
            after = self.store.end(self.row, 0, self.known, lambda _before, call=call: call, {})
            assert after is not None
            self.known = after


def test_a_stored_call_writes_as_much_after_many_calls_as_after_few(world: World) -> None:
    _, program = begin(world, case_of(world, HOT)["id"])
    calls, sizes = Calls(world, program.token), []
    for stored in (10, 20, 40):
        calls.add(stored - len(calls.known.events))
        with written() as statements:
            calls.add()
        sizes.append((len(statements), sum(statements)))

    assert {count for count, _ in sizes} == {sizes[0][0]}
    assert max(size for _, size in sizes) < 2 * len(WORDS)


def test_the_bytes_of_all_calls_are_the_limit_of_a_replay(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _, program = begin(world, case_of(world, HOT)["id"])
    calls = Calls(world, program.token)
    calls.add(3)
    size = sum(len(msgspec.json.encode(call)) for call in calls.known.events)
    monkeypatch.setattr(program_store, "TRANSCRIPT_BYTES", size)

    refused = use(program, "weather", {"city": "Rome"})

    assert (refused.status_code, "MiB together" in refused.json["error"]) == (400, True)


def test_the_calls_of_tools_in_the_answers_of_models_have_a_limit(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_store, "ASKED_MAX", 1)
    _, program = begin(world, case_of(world, HOT)["id"])
    upstream.script(ASKS, ASKS, HOT_TEXT)

    refused = program.ask(HOT.user)

    assert (refused.status_code, len(upstream.requests)) == (400, 2)
    assert "at most 1 calls of tools in its models' answers" in refused.json["error"]


def test_the_programs_of_a_project_have_one_rate_limit_however_many_replays_a_key_starts(world: World) -> None:
    case = case_of(world, HOT)
    tokens = [begin(world, case["id"])[1].token for _ in range(3)]
    limited = beside(world.container, rate_limit=5)
    process = replace(world, container=limited, client=new_world(limited).client)

    statuses = [use(Program(process, token), "weather", {}).status_code for token in tokens * 4]

    assert [status != 429 for status in statuses] == [True] * 5 + [False] * 7
    refused = use(Program(process, tokens[0]), "weather", {})
    assert "requests of programs per minute and project" in refused.json["error"]


def test_a_made_up_token_of_a_replay_reads_what_one_of_no_replay_does(world: World) -> None:
    _, program = begin(world, case_of(world, HOT)["id"])
    Calls(world, program.token).add(3)
    # The secret may contain underscores.
    kind, project, replay, secret = program.token.split("_", 3)
    asked = []
    for token in (f"{kind}_{project}_{replay}_{'A' * len(secret)}", f"{kind}_{project}_{2**40}_{secret}"):
        with executed(thread=threading.get_ident()) as statements:
            assert use(Program(world, token), "weather", {}).status_code == 401
        asked.append([statement for statement in statements if statement != "BEGIN"])

    assert (asked[0], len(asked[0])) == (asked[1], 1)
    assert not any("transcript" in statement or "program_events" in statement for statement in asked[0])


def as_of_an_earlier_release(world: World, program: Program, *events: Any) -> None:
    """Let the replay be one that a release before 0046 began."""
    row: ProgramReplay = world.container.services.programs.authenticate(program.token)
    begun = {"type": "begun", "turn": 0, "id": "0123456789abcdef"}
    kept = b"\0" + msgspec.json.encode([begun, *events])
    with world.container.database.write() as connection:
        changed = text("UPDATE program_replays SET events = NULL, transcript = :kept WHERE id = :id")
        connection.execute(changed, {"kept": kept, "id": row.id})


WEATHER = Answer("", (ToolCall("c", "weather", {"city": "Rome"}),))


@pytest.mark.parametrize(
    "request_of",
    [
        lambda world, replay, program: program.ask(HOT.user),
        lambda world, replay, program: use(program, "weather", {"city": "Rome"}),
        lambda world, replay, program: world.post(f"{replay}/turns"),
        lambda world, replay, program: world.post(f"{replay}/turns/0/answer", json={"text": "Hot."}),
    ],
)
def test_a_replay_that_an_earlier_release_began_ends_with_its_next_request(
    world: World, upstream: Upstream, request_of: Callable[[World, str, Program], Any]
) -> None:
    replay, program = begin(world, case_of(world, HOT)["id"])
    as_of_an_earlier_release(world, program, ModelCall(0, WEATHER))

    refused = request_of(world, replay, program)

    assert (refused.status_code, refused.json["error"], upstream.requests) == (409, UPGRADED, [])
    ended = world.get(replay).json
    assert (ended["status"], ended["error"]) == ("error", UPGRADED)


def test_a_replay_that_an_earlier_release_handed_over_is_judged(world: World, upstream: Upstream) -> None:
    replay, program = begin(world, case_of(world, HOT)["id"])
    row = world.container.services.programs.authenticate(program.token)
    events = (ModelCall(0, WEATHER), ModelCall(0, Answer(HOT.answer)), ProgramAnswer(0, HOT.answer))
    as_of_an_earlier_release(world, program, *events)

    world.container.services.programs.played.hand_over(row)
    assert world.post(f"{replay}/turns").status_code == 204

    assert results(finished(world, int(replay.rpartition("/")[2]))) == [["passed", "passed"]]
    assert world.count("program_replays") == 0


def test_a_judged_replay_leaves_no_events(world: World, upstream: Upstream) -> None:
    replay, program = begin(world, case_of(world, THANKS)["id"])
    upstream.script(HOT_TEXT)
    program.answer(THANKS.user)
    assert world.count("program_events") == 1

    world.post(f"{replay}/turns/0/answer", json={"text": "You are welcome."})

    finished(world, int(replay.rpartition("/")[2]))
    assert world.count("program_events") == 0


def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets an entry for each comparison of two calls in this process."""
    entries: list[int] = []
    compare = Checker.compare_call

    def counted(checker: Checker, *arguments: Any) -> Any:
        entries.append(1)
        return compare(checker, *arguments)

    monkeypatch.setattr(Checker, "compare_call", counted)
    return entries


def orders(number: int) -> RecordedTurn:
    return RecordedTurn(
        HOT.user, HOT.answer, tuple(RecordedCall("order", {"text": f"the order {n}"}, {"n": n}) for n in range(number))
    )


def test_a_request_of_a_program_compares_its_own_call_with_the_recording_and_no_earlier_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded, comparisons = 12, []
    _, program = begin(world, case_of(world, orders(recorded))["id"], tools="program")
    entries = compared(monkeypatch)
    for number in range(2 * recorded - 2):
        entries.clear()
        assert use(program, "order", {"text": f"another order {number}"}).status_code == 200
        comparisons.append(len(entries))

    assert set(comparisons) == {recorded}


def test_the_requests_of_a_replay_share_one_budget_of_comparisons(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, program = begin(world, case_of(world, orders(12))["id"], tools="program")
    monkeypatch.setattr(program_requests, "COMPARISON_STEPS_MAX", 2_000)
    for number in range(20):
        assert use(program, "order", {"text": f"another order {number}"}).status_code == 200
    entries = compared(monkeypatch)

    assert use(program, "order", {"text": "one more order"}).status_code == 200

    row = world.container.services.programs.authenticate(program.token)
    assert (len(entries), row.compared >= 2_000) == (0, True)


def test_the_judge_of_a_replay_pairs_its_calls_as_the_program_got_them(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay, program = begin(world, case_of(world, orders(3))["id"], tools="program")
    monkeypatch.setattr(program_requests, "COMPARISON_STEPS_PER_REQUEST", 0)
    answers = [use(program, "order", {"text": f"the order number {n}"}).json["result"] for n in range(3)]
    upstream.script(HOT_TEXT)
    program.ask(HOT.user)
    world.post(f"{replay}/turns/0/answer", json={"text": HOT.answer})

    steps = finished(world, int(replay.rpartition("/")[2]))["turns"][0]["steps"]

    assert answers == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert [step["actual"]["result"] for step in steps[:3]] == [json.dumps(answer) for answer in answers]


def test_simultaneous_calls_of_tools_get_the_results_of_different_recorded_calls(world: World) -> None:
    _, program = begin(world, case_of(world, orders(6))["id"], tools="program")

    with ThreadPoolExecutor(6) as pool:
        asked = list(pool.map(lambda n: use(program, "order", {"text": f"the order {n}"}), range(6)))

    assert [answered.json["result"] for answered in asked] == [{"n": n} for n in range(6)]
    assert world.count("program_events") == 3 * 6


def test_a_call_of_a_tool_leaves_the_call_of_another_request_that_runs_now(world: World) -> None:
    _, program = begin(world, case_of(world, orders(2))["id"], tools="program")
    requests = world.container.services.program_requests
    row = world.container.services.programs.authenticate(program.token)
    begun = ToolCall(f"{OWN_CALL}0", "order", {"text": "the order 0"})
    requests.store.add(requests.played.open(row).stored, ModelCall(0, Answer("", (begun,))))

    results = [use(program, "order", {"text": f"the order {n}"}).json["result"] for n in (1, 0)]

    assert results == [{"n": 1}, {"n": 0}]


def test_a_call_of_a_tool_is_compared_within_a_budget_with_the_calls_of_its_name_that_wait(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, budgets = 30, list[WorkBudget]()
    _, program = begin(world, case_of(world, HOT)["id"], tools="program")
    upstream.script(Reply(tool_calls=[("weather", {"days": [*range(1_000), n]}) for n in range(waiting)]))
    assert program.ask(HOT.user).status_code == 200

    def budget_of(limit: int) -> WorkBudget:
        budgets.append(WorkBudget(limit))
        return budgets[-1]

    monkeypatch.setattr(program_tools, "WorkBudget", budget_of)
    last = {"days": [*range(1_000), waiting - 1]}
    assert use(program, "weather", last).status_code == 200
    monkeypatch.setattr(program_requests, "COMPARISON_STEPS_PER_REQUEST", 5_000)
    assert use(program, "weather", last).status_code == 200

    assert [budget.limit for budget in budgets] == [500_000, 5_000]
    assert 30_000 < budgets[0].spent < 100_000
    assert 5_000 < budgets[1].spent < 10_000


def test_a_request_fingerprints_its_own_call_and_neither_an_earlier_nor_a_recorded_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, program = begin(world, case_of(world, orders(12))["id"], tools="program")
    for number in range(5):
        assert use(program, "order", {"text": f"another order {number}"}).status_code == 200
    made, arguments_key = list[Any](), recording.arguments_key

    def reading(call: Any) -> Any:
        made.append(call.arguments)
        return arguments_key(call)

    for module in (recording, turn_player, faults):
        monkeypatch.setattr(module, "arguments_key", reading)
    assert use(program, "order", {"text": "one more order"}).status_code == 200

    assert made == [{"text": "one more order"}]


def test_the_arguments_of_a_tool_have_a_limit(world: World) -> None:
    _, program = begin(world, case_of(world, HOT)["id"], tools="program")
    refused = use(program, "weather", {"days": [0] * TOOL_ARGUMENTS_MAX})
    assert (refused.status_code, "50000 values" in refused.text) == (400, True)
    assert use(program, "weather", {"days": [0] * (TOOL_ARGUMENTS_MAX - 3)}).status_code == 200
