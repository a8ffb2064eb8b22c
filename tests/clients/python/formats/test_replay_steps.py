"""Each step that did not pass has a sentence on what to do next."""

from __future__ import annotations

from typing import Any

import pytest
from reprise_formats.replay_steps import next_step, step_lines, subject_of

CALL: dict[str, Any] = {"kind": "tool_call", "result": "failed", "actual": {"name": "pay", "arguments": {}}}
ANSWER: dict[str, Any] = {"kind": "answer", "result": "failed", "actual": "Hello."}


@pytest.mark.parametrize(
    ("step", "advice"),
    [
        (CALL, "define in the test case how its arguments may differ"),
        (CALL | {"actual": None}, "so that it makes this call"),
        (ANSWER | {"actual": None}, "so that it gives an answer"),
        (ANSWER | {"decidedBy": "judge"}, "overrule the judge"),
        (ANSWER | {"decidedBy": "known"}, "overrule the judge"),
        (ANSWER | {"decidedBy": "text"}, "change the check of this step"),
        (ANSWER | {"result": "needs_review"}, "Compare what was recorded"),
        (CALL | {"result": "needs_review"}, "Compare what was recorded"),
    ],
)
def test_a_step_that_did_not_pass_shows_what_to_do_next(step: dict[str, Any], advice: str) -> None:
    assert advice in next_step(step, "draft")
    assert list(step_lines(1, 1, step, "draft"))[-1] == f"    {next_step(step, 'draft')}"


def test_the_advice_names_the_program_where_one_was_replayed() -> None:
    replay = {"candidate": {"external": {"name": "shop", "revision": "4f53a0b1", "dirty": False}}}

    assert subject_of({"candidate": {"kind": "draft"}}) == "draft"
    assert list(step_lines(1, 1, ANSWER, subject_of(replay)))[-1].startswith("    Change the program.")


@pytest.mark.parametrize("result", ["passed", "ignored", "not_run"])
def test_other_steps_show_nothing_to_do(result: str) -> None:
    assert next_step(ANSWER | {"result": result}, "draft") == ""
