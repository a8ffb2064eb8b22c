"""Of two spans of one call, the one that says less is the copy: however they lie, and however many there are."""

from __future__ import annotations

from typing import Any

import pytest

from app.otlp.decode import decode
from app.sessions.spans import TurnSpan, mark_copies, read_turn
from tests.support.exports import export, span

ANSWER = '[{"role": "assistant", "parts": [{"type": "text", "content": "Hello"}]}]'


def recorded(number: int, scope: str, parent: int | None = None, **attributes: Any) -> list[Any]:
    fields = {"spanId": f"{number:016x}", "startTimeUnixNano": number, "endTimeUnixNano": 10_000}
    if parent is not None:
        fields["parentSpanId"] = f"{parent:016x}"
    return decode(
        export(span({name.replace("__", "."): value for name, value in attributes.items()}, **fields), scope=scope)
    ).spans


def call(number: int, scope: str, parent: int | None = None, **attributes: Any) -> list[Any]:
    return recorded(number, scope, parent, gen_ai__operation__name="chat", **attributes)


class Counted:
    """A span that counts how often it is asked whether it is a model call."""

    asked = 0

    def __init__(self, normal: Any) -> None:
        self._normal = normal

    def __getattr__(self, name: str) -> Any:
        Counted.asked += name == "is_chat"
        return getattr(self._normal, name)


def copies(spans: list[TurnSpan]) -> list[int]:
    mark_copies(spans)
    return [int(span.span_id, 16) for span in spans if span.is_copy]


def test_a_call_deep_within_another_is_known_for_its_copy_in_few_steps() -> None:
    deep, many = 200, 200
    spans = call(1, "framework", gen_ai__output__messages=ANSWER)
    for number in range(2, deep):
        spans += recorded(number, "framework", number - 1)
    for number in range(deep, deep + many):
        spans += call(number, "client", deep - 1)
    turn = read_turn(spans)
    for one in turn:
        one.normal = Counted(one.normal)  # type: ignore[assignment]

    assert copies(turn) == list(range(deep, deep + many))
    assert Counted.asked < 20 * len(turn)


def test_calls_in_a_circle_of_parents_are_copies_of_each_other_once() -> None:
    spans = [*call(1, "a", 3, gen_ai__output__messages=ANSWER), *recorded(2, "a", 1), *recorded(3, "a", 2)]

    assert copies(read_turn(spans)) == []
    assert copies(read_turn([*spans, *call(4, "b", 3)])) == [4]


@pytest.mark.parametrize("response_id", ["r1", ["r1"], {"id": "r1"}, 1])
def test_a_response_id_of_any_shape_hides_no_copy(response_id: Any) -> None:
    spans = [
        *call(1, "sdk", gen_ai__response__id=response_id),
        *call(2, "library", gen_ai__response__id=response_id, gen_ai__output__messages=ANSWER),
    ]

    assert copies(read_turn(spans)) == [1]
