"""Small batches once held a worker for minutes: by one large resource, and by moving many sessions one by one."""

from __future__ import annotations

from typing import Any

from tests.support.exports import export, span
from tests.support.statements import executed
from tests.support.world import World


def turns(prompt_id: int, count: int, span_id: int, **attributes: Any) -> bytes:
    """A span for each of so many turns."""
    recorded = {"service.prompt.id": prompt_id, **attributes}
    return export(
        *(
            span(
                recorded | {name: f"{value} {number}" for name, value in attributes.items()},
                traceId=f"{prompt_id:016x}{number:016x}",
                spanId=f"{span_id:016x}",
            )
            for number in range(1, count + 1)
        )
    )


def test_spans_without_a_prompt_do_not_each_read_their_large_resource(world: World) -> None:
    spans = [span(traceId="a" * 32, spanId=f"{number:016x}", attributes=[]) for number in range(1, 3_000)]
    answer = world.send(export(*spans, resource={f"key {number}": "x" for number in range(20_000)}))

    assert answer.status_code == 400
    assert "2999 spans rejected" in answer.json["error"]


def test_a_batch_that_names_the_conversations_of_many_turns_moves_them_together(world: World) -> None:
    prompt_id, many = world.prompt(), 1_200
    assert world.send(turns(prompt_id, many, 1)).json == {"partialSuccess": {}}
    assert world.count("sessions") == many

    with executed() as asked:
        named = turns(prompt_id, many, 2, **{"gen_ai.conversation.id": "c"})
        assert world.send(named).json == {"partialSuccess": {}}

    assert world.count("sessions") == many
    assert sum("sessions" in statement for statement in asked) < 20


def test_a_batch_may_name_more_prompts_than_a_statement_has_parameters(world: World) -> None:
    spans = [span({"service.prompt.id": 10**12 + number}, spanId=f"{number:016x}") for number in range(1, 1_500)]
    with executed() as asked:
        answer = world.send(export(*spans))

    assert answer.status_code == 400
    assert max(statement.count("?") + statement.count("%s") for statement in asked if "FROM prompts" in statement) < 600
