"""What a model and a judge read of a conversation that was under way when its recording began."""

from __future__ import annotations

from typing import Any

import pytest

from app.errors import Invalid
from app.replay.case_types import History, TestCase
from app.replay.cases import case_from_turns, load_case
from app.replay.conversation import recorded_past
from app.replay.documents import dump
from app.replay.engine import replay
from app.sessions.types import EARLIER_MAX, EarlierMessage, Step, Turn
from tests.unit.replay.fakes import FakeJudge, answer, ports, says, scripted, turn

BEFORE = (
    EarlierMessage(role="user", text="My order is 4711."),
    EarlierMessage(role="tool", text='{"price": 85}', name="find", arguments={"id": 4711}),
    EarlierMessage(role="assistant", text="I see it."),
)
READ = ["My order is 4711.", "", '{"price": 85}', "I see it."]


def texts(messages: Any) -> list[str]:
    return [message.text for message in messages]


@pytest.mark.parametrize("history", ["replayed", "recorded"])
def test_a_model_reads_what_came_before_once_and_first(history: History) -> None:
    first = turn("What does it cost?", answer("85 euros."), earlier=BEFORE)
    model = scripted(says("85 euros."), says("Bye."))

    result = replay(TestCase(turns=(first, turn("Bye", answer("Bye."))), history=history), ports(model))

    assert result.status == "passed"
    assert texts(model.asked[0][1])[:5] == [*READ, "What does it cost?"]
    assert texts(model.asked[1][1])[:7] == [*READ, "What does it cost?", "85 euros.", "Bye"]
    call, response = model.asked[0][1][1:3]
    assert (call.tool_calls[0].name, call.tool_calls[0].id) == ("find", response.tool_call_id)


def test_a_judge_reads_what_came_before() -> None:
    judge = FakeJudge(lambda expected, actual: "passed")
    case = TestCase(turns=(turn("Hm?", answer("It is ready.", answer="ai"), earlier=BEFORE),))

    replay(case, ports(scripted(says("It can be collected.")), judge=judge))

    assert texts(judge.turns[0].conversation) == READ
    assert judge.turns[0].user == "Hm?"


def test_a_case_plays_the_last_words_with_the_earlier_messages() -> None:
    recorded = Turn(
        "t", 0, 1, "My order is 4711.", (Step("answer", "s", text="85 euros."),), question="Hm?", earlier=BEFORE
    )

    case = case_from_turns([recorded], "STRICT")

    assert (case.turns[0].user, case.turns[0].earlier) == ("Hm?", BEFORE)
    assert load_case(dump(case)) == case
    assert texts(recorded_past(case.turns)) == [*READ, "Hm?", "85 euros."]


@pytest.mark.parametrize(
    ("earlier", "place"),
    [
        ([{"role": "system", "text": "x"}], "turns.0.earlier.0.role"),
        ([{"role": "user", "text": "x"}] * (EARLIER_MAX + 1), "turns.0.earlier"),
        ([{"role": "user", "text": "x", "size": 1}], "turns.0.earlier.0"),
    ],
)
def test_a_file_with_wrong_earlier_messages_is_refused(earlier: list[Any], place: str) -> None:
    document = dump(TestCase(turns=(turn("Hm?", answer("Ready.")),)))
    document["turns"][0]["earlier"] = earlier

    with pytest.raises(Invalid, match=place):
        load_case(document)
