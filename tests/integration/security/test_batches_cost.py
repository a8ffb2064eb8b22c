"""Small batches once held a worker for minutes: by one large resource, and by moving many sessions one by one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.exports import export, pairs_of, span
from tests.support.statements import executed
from tests.support.world import World

OF_TRACES = re.compile("spans|log_records|turns|sessions")


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
    assert sum("sessions" in statement for statement in asked) < 30  # five for each 500 sessions that become empty


def test_a_batch_may_name_more_prompts_than_a_statement_has_parameters(world: World) -> None:
    spans = [span({"service.prompt.id": 10**12 + number}, spanId=f"{number:016x}") for number in range(1, 1_500)]
    with executed() as asked:
        answer = world.send(export(*spans))

    assert answer.status_code == 400
    assert max(statement.count("?") + statement.count("%s") for statement in asked if "FROM prompts" in statement) < 600


def records(count: int) -> list[dict[str, Any]]:
    """A question for each of so many spans of one trace."""
    content = {"eventName": "gen_ai.user.message", "attributes": pairs_of({"content": "x"}), "timeUnixNano": "1"}
    return [content | {"traceId": "a" * 32, "spanId": f"{number:016x}"} for number in range(1, count + 1)]


@pytest.mark.parametrize("stored", [0, 1_200], ids=["of unknown spans", "of stored spans"])
def test_log_records_of_many_spans_are_joined_with_the_spans_in_few_statements(world: World, stored: int) -> None:
    """Each 16 spans once had six statements, and these read the whole trace."""
    recorded = {"service.prompt.id": world.prompt(), "gen_ai.operation.name": "chat"}
    if stored:
        sent = (span(recorded, traceId="a" * 32, spanId=f"{number:016x}") for number in range(1, stored + 1))
        assert world.send(export(*sent)).status_code == 200

    # The bodies of these spans are in rows of others: only as many are read at once as may be in memory.
    with executed() as asked:
        assert world.log(records(1_200)).status_code == 200

    assert sum("log_records" in statement for statement in asked) < 15 + stored / 20
    # Meanwhile the process may note when the keys of earlier tests were used.
    assert sum(bool(OF_TRACES.search(statement)) for statement in asked) < 40 + stored / 6
    if stored:
        (session,) = world.get("/api/v1/sessions").json["sessions"]
        assert session["preview"] == "x"
