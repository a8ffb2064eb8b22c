"""Joining spans costs no more than their size: twice the spans take at most twice the work."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from app.otlp.decode import decode
from app.schemas.answer import dumper
from app.schemas.traces import TurnSchema
from app.sessions.build import build_session
from app.sessions.facts import MAX_NAME, MAX_NAMES, TurnFacts, dump, merge
from app.sessions.model_calls import NAMES_BYTES
from tests.support.exports import export, pairs_of, span
from tests.support.operations import calls_of

pytestmark = pytest.mark.slow

CHAT = {"gen_ai.operation.name": "chat"}
LANGFUSE = {"langfuse.observation.type": "generation"}
SAID = json.dumps([{"role": "assistant", "content": "x"}])


def numbered(number: int, attributes: dict[str, Any], parent: int | None = None) -> dict[str, Any]:
    ids = {"spanId": f"{number:016x}", "parentSpanId": None if parent is None else f"{parent:016x}"}
    return span(attributes, **ids)


def scopes(outer: Sequence[Any], inner: Sequence[Any]) -> bytes:
    """A batch of two libraries."""
    found = [{"scope": {"name": str(place)}, "spans": spans} for place, spans in enumerate((outer, inner))]
    return json.dumps({"resourceSpans": [{"scopeSpans": found}]}).encode()


def many_spans(size: int) -> bytes:
    return export(*(numbered(number, {}) for number in range(1, size)))


def a_chain_of_parents(size: int) -> bytes:
    return export(*(numbered(number, CHAT, number + 1) for number in range(1, size)))


def a_circle_of_parents(size: int) -> bytes:
    return export(*(numbered(number, {}, number % (size - 1) + 1) for number in range(1, size)))


def calls_within_one_that_says_much(size: int) -> bytes:
    much = json.dumps([{"role": "assistant", "content": "x"}] * size)
    outer = numbered(1, CHAT | {"gen_ai.output.messages": much})
    return scopes([outer], [numbered(n, CHAT | {"gen_ai.output.messages": SAID}, 1) for n in range(2, size)])


def calls_within_one_that_counts_much(size: int) -> bytes:
    usage = json.dumps({f"input_{number}": 1 for number in range(size)} | {"input": 1})
    outer = numbered(1, LANGFUSE | {"langfuse.observation.usage_details": usage})
    return scopes([outer], [numbered(number, LANGFUSE, 1) for number in range(2, size)])


def tools_within_tools(size: int) -> bytes:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}
    outer = numbered(1, tool | {"gen_ai.tool.call.arguments": json.dumps(list(range(size)))})
    return scopes([outer], [numbered(n, tool | {"gen_ai.tool.call.arguments": "[0]"}, 1) for n in range(2, size)])


def attributes_of_one_key(size: int) -> bytes:
    return export(span() | {"attributes": pairs_of({"service.prompt.id": 7}) + pairs_of({"a": "b"}) * size})


def numbered_messages(size: int) -> bytes:
    return export(span(CHAT | {f"gen_ai.prompt.{number}.content": "x" for number in range(size)}))


def one_resource_without_a_prompt(size: int) -> bytes:
    spans = [span(spanId=f"{number:016x}", attributes=[]) for number in range(1, size)]
    return export(*spans, resource={f"key {number}": "x" for number in range(size)})


def json_in_json(size: int) -> bytes:
    text = "x" * size
    for _ in range(8):
        text = json.dumps([{"role": "user", "content": text}])
    return export(span(CHAT | {"gen_ai.input.messages": text, "gen_ai.output.messages": text}))


def messages(*found: Any) -> dict[str, Any]:
    return {"gen_ai.input.messages": json.dumps(found)}


def asks(number: int, call_id: str) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": call_id, "name": "t", "arguments": {"n": number}}]}


def tells(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "x"}


def calls_in_messages(size: int) -> bytes:
    found = [one for n in range(size) for one in (asks(n, f"c{n}"), tells(f"c{n}"))]
    return export(numbered(1, CHAT | messages(*found)), numbered(2, CHAT | messages(*found)))


def calls_of_one_id(size: int) -> bytes:
    found = [asks(n % 7, "c") for n in range(size)] + [tells("c")] * size
    return export(numbered(1, CHAT | messages(*found)), numbered(2, CHAT | messages(*found)))


def equal_calls_and_tool_spans(size: int) -> bytes:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}
    return export(
        numbered(1, CHAT | messages(*(asks(1, "") for _ in range(size)))),
        *(numbered(number, tool | {"gen_ai.tool.call.arguments": '{"n":1}'}) for number in range(2, size)),
    )


def responses_without_calls(size: int) -> bytes:
    asked = CHAT | {"gen_ai.output.messages": json.dumps([asks(n, f"c{n}") for n in range(size)])}
    return export(numbered(1, asked), *(numbered(n + 2, CHAT | messages(tells(f"c{n}"))) for n in range(size)))


def read(batch: bytes) -> None:
    """All that is done with a batch on its way in and with a session on its way out."""
    spans = decode(batch).spans
    if spans:
        dump(TurnFacts.of(spans))
        dumper(TurnSchema)(*build_session([spans]))


@pytest.mark.parametrize(
    "batch",
    [
        many_spans,
        a_chain_of_parents,
        a_circle_of_parents,
        calls_within_one_that_says_much,
        calls_within_one_that_counts_much,
        tools_within_tools,
        attributes_of_one_key,
        numbered_messages,
        one_resource_without_a_prompt,
        json_in_json,
        calls_in_messages,
        calls_of_one_id,
        equal_calls_and_tool_spans,
        responses_without_calls,
    ],
)
def test_twice_the_spans_need_at_most_twice_the_calls(batch: Callable[[int], bytes]) -> None:
    once, twice = batch(400), batch(800)
    bound = 2.1 * calls_of(lambda: read(once))
    assert calls_of(lambda: read(twice), at_most=bound) <= bound


def test_what_many_model_calls_were_given_alike_is_read_once() -> None:
    history = [one for n in range(200) for one in (asks(n, f"c{n}"), tells(f"c{n}"))]

    def given_to(calls: int, *, at_most: int = 0) -> int:
        spans = decode(export(*(numbered(n + 1, CHAT | messages(*history)) for n in range(calls)))).spans
        return calls_of(lambda: build_session([spans]), at_most=at_most)

    bound = 5 * given_to(1)
    assert given_to(10, at_most=bound) <= bound


def test_the_facts_of_a_turn_stay_small_however_many_models_its_spans_name() -> None:
    def named(start: int) -> TurnFacts:
        models = (f"{number:06}" + "m" * 1_000 for number in range(start, start + 300))
        given = (
            numbered(start + place, CHAT | {"gen_ai.request.model": model, "service.prompt.version": model})
            for place, model in enumerate(models, 1)
        )
        return TurnFacts.of(decode(export(*given)).spans)

    one, other = named(0), named(300)
    for facts in (one, merge(one, other), merge(other, one)):
        assert facts.models == facts.prompt_versions == one.models
        assert len(facts.models) == NAMES_BYTES // MAX_NAME + 1
        # The names of models, of versions, and of the models of calls with what they used.
        assert len(dump(facts)) < 4 * NAMES_BYTES


def test_the_facts_of_a_turn_keep_few_of_many_short_names() -> None:
    spans = (numbered(n, CHAT | {"service.prompt.version": f"{n:03}"}) for n in range(1, 2 * MAX_NAMES))

    assert len(TurnFacts.of(decode(export(*spans)).spans).prompt_versions) == MAX_NAMES
