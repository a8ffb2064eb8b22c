"""Scores as programs send them: what is wrong is named by its path."""

from __future__ import annotations

from typing import Any

import pytest

from app.errors import Invalid
from app.schemas.base import load
from app.schemas.scores import ScoreSchema

TURN = {"traceId": "AB" * 16}
ONE = "target: Name one thing"


def test_ids_of_spans_are_bytes_in_any_case() -> None:
    score = load(ScoreSchema(), {"name": "n", "value": 1, "target": TURN | {"spanId": "cd" * 8}})
    assert (score.target.trace_id, score.target.span_id) == (b"\xab" * 16, b"\xcd" * 8)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"value": None}, "value: "),
        ({"value": [1]}, "value: Must be a number"),
        ({"value": 1e400}, "value: Must be a finite number."),
        ({"value": 10**400}, "value: Must be a finite number."),
        ({"value": ""}, "value: "),
        ({"value": "x" * 256}, "value: "),
        ({"value": "\0"}, "value: "),
        ({"name": ""}, "name: "),
        ({"comment": "x" * 10_001}, "comment: "),
        ({"id": "../x"}, "id: "),
        ({"id": "x" * 129}, "id: "),
        ({"source": "person"}, "source: "),
        ({"target": {}}, ONE),
        ({"target": {"spanId": "ab" * 8}}, ONE),
        ({"target": TURN | {"runId": 1}}, ONE),
        ({"target": {"promptId": 1}}, ONE),
        ({"target": {"traceId": "ab"}}, "target.traceId: "),
        ({"target": {"runId": 0}}, "target.runId: "),
        ({"target": [TURN]}, "target: "),
    ],
)
def test_what_is_wrong_is_named(body: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        load(ScoreSchema(), {"name": "n", "value": 1, "target": TURN} | body)
