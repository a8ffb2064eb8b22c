"""Fingerprints of what replays answered."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from app.experiments.behaviour import EDITION, Behaviour
from app.replay.result_types import ProducedAnswer, StepVerdict, TurnResult
from app.suites.behaviour import NAME_MAX, TOOLS_MAX, behaviour_of
from app.values.structs import decode

GERMAN = "Ich habe die Bestellung für Sie gefunden, und sie ist auf dem Weg."
ENGLISH = "I have found the order for you, and it is on the way."


def turn(*calls: tuple[str, ...], text: str = "", extra: str | None = None) -> TurnResult:
    steps = (
        StepVerdict("tool_call", "passed", {}, {"name": "x"}),
        StepVerdict("answer", "passed", "Other words.", text),
    )
    return TurnResult("?", steps, () if extra is None else (ProducedAnswer(extra),), calls=calls)


def test_a_replay_has_the_length_the_tools_their_order_and_the_language_of_its_answers() -> None:
    made = behaviour_of([turn(("search",), ("book",), ("search",), text=GERMAN), turn(text="Ja.", extra="Gern.")])
    assert made == Behaviour(EDITION, len(GERMAN) + 8, (("book", 1), ("search", 2)), ("search", "book"), "de")
    assert behaviour_of([turn(text=ENGLISH)]).language == "en"


def test_tools_that_the_model_called_together_have_no_order() -> None:
    one, other = behaviour_of([turn(("b", "a"), ("c",))]), behaviour_of([turn(("a", "b"), ("c",))])
    assert one == other
    assert one.order == ("a, b", "c")
    assert behaviour_of([turn(("b",), ("a",))]).order == ("b", "a")


def test_an_answer_that_was_not_reached_has_no_length() -> None:
    missing = TurnResult("?", (StepVerdict("answer", "not_run", "It is here.", None),))
    assert behaviour_of([missing]) == Behaviour(EDITION, 0)


@given(st.lists(st.lists(st.text(max_size=3), max_size=4).map(tuple), max_size=30), st.text(max_size=40))
def test_a_fingerprint_is_bounded_and_read_as_it_was_written(calls: list[tuple[str, ...]], text: str) -> None:
    made = behaviour_of([turn(*calls, ("x" * 300,), text=text)])
    assert len(made.tools) <= TOOLS_MAX
    assert len(made.order) <= TOOLS_MAX
    assert all(len(name) <= NAME_MAX for name, _ in made.tools)
    assert decode(msgspec.json.encode(made), Behaviour) == made


def test_a_usual_fingerprint_has_less_than_a_hundred_bytes() -> None:
    made = behaviour_of([turn(("get_order",), ("refund_order",), text=ENGLISH)])
    print(f"{len(msgspec.json.encode(made))} bytes: {msgspec.json.encode(made).decode()}")
    assert len(msgspec.json.encode(made)) < 100
