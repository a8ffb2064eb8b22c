"""Bodies of requests to a program, filled with what a turn has."""

from __future__ import annotations

from typing import Any

import pytest
from reprise_client.cli.program_asking import filled

VALUES = {"user": "Ask {{conversation}}!", "conversation": "7", "turn": 0, "files": [{"name": "a.png"}]}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"text": "{{user}}"}, {"text": "Ask {{conversation}}!"}),
        ({"a": [{"b": "<{{user}}> in {{conversation}}"}]}, {"a": [{"b": "<Ask {{conversation}}!> in 7"}]}),
        ({"files": "{{files}}", "turn": "{{turn}}"}, {"files": [{"name": "a.png"}], "turn": 0}),
        (
            {"left": "{{unknown}} {{ {{turn", "n": 5, "none": None},
            {"left": "{{unknown}} {{ {{turn", "n": 5, "none": None},
        ),
        ("{{user}}", "Ask {{conversation}}!"),
    ],
)
def test_only_placeholders_of_the_body_are_replaced_not_those_in_values(body: Any, expected: Any) -> None:
    assert filled(body, VALUES) == expected
