"""Of two spans of one call, the one with less content is the copy, in any position and any number."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.decode import decode
from app.otlp.normalise import Normalised
from app.sessions.copies import mark_copies
from app.sessions.facts import TurnFacts
from app.sessions.spans import TurnSpan, read_turn
from tests.support.exports import export, span

ANSWER = '[{"role": "assistant", "parts": [{"type": "text", "content": "Hello"}]}]'


def recorded(number: int, scope: str, parent: int | None = None, **attributes: Any) -> list[Any]:
    fields = {"spanId": f"{number:016x}", "startTimeUnixNano": number, "endTimeUnixNano": attributes.pop("end", 10_000)}
    if attributes.pop("failed", False):
        fields["status"] = {"code": 2, "message": "out of order"}
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


def answer(*texts: str) -> str:
    return json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text} for text in texts]}])


def asks(call_id: str, name: str = "weather", **arguments: Any) -> str:
    part = {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
    return json.dumps([{"role": "assistant", "parts": [part]}])


def tool(number: int, scope: str, name: str = "weather", parent: int | None = None, **attributes: Any) -> list[Any]:
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    return recorded(number, scope, parent, **named, **attributes)


def says(number: int, scope: str, text: str, parent: int | None = None, **attributes: Any) -> list[Any]:
    return call(number, scope, parent, gen_ai__output__messages=answer(text), **attributes)


TOKENS = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10}
FEWER = {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 1}
ID, ARGUMENTS, RESULT = "gen_ai.tool.call.id", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
OSLO = {ARGUMENTS: '{"city": "Oslo"}'}


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        # Calls within a call of the same library.
        ([*says(1, "a", "ok"), *says(2, "a", "ok", 1)], [1]),
        ([*says(1, "a", "ok"), *says(2, "a", " ok\n", 1)], [1]),
        ([*call(1, "a"), *says(2, "a", "ok", 1)], [1]),
        ([*says(1, "a", "ok"), *recorded(2, "a", 1), *says(3, "a", "ok", 2)], [1]),
        ([*says(1, "a", "ok"), *says(2, "a", "ok", 1), *says(3, "a", "ok", 2)], [1, 2]),
        ([*says(1, "a", "ok"), *call(2, "b", 1), *call(3, "b", 2)], [2, 3]),
        ([*says(1, "a", "ok", gen_ai__response__id="r1"), *says(2, "a", "ok", 1, gen_ai__response__id="r2")], []),
        ([*says(1, "a", "one"), *says(2, "a", "two", 1)], []),
        # Two libraries side by side.
        ([*says(1, "a", "ok", **TOKENS), *says(2, "b", "ok", **TOKENS)], [2]),
        ([*says(1, "a", "ok"), *says(2, "b", "ok", **TOKENS)], [2]),
        ([*says(1, "a", "ok", **TOKENS), *says(2, "b", "ok", **FEWER)], []),
        ([*says(1, "a", "ok", end=5), *says(6, "b", "ok", end=9)], []),
        ([*says(1, "a", "ok"), *says(2, "a", "ok")], []),
        ([*says(1, "a", "ok"), *says(2, "b", "ok"), *says(3, "c", "ok")], [2, 3]),
        ([*says(1, "a", "ok"), *says(2, "b", "ok"), *says(3, "a", "ok"), *says(4, "b", "ok")], [2, 4]),
        ([*says(1, "a", "ok"), *says(2, "a", "ok"), *says(3, "b", "ok"), *says(4, "b", "ok")], [3, 4]),
        ([*says(1, "a", "ok", gen_ai__response__id="r1"), *says(2, "b", "ok", gen_ai__response__id="r2")], []),
        ([*call(1, "a", **TOKENS), *says(2, "b", "ok", **TOKENS)], [1]),
        ([*recorded(1, "a"), *call(2, "a", 1, **TOKENS), *says(3, "b", "ok", **TOKENS)], [2]),
        (
            [
                *call(1, "a", gen_ai__output__messages=asks("c1", city="Oslo")),
                *call(2, "b", gen_ai__output__messages=asks("c1", "tools.weather", city="OSLO")),
            ],
            [2],
        ),
        (
            [
                *call(1, "a", gen_ai__output__messages=asks("c1", city="Oslo")),
                *call(2, "b", gen_ai__output__messages=asks("c2", city="Bergen")),
            ],
            [],
        ),
        # One response id.
        ([*says(1, "a", "ok", gen_ai__response__id="r", end=3), *call(5, "a", gen_ai__response__id="r", end=9)], [5]),
        ([*call(1, "a", gen_ai__response__id="r", end=3), *says(5, "a", "ok", gen_ai__response__id="r", end=9)], [1]),
        ([*says(1, "a", "one", gen_ai__response__id="r"), *says(2, "a", "two", gen_ai__response__id="r")], []),
        ([*call(1, "a", gen_ai__response__id="r", end=3), *call(5, "a", gen_ai__response__id="r", end=9)], []),
        # One tool call id.
        ([*tool(1, "a", **{ID: "c1", **OSLO}), *tool(2, "b", **{ID: "c1", **OSLO})], [2]),
        ([*tool(1, "a", **{ID: "c1", **OSLO}), *tool(2, "a", **{ID: "c1", **OSLO})], [2]),
        ([*tool(1, "a", **{ID: "c1"}), *tool(2, "b", "mcp__maps__weather", **{ID: "c1", **OSLO})], [1]),
        ([*tool(1, "a", **{ID: "c1", **OSLO}), *tool(2, "a", **{ID: "c1", ARGUMENTS: '{"city": "Rome"}'})], []),
        ([*tool(1, "a", **{ID: "c1"}), *tool(2, "a", "pay", **{ID: "c1"})], []),
        ([*tool(1, "a", failed=True, end=3, **{ID: "c1"}), *tool(5, "a", end=9, **{ID: "c1", RESULT: "7"})], [1]),
        # Tools of two libraries without ids.
        ([*tool(1, "a", **OSLO), *tool(2, "b", **OSLO)], [2]),
        ([*tool(1, "a", **OSLO), *tool(2, "b")], [2]),
        ([*tool(1, "a"), *tool(2, "b", **OSLO)], [1]),
        ([*tool(1, "a", **OSLO), *tool(2, "a", **OSLO)], []),
        ([*tool(1, "a", end=3, **OSLO), *tool(5, "b", end=9, **OSLO)], []),
        # Tools within tools: MCP's clients name the server, too.
        ([*tool(1, "a", "mcp__files__read", **OSLO), *tool(2, "b", "read", 1, **OSLO)], [2]),
        ([*tool(1, "a", "files.read", **OSLO), *tool(2, "b", "read", 1)], [2]),
        ([*tool(1, "a", "files-read", **OSLO), *tool(2, "b", "read", 1)], [2]),
        ([*tool(1, "a", "spread", **OSLO), *tool(2, "b", "read", 1)], []),
        (
            [
                *tool(1, "a", "mcp__files__read", **OSLO),
                *tool(2, "b", "read", 1, **{"mcp.method.name": "tools/call"}),
                *tool(3, "b", "read", 2, **{"mcp.method.name": "tools/call"}),
            ],
            [2, 3],
        ),
    ],
)
def test_copies(spans: list[Any], expected: list[int]) -> None:
    assert copies(read_turn(spans)) == expected


def test_a_kept_tool_has_the_facts_of_its_copies() -> None:
    turn = read_turn(
        [*tool(1, "a", "mcp__files__read", **OSLO), *tool(2, "b", "read", 1, failed=True, **{RESULT: "7"})]
    )

    mark_copies(turn)

    kept, _ = turn
    assert kept.tool
    assert (kept.tool.arguments, kept.tool.result, kept.failed) == ({"city": "Oslo"}, 7, True)


@pytest.mark.parametrize("again_at", [3, 5])
def test_an_earlier_attempt_of_a_tool_leaves_no_error(again_at: int) -> None:
    turn = read_turn(
        [*tool(1, "a", failed=True, end=3, **{ID: "c1"}), *tool(again_at, "a", end=9, **{ID: "c1", RESULT: "7"})]
    )

    mark_copies(turn)

    assert [(span.is_tool, span.failed) for span in turn] == [(False, True), (True, False)]


def test_a_kept_model_call_counts_the_tokens_of_its_copy_if_these_have_more_parts() -> None:
    cached = {**TOKENS, "gen_ai.usage.cache_read.input_tokens": 90}
    for counted, expected in ((cached, (100, 10, 90, 0, 0)), (FEWER, (100, 10, 0, 0, 0))):
        turn = read_turn([*says(1, "a", "ok", **counted), *says(2, "b", "ok", 1, **TOKENS)])
        mark_copies(turn)
        assert [span.tokens for span in turn if span.is_chat] == [expected]


def test_many_equal_calls_are_compared_with_few() -> None:
    spans = [span for number in range(1, 400) for span in says(number, f"library {number}", "ok", end=number)]
    turn = read_turn(spans)

    assert copies(turn) == []


def test_a_framework_that_records_tools_with_a_client_that_records_calls_repeats_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spans = [*call(1, "client", gen_ai__output__messages=ANSWER), *call(2, "client", gen_ai__output__messages=ANSWER)]
    spans += [*tool(3, "framework"), *tool(4, "framework")]
    monkeypatch.setattr(Normalised, "output_messages", property(lambda _: pytest.fail("an output was read")))
    monkeypatch.setattr(Normalised, "tool", property(lambda _: pytest.fail("a tool was read")))

    facts = TurnFacts.of(spans)

    assert (facts.tool_calls, [calls.calls for calls in facts.calls]) == (2, [2])
