"""Properties of every recording and every model."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.chat import Answer, Message, ToolCall
from app.errors import ProviderError
from app.replay.call_arguments import arguments_of
from app.replay.case_types import (
    CaseStep,
    CaseTurn,
    Check,
    CheckedAnswer,
    CheckedCall,
    History,
    Judging,
    OnMissing,
    Order,
    TestCase,
)
from app.replay.engine import replay
from app.replay.json_differences import equal
from app.replay.result_types import ReplayResult
from tests.unit.replay.fakes import FakeModel, Parrot, calls, ports, says

pytestmark = pytest.mark.slow

values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
checks = st.builds(
    Check,
    st.booleans(),
    st.sampled_from(["exact", "subset", "ignore"]),
    st.sampled_from(["strict", "ai", "manual", "ignore"]),
    ignore_paths=st.sampled_from([(), ("/a",), ("",)]),
)
tool_calls = st.builds(
    CheckedCall,
    name=st.sampled_from(["f", "g", ""]),
    arguments=values,
    result=values,
    error=st.none() | st.text(max_size=3),
    check=checks,
)
answers = st.builds(CheckedAnswer, text=st.text(max_size=5), check=checks)
placeholders = st.none() | st.dictionaries(st.text(max_size=2), st.text(max_size=2), max_size=2)
turns = st.builds(
    CaseTurn,
    user=st.none() | st.text(max_size=3),
    steps=st.lists(tool_calls | answers, max_size=4).map(tuple),
    placeholders=placeholders,
)


def cases(turn: st.SearchStrategy[CaseTurn]) -> st.SearchStrategy[TestCase]:
    return st.builds(
        TestCase,
        turns=st.lists(turn, min_size=1, max_size=3).map(tuple),
        order=st.sampled_from(["effects", "any", "in_order"]),
        history=st.sampled_from(["replayed", "recorded"]),
        on_missing=st.sampled_from(["stop", "error"]),
        included_turns=st.none() | st.integers(1, 3),
    )


played_turns = st.builds(
    lambda user, steps, answer: CaseTurn(user=user, steps=(*steps, answer)),
    st.text(min_size=1, max_size=3),
    st.lists(tool_calls, max_size=4),
    answers.map(lambda step: replace(step, check=replace(step.check, answer="strict"))),
)


class Outside:
    """Notes what Python's audit events report about files, sockets, processes and the environment."""

    def __init__(self) -> None:
        self.watching = False
        self.touched: list[str] = []

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        # Python looks for the source of a program that it can't parse in a file of this name.
        if event == "open" and arguments[0] == "<unknown>":
            return
        if self.watching and event.startswith(("open", "socket", "subprocess", "os.", "urllib", "sqlite3")):
            self.touched.append(event)


OUTSIDE = Outside()
sys.addaudithook(OUTSIDE)  # can't be removed; it sleeps unless it watches


