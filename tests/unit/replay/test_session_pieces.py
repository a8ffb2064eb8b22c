"""Sessions that a later one contains."""

from __future__ import annotations

from typing import Any

import pytest

from app.replay.session_pieces import is_piece
from app.sessions.types import EarlierMessage, Step, Turn

CALL = Step("tool_call", "s", name="weather", arguments={"city": "Oslo"}, result=7)
ANSWER = Step("answer", "s", text="7 degrees")
BEFORE = (EarlierMessage(role="user", text="Oslo?"), EarlierMessage(role="assistant", text="7 degrees"))
CALLED = EarlierMessage(role="tool", text="7", name="weather", arguments={"city": "Oslo"})


def turn(user: str | None, *steps: Step, **more: Any) -> Turn:
    return Turn("t", 0, 1, user, steps, **more)


@pytest.mark.parametrize(
    ("piece", "later", "expected"),
    [
        (turn("Oslo?", ANSWER), turn("Oslo?", question="Rome?", earlier=BEFORE), True),
        (turn("Oslo?", CALL, ANSWER), turn("Oslo?", question="Rome?", earlier=(*BEFORE, CALLED)), True),
        (turn("Oslo?", CALL), turn("Oslo?", CALL, ANSWER), True),
        (turn("Oslo?", ANSWER), turn("Oslo?", ANSWER), False),
        (turn("Oslo?", CALL, ANSWER), turn("Oslo?", question="Rome?", earlier=BEFORE), False),
        (turn("Rome?", ANSWER), turn("Oslo?", question="Paris?", earlier=BEFORE), False),
        (turn("Oslo?", Step("answer", "s", text="8")), turn("Oslo?", question="Rome?", earlier=BEFORE), False),
        (turn("Oslo?"), turn("Oslo?", question="Rome?", earlier=BEFORE), False),
        (turn(None, ANSWER), turn(None, ANSWER), False),
    ],
    ids=["turn", "turn with tool", "call", "again", "other call", "other question", "other answer", "silent", "none"],
)
def test_a_piece_is_repeated_whole(piece: Turn, later: Turn, expected: bool) -> None:
    assert is_piece([piece], later) is expected
