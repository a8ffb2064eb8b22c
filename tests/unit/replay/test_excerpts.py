"""One turn of a test case is a test case: a replay sends what came before as it was recorded."""

from __future__ import annotations

import pytest

from app.errors import Invalid
from app.replay.case_types import CaseFile, CaseTurn, Fidelity, Missing, TestCase, ToolRules
from app.replay.cases import load_case
from app.replay.documents import dump
from app.replay.engine import replay
from app.replay.excerpts import only_turn
from app.replay.fault_types import Fault, Variant
from app.sessions.types import EARLIER_MAX, EarlierMessage
from tests.unit.replay.fakes import answer, call, ports, says, scripted, turn

FIRST = turn("Where is A-1?", call("get_order", {"id": "A-1"}, {"at": "Hamburg"}), answer("In Hamburg."))
SECOND = turn("And A-2?", call("get_order", {"id": "A-2"}, error="no such order"), answer("There is no A-2."))
THIRD = turn("Thanks.", answer("You are welcome."))
CASE = TestCase(turns=(FIRST, SECOND, THIRD), included_turns=2, tools={"pay": ToolRules(never=True)})


def test_the_turns_before_become_the_history_of_the_only_turn() -> None:
    case = only_turn(CASE, 2)

    assert (case.included_turns, case.tools) == (None, CASE.tools)
    (only,) = case.turns
    assert (only.user, only.steps) == (THIRD.user, THIRD.steps)
    assert only.earlier == (
        EarlierMessage(role="user", text="Where is A-1?"),
        EarlierMessage(role="tool", text='{"at": "Hamburg"}', name="get_order", arguments={"id": "A-1"}),
        EarlierMessage(role="assistant", text="In Hamburg."),
        EarlierMessage(role="user", text="And A-2?"),
        EarlierMessage(role="tool", text='{"error": "no such order"}', name="get_order", arguments={"id": "A-2"}),
        EarlierMessage(role="assistant", text="There is no A-2."),
    )
    assert load_case(dump(case)) == case


def test_the_model_reads_the_history_and_is_asked_only_the_last_message() -> None:
    model = scripted(says("You are welcome."))

    result = replay(only_turn(CASE, 2), ports(model))

    assert result.status == "passed"
    ((_, messages, _),) = model.asked
    exchange = ["user", "assistant", "tool", "assistant"]
    assert [message.role for message in messages] == [*exchange, *exchange, "user"]
    assert messages[-1].text == "Thanks."


def test_what_came_before_the_recording_stays_before_it() -> None:
    known = EarlierMessage(role="user", text="Hello")
    case = TestCase(turns=(CaseTurn(user="One", steps=(answer("1"),), earlier=(known,)), THIRD))

    assert [message.text for message in only_turn(case, 1).turns[0].earlier or ()] == ["Hello", "One", "1"]
    assert only_turn(case, 0).turns[0].earlier == (known,)


def test_a_long_history_is_cut_and_the_replay_shows_it() -> None:
    case = TestCase(turns=(*[turn("?", answer("!"))] * EARLIER_MAX, THIRD))

    cut = only_turn(case, EARLIER_MAX)

    assert len(cut.turns[0].earlier or ()) == EARLIER_MAX
    assert [gap.message for gap in (cut.fidelity or Fidelity()).missing] == [
        "only the last 1,000 of the earlier messages are kept"
    ]


def test_gaps_until_the_turn_and_files_before_it_are_gaps_of_the_only_turn() -> None:
    file = CaseFile(kind="image", media_type="image/png", data="AAAA")
    gaps = tuple(Missing(kind="cut", turn=n, message=f"gap {n}") for n in range(3))
    seen = CaseTurn(user="Look", steps=(answer("I see."),), files=(file,))
    case = TestCase(turns=(seen, SECOND, THIRD), fidelity=Fidelity(missing=gaps))

    missing = (only_turn(case, 1).fidelity or Fidelity()).missing

    assert [gap.turn for gap in missing] == [0, 0, 0]
    assert [gap.message for gap in missing] == [
        "gap 0",
        "gap 1",
        "an earlier message of the user has content that is no text",
    ]


def test_variants_are_left_out_because_their_calls_may_be_of_other_turns() -> None:
    failing = Variant(name="down", faults=(Fault(tool="get_order", call=0, kind="error"),))
    case = TestCase(turns=CASE.turns, variants=(failing,))

    assert not only_turn(case, 2).variants


@pytest.mark.parametrize("index", [-1, 3, 10**9])
def test_a_turn_that_is_not_there_is_refused(index: int) -> None:
    with pytest.raises(Invalid, match="turn: there are 3, counted from 0"):
        only_turn(CASE, index)


def test_a_turn_that_checks_nothing_is_refused() -> None:
    case = TestCase(turns=(FIRST, turn("Thanks.", answer("Bye.", enabled=False))))

    with pytest.raises(Invalid, match="at least one step"):
        only_turn(case, 1)