class Adversary:
    """Calls, answers and fails as a seed has it."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.asked = 0

    def __call__(self, n: int, messages: Sequence[Message]) -> Answer:
        self.asked += 1
        match self._random.randrange(12):
            case 0:
                raise ProviderError("down")
            case 1:
                return says("")
            case _:
                names = self._random.choices(["f", "g", "", "unknown"], k=self._random.randrange(1, 4))
                return calls(*((name, self._random.choice([{}, {"a": 1}, "{", None, [1]])) for name in names))


def shown(result: ReplayResult) -> list[list[tuple[str, object]]]:
    return [[(step.result, step.diff) for step in turn.steps] for turn in result.turns]


@given(cases(turns), st.integers(0, 10_000))
def test_every_replay_ends_with_exactly_one_fitting_verdict_for_each_step(case: TestCase, seed: int) -> None:
    adversary = Adversary(seed)

    result = replay(case, ports(FakeModel(adversary)))

    played = case.turns[: case.included_turns]
    assert adversary.asked <= sum(max(8, 2 * len(turn.steps)) for turn in played)
    assert len(result.turns) == len(case.turns)
    for recorded, turn in zip(case.turns, result.turns, strict=True):
        assert [step.kind for step in turn.steps] == [step.kind for step in recorded.steps]
        for step, verdict in zip(recorded.steps, turn.steps, strict=True):
            assert (verdict.result == "ignored") == (
                not step.checked or (not verdict.required and verdict.actual is None)
            )
            assert verdict.result not in ("failed", "not_run", "needs_review") or verdict.reason


@given(cases(turns), st.integers(0, 10_000))
def test_the_status_follows_from_the_steps(case: TestCase, seed: int) -> None:
    result = replay(case, ports(FakeModel(Adversary(seed))))

    found = {step.result for turn in result.turns for step in turn.steps}
    assert (result.status in ("failed", "error")) >= (result.error is not None)
    assert (result.status == "error") <= (result.error is not None)
    if result.status == "passed":
        assert result.stop_reason is None
        assert not found & {"failed", "needs_review"}
    if result.status == "needs_review":
        assert "needs_review" in found
        assert "failed" not in found


@given(cases(played_turns), st.booleans())
def test_a_model_that_repeats_the_recording_passes_everything(case: TestCase, at_once: bool) -> None:
    result = replay(case, ports(FakeModel(Parrot(case, at_once))))

    assert result.status == "passed"
    assert all(turn.extra == () for turn in result.turns)
    for recorded, turn in zip(case.turns[: case.included_turns], result.turns, strict=False):
        for step, verdict in zip(recorded.steps, turn.steps, strict=True):
            assert verdict.result == ("passed" if step.checked else "ignored")


@given(cases(played_turns), st.integers(0, 100), st.booleans())
def test_the_order_of_independent_calls_changes_nothing_under_any(case: TestCase, seed: int, at_once: bool) -> None:
    case = replace(case, order="any")

    straight = replay(case, ports(FakeModel(Parrot(case, at_once))))
    permuted = replay(case, ports(FakeModel(Parrot(case, at_once, seed))))

    assert (permuted.status, shown(permuted)) == (straight.status, shown(straight))


reads = st.builds(CheckedCall, name=st.sampled_from(["get_a", "list_b"]), arguments=values, result=values)
writes = st.builds(CheckedCall, name=st.sampled_from(["refund", "send"]), arguments=values, result=values)
default_turns = st.builds(
    lambda steps, answer: CaseTurn(user="?", steps=(*steps, CheckedAnswer(text=answer))),
    st.lists(reads | writes, max_size=4),
    st.text(min_size=1, max_size=5),
)
default_cases = st.builds(TestCase, turns=st.lists(default_turns, min_size=1, max_size=3).map(tuple))
read_turns = st.builds(
    lambda steps: CaseTurn(user="?", steps=(*steps, CheckedAnswer(text="Done."))), st.lists(reads, max_size=5)
)
read_cases = st.builds(TestCase, turns=st.lists(read_turns, min_size=1, max_size=3).map(tuple))


class Meddler:
    """Repeats the recording, and makes one more call before the n-th answer of the model."""

    def __init__(self, case: TestCase, at: int, name: str, arguments: object) -> None:
        self._parrot = Parrot(case, at_once=False)
        self._at = at
        self._call = ToolCall("more", name, arguments)
        self.has_meddled = False

    def __call__(self, n: int, messages: Sequence[Message]) -> Answer:
        if n == self._at:
            self.has_meddled = True
            return Answer("", (self._call,))
        return self._parrot(n, [each for each in messages if "more" not in (each.tool_call_id, *ids(each))])


def ids(message: Message) -> list[str]:
    return [call.id for call in message.tool_calls]


@given(default_cases, st.booleans())
def test_a_model_that_repeats_the_recording_passes_by_default(case: TestCase, at_once: bool) -> None:
    result = replay(case, ports(FakeModel(Parrot(case, at_once))))

    assert (result.status, result.violations) == ("passed", ())


@given(read_cases, st.integers(0, 100), st.booleans())
def test_the_order_of_reads_changes_nothing_by_default(case: TestCase, seed: int, at_once: bool) -> None:
    straight = replay(case, ports(FakeModel(Parrot(case, at_once))))
    permuted = replay(case, ports(FakeModel(Parrot(case, at_once, seed))))

    assert (permuted.status, permuted.violations, shown(permuted)) == ("passed", (), shown(straight))


@given(
    default_cases,
    st.integers(0, 6),
    st.sampled_from(["refund", "send", "delete"]),
    values,
    st.sampled_from(["effects", "any", "in_order"]),
    st.sampled_from(["replayed", "recorded"]),
    st.sampled_from(["error", "stop", "nearest", "static", "simulate"]),
    st.sampled_from(["auto", "never", "always"]),
)
def test_one_write_more_is_a_violation_whatever_is_set(
    case: TestCase,
    at: int,
    name: str,
    arguments: object,
    order: Order,
    history: History,
    missing: OnMissing,
    judge: Judging,
) -> None:
    case = replace(case, order=order, history=history, on_missing=missing, judge=judge)
    meddler = Meddler(case, at, name, arguments)

    result = replay(case, ports(FakeModel(meddler)))

    assert not meddler.has_meddled or result.status == "failed"
    assert bool(result.violations) == meddler.has_meddled


@given(default_cases, st.integers(0, 6), st.integers(0, 11))
def test_a_recorded_write_that_is_repeated_is_a_violation(case: TestCase, at: int, which: int) -> None:
    recorded = [step for turn in case.turns for step in turn.steps if isinstance(step, CheckedCall)]
    acts = [step for step in recorded if step.name in ("refund", "send")]
    if not acts:
        return
    meddler = Meddler(case, at, acts[which % len(acts)].name, acts[which % len(acts)].arguments)

    result = replay(case, ports(FakeModel(meddler)))

    assert bool(result.violations) == meddler.has_meddled
    assert result.status == ("failed" if meddler.has_meddled else "passed")


@given(default_cases, st.integers(0, 11), values, st.sampled_from(["effects", "any", "in_order"]))
def test_a_write_with_other_arguments_never_passes(case: TestCase, which: int, other: object, order: Order) -> None:
    places = [
        (turn, step)
        for turn, each in enumerate(case.turns)
        for step, recorded in enumerate(each.steps)
        if isinstance(recorded, CheckedCall) and recorded.name in ("refund", "send")
    ]
    if not places:
        return
    turn, step = places[which % len(places)]
    recorded = case.turns[turn].steps[step]
    assert isinstance(recorded, CheckedCall)
    if equal(arguments_of(recorded.arguments), arguments_of(other)):
        return
    altered = with_steps(
        case, turn, lambda steps: [*steps[:step], replace(recorded, arguments=other), *steps[step + 1 :]]
    )

    script = FakeModel(Parrot(altered, at_once=False))
    judged = replay(replace(case, order=order), ports(script))
    alone = replay(replace(case, order=order, judge="never"), ports(script))

    assert judged.status == "failed"
    assert alone.status in ("failed", "needs_review"), "what differs in form or words is left to a person"


@given(st.lists(reads, min_size=1, max_size=4), writes, st.booleans())
def test_a_write_before_what_it_waited_for_is_a_violation(
    asked: list[CheckedCall], write: CheckedCall, at_once: bool
) -> None:
    case = TestCase(turns=(CaseTurn(user="?", steps=(*asked, write, CheckedAnswer(text="Done."))),))
    early = with_steps(case, 0, lambda steps: [write, *(step for step in steps if step is not write)])

    result = replay(case, ports(FakeModel(Parrot(early, at_once))))

    assert [each.kind for each in result.violations] == ["order"]
    assert {step.result for step in result.turns[0].steps} == {"passed"}


def with_steps(case: TestCase, turn: int, change: Callable[[Sequence[CaseStep]], Sequence[CaseStep]]) -> TestCase:
    changed = replace(case.turns[turn], steps=tuple(change(case.turns[turn].steps)))
    return replace(case, turns=(*case.turns[:turn], changed, *case.turns[turn + 1 :]))


@given(cases(turns), st.integers(0, 10_000))
def test_the_same_answers_give_the_same_result(case: TestCase, seed: int) -> None:
    first, second = (replay(case, ports(FakeModel(Adversary(seed)))) for _ in range(2))

    assert first == second


@given(cases(turns), st.integers(0, 10_000))
def test_a_replay_touches_nothing_but_its_ports(case: TestCase, seed: int) -> None:
    OUTSIDE.touched.clear()
    OUTSIDE.watching = True
    try:
        replay(case, ports(FakeModel(Adversary(seed))))
    finally:
        OUTSIDE.watching = False

    assert OUTSIDE.touched == []


def test_the_watch_over_the_outside_sees_what_it_should(tmp_path: Path) -> None:
    OUTSIDE.touched.clear()
    OUTSIDE.watching = True
    try:
        (tmp_path / "x").write_text("y")
    finally:
        OUTSIDE.watching = False

    assert "open" in OUTSIDE.touched
