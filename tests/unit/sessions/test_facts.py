"""Facts of turns: what each span adds, and that batches merge to the same in any order and grouping."""

from __future__ import annotations

import json
from functools import reduce
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.otlp.decode import decode
from app.otlp.span import Span
from app.sessions.facts import MAX_NAME, MAX_OPENING, TurnFacts, dump, load, merge
from app.sessions.model_calls import NAMES_BYTES, ModelCalls
from app.sessions.types import Usage
from tests.support.exports import export, span


def asked(*texts: str) -> str:
    return json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]} for text in texts])


def spans_of(*spans: dict[str, Any]) -> list[Span]:
    decoded = decode(export(*spans))
    assert not decoded.rejected
    return decoded.spans


def chat(attributes: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return span({"gen_ai.operation.name": "chat", **(attributes or {})}, **fields)


def test_the_facts_of_a_model_call() -> None:
    (one,) = spans_of(
        chat(
            {
                "gen_ai.request.model": "gpt",
                "gen_ai.usage.input_tokens": 3,
                "gen_ai.usage.output_tokens": "2",
                "service.prompt.version": "v1",
                "gen_ai.conversation.id": "c1",
            },
            status={"code": 2},
        )
    )

    found = TurnFacts.of([one])

    assert (found.models, found.usage, found.errors) == ({"gpt"}, Usage(3, 2), 1)
    assert found.prompt_versions == {"v1"}
    assert found.conversation
    assert found.conversation[1] == "c1"


def test_only_model_calls_count_tokens_and_models() -> None:
    (one,) = spans_of(
        span({"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "gpt", "gen_ai.usage.input_tokens": 9})
    )

    assert TurnFacts.of([one]).usage == Usage()
    assert TurnFacts.of([one]).models == frozenset()


def test_the_opening_is_the_first_user_text_cut() -> None:
    (one,) = spans_of(chat({"gen_ai.input.messages": asked("q" * 1000, "later")}))

    opening = TurnFacts.of([one]).opening

    assert opening
    assert opening[1] == "q" * MAX_OPENING


def test_a_model_call_without_content_leaves_the_opening_to_the_next() -> None:
    silent = chat(spanId="1" * 16, startTimeUnixNano="1")
    speaking = chat({"gen_ai.input.messages": asked("Hi")}, spanId="2" * 16, startTimeUnixNano="2")

    whole = TurnFacts.of(spans_of(speaking, silent))

    assert whole.opening == ((2, 1544712661000000000, b"\x22" * 8), "Hi")


def test_a_conversation_id_of_any_span_counts_the_earliest_first() -> None:
    late = span({"gen_ai.conversation.id": "late"}, spanId="1" * 16, startTimeUnixNano="20")
    early = span({"gen_ai.conversation.id": "early"}, spanId="2" * 16, startTimeUnixNano="10")
    first = span(spanId="3" * 16, startTimeUnixNano="1")

    whole = TurnFacts.of(spans_of(late, early, first))

    assert whole.conversation is not None
    assert whole.conversation[1] == "early"


attributes = st.fixed_dictionaries(
    {},
    optional={
        "gen_ai.operation.name": st.sampled_from(["chat", "execute_tool", "invoke_agent"]),
        "gen_ai.request.model": st.sampled_from(["a", "b"]),
        "gen_ai.usage.input_tokens": st.integers(0, 9),
        "gen_ai.conversation.id": st.sampled_from(["c1", "c2"]),
        "service.prompt.version": st.sampled_from(["v1", "v2"]),
        "gen_ai.input.messages": st.sampled_from([asked("one"), asked("two"), "[cut"]),
    },
)
turns = st.lists(st.tuples(attributes, st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=6)


@given(turns, st.data())
def test_any_order_and_grouping_of_batches_gives_the_same_facts(
    turn: list[tuple[dict[str, Any], int, int]], data: st.DataObject
) -> None:
    spans = spans_of(
        *(
            span(recorded, spanId=f"{number + 1:016x}", startTimeUnixNano=start, endTimeUnixNano=end)
            for number, (recorded, start, end) in enumerate(turn)
        )
    )
    whole = TurnFacts.of(spans)

    shuffled = data.draw(st.permutations(spans))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(spans) - 1))) if len(spans) > 1 else set())
    batches = [shuffled[start:end] for start, end in zip([0, *cuts], [*cuts, len(spans)], strict=True)]
    parts = [TurnFacts.of(batch) for batch in batches]

    assert reduce(merge, parts) == whole
    assert reduce(lambda one, other: merge(other, one), parts) == whole


@given(st.integers())
def test_any_order_and_grouping_of_batches_with_long_names_gives_the_same_facts_of_few_bytes(seed: int) -> None:
    chance = Random(seed)
    names = [chance.choice("am\u00e4\U0001f600") * chance.choice((1, 100, 255)) + f"{n}" for n in range(60)]
    spans = spans_of(
        *(
            span(
                {
                    "gen_ai.operation.name": kind,
                    "gen_ai.tool.name" if kind == "execute_tool" else "gen_ai.request.model": name,
                    "gen_ai.usage.input_tokens": 1,
                    "service.prompt.version": name,
                },
                spanId=f"{number + 1:016x}",
                startTimeUnixNano=chance.randrange(1, 9),
                status={"code": chance.choice((0, 2))},
            )
            for number, name in enumerate(names)
            for kind in (chance.choice(("chat", "execute_tool")),)
        )
    )
    whole = TurnFacts.of(spans)

    chance.shuffle(spans)
    cuts = sorted(chance.sample(range(1, len(spans)), chance.randrange(len(spans))))
    batches = [spans[start:end] for start, end in zip([0, *cuts], [*cuts, len(spans)], strict=True)]
    parts = [TurnFacts.of(batch) for batch in batches]

    assert reduce(merge, parts) == whole
    assert reduce(lambda facts, other: merge(other, facts), parts) == whole
    assert load(dump(whole)) == whole
    # Five kinds of names, each with one name more than the bytes.
    assert len(dump(whole)) < 5 * (NAMES_BYTES + 4 * MAX_NAME) + 8_192


def test_facts_of_an_earlier_release_are_read_with_the_names_that_are_kept_today() -> None:
    names = [f"{n:03}" + "\U0001f600" * 252 for n in range(100)]
    calls = tuple(ModelCalls("p", name, 0, 1, Usage(1, 2)) for name in names)
    kinds = dict.fromkeys(("models", "prompt_versions", "tools", "failed_tools"), frozenset(names))
    earlier = dump(TurnFacts(1, 2, 3, usage=Usage(100, 200), calls=calls, **kinds))

    facts = load(earlier)

    assert len(earlier) > 500_000
    assert len(dump(facts)) < 5 * (NAMES_BYTES + 4 * MAX_NAME) + 8_192
    assert facts.models == facts.prompt_versions == facts.tools == facts.failed_tools == set(names[:5])
    assert sum((model_calls.usage for model_calls in facts.calls), Usage()) == facts.usage == Usage(100, 200)
    assert sum(model_calls.calls for model_calls in facts.calls) == 100


@given(turns)
def test_facts_survive_storage(turn: list[tuple[dict[str, Any], int, int]]) -> None:
    whole = TurnFacts.of(
        spans_of(*(span(recorded, spanId=f"{at + 1:016x}") for at, (recorded, _, _) in enumerate(turn)))
    )

    assert load(dump(whole)) == whole
    assert dump(load(dump(whole))) == dump(whole)
