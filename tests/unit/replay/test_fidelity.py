"""Replays that can't show the model what the recorded one saw, and files that are sent again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.chat import File, ToolDefinition
from app.errors import Invalid
from app.otlp.normalise.media import Media
from app.replay.case_types import TestCase
from app.replay.cases import case_from_turns, load_case
from app.replay.changes import change_case
from app.replay.documents import dump
from app.replay.engine import replay
from app.replay.fidelity import FILES_MAX
from app.sessions.types import Gap, Step, Turn
from tests.unit.replay.fakes import FakeDraft, ports, says, scripted

PNG = Media("image", "image/png", "a.png", "iVBORw0KGgo=")
ANSWER = Step("answer", "s", text="A cat.")


def case_of(*files: Media, gaps: tuple[Gap, ...] = (), **more: Any) -> TestCase:
    return case_from_turns([Turn("t", 0, 1, "What is this?", (ANSWER,), files=files, gaps=gaps, **more)], "STRICT")


def missing(case: TestCase) -> list[tuple[str, int]]:
    return [(gap.kind, gap.turn) for gap in case.fidelity.missing] if case.fidelity else []


@pytest.mark.parametrize("history", ["replayed", "recorded"])
def test_a_recorded_file_is_sent_again_with_its_message_and_in_later_turns(history: str) -> None:
    first, later = (Turn(t, 0, 1, "?", (ANSWER,), files=(PNG,) if t == "1" else ()) for t in "12")
    case = change_case(case_from_turns([first, later], "STRICT"), {"history": history})
    model = scripted(says("A cat."), says("A cat."))

    result = replay(case, ports(model))

    assert (result.status, result.fidelity.complete) == ("passed", True)
    sent = [[message.files for message in messages if message.role == "user"] for _, messages, _ in model.asked]
    image = File("a.png", "image/png", b"\x89PNG\r\n\x1a\n")
    assert sent == [[(image,)], [(image,), ()]]


@pytest.mark.parametrize(
    ("media", "words"),
    [
        (replace(PNG, data=""), "without its content"),
        (replace(PNG, media_type=""), "without its media type"),
        (replace(PNG, data="%%%"), "in a form that can't be read"),
        (replace(PNG, data="A" * (FILES_MAX + 4)), "is too large"),
    ],
)
def test_a_file_that_can_not_be_sent_again_makes_the_replay_void(media: Media, words: str) -> None:
    model = scripted()
    result = replay(case_of(media), ports(model))

    assert (result.status, result.stop_reason, model.asked) == ("void", "void", [])
    assert words in (result.void or "")
    assert [step.result for turn in result.turns for step in turn.steps] == ["not_run"]


def test_a_file_that_the_model_can_not_read_makes_the_replay_void() -> None:
    result = replay(case_of(PNG), ports(scripted(), reads=lambda file: file.media_type != "image/png"))

    assert (result.status, [gap.kind for gap in result.fidelity.missing]) == ("void", ["image"])
    assert "the model can't read the image a.png (image/png)" in (result.void or "")


def test_a_test_case_may_accept_a_replay_that_shows_a_part() -> None:
    partial = case_of(gaps=(Gap("history", "a summary took the place"),))
    case = change_case(partial, {"acceptPartial": True})

    result = replay(case, ports(scripted(says("A cat."))))

    assert (result.status, result.accepted_partial, result.fidelity.complete) == ("passed", True, False)
    assert missing(load_case(dump(case))) == [("history", 0)]
    assert dump(change_case(case, {"acceptPartial": False})) == dump(partial)


def test_gaps_of_turns_that_are_not_played_do_not_count() -> None:
    turns = [Turn(t, 0, 1, "?", (ANSWER,), gaps=(Gap("cut", "cut"),) if t == "2" else ()) for t in "12"]
    case = change_case(case_from_turns(turns, "STRICT"), {"includedTurns": 1})

    assert replay(case, ports(scripted(says("A cat.")))).status == "passed"


def test_definitions_of_tools_are_lacking_until_the_prompt_has_them() -> None:
    call = Step("tool_call", "s", "find", {}, "ok")
    case = case_from_turns([Turn("t", 0, 1, "?", (call, ANSWER))], "STRICT")
    tool = ToolDefinition("find")

    without = replay(case, ports(scripted(says("A cat."))))
    played = replay(case, ports(scripted(says("A cat.")), draft=FakeDraft([tool])))
    defined = case_from_turns([Turn("t", 0, 1, "?", (call, ANSWER), offered_tools=({"name": "find"},))], "STRICT")

    assert [gap.kind for gap in case.fidelity.missing] == ["tool_definitions"]
    assert (without.status, played.status) == ("failed", "failed")
    assert (missing(defined), missing(case_from_turns([Turn("t", 0, 1, "?", (call,))], "STRICT", [tool]))) == ([], [])


def test_files_together_have_a_limit() -> None:
    half = replace(PNG, data="A" * (FILES_MAX // 2))

    case = case_of(half, replace(half, name="b"), replace(half, name="c"))

    assert (len(case.turns[0].files or ()), missing(case)) == (2, [("image", 0)])


def test_a_file_of_a_document_must_be_base64() -> None:
    document = dump(case_of(PNG))
    document["turns"][0]["files"][0]["data"] = "%"

    with pytest.raises(Invalid, match=r"data: must be base64"):
        load_case(document)
