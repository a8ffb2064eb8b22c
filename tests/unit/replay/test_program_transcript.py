"""What a program did, as the engine plays it."""

from __future__ import annotations

import pytest

from app.chat import Answer, ToolCall, ToolDefinition
from app.errors import ProviderError
from app.replay.case_types import CaseTurn, Fidelity, Missing, TestCase, ToolRules
from app.replay.program_transcript import (
    ModelCall,
    OtherCall,
    ProgramAnswer,
    RecordedProgram,
    Transcript,
    is_void,
    program_case,
)

CALL = Answer("", (ToolCall("1", "weather", {"city": "Rome"}),))
WORDS = Answer("It is hot.")


def played(*events: object) -> list[tuple[str, int, bool]]:
    steps = Transcript(tuple(events)).steps()  # type: ignore[arg-type]
    return [(step.answer.text, len(step.answer.tool_calls), step.is_last) for step in steps]


def test_the_programs_answer_replaces_of_the_models_last_words() -> None:
    events = (ModelCall(0, CALL), ModelCall(0, WORDS), ProgramAnswer(0, "Hot!"))
    assert played(*events) == [("", 1, False), ("Hot!", 0, True)]


def test_a_program_that_answers_after_a_call_of_a_tool_adds_its_answer() -> None:
    assert played(ModelCall(0, CALL), ProgramAnswer(0, "Sorry.")) == [("", 1, False), ("Sorry.", 0, True)]


def test_words_of_several_models_are_all_steps_of_the_turn() -> None:
    events = (
        ModelCall(0, Answer("billing")),
        OtherCall(0, "/embeddings", "e"),
        ModelCall(0, WORDS),
        ProgramAnswer(0, "It is hot."),
    )
    assert played(*events) == [("billing", 0, False), ("It is hot.", 0, True)]


def test_each_turn_has_the_answers_before_its_end() -> None:
    events = (ModelCall(0, WORDS), ProgramAnswer(0, "a"), ModelCall(1, WORDS), ProgramAnswer(1, "b"))
    assert played(*events) == [("a", 0, True), ("b", 0, True)]


def test_the_first_definition_of_a_tool_and_the_first_instruction_count() -> None:
    first, second = ToolDefinition("weather", "one"), ToolDefinition("weather", "two")
    calls = (ModelCall(0, CALL, "Be brief.", (first,)), ModelCall(0, WORDS, "Be long.", (second,)))
    transcript = Transcript(calls)
    assert (transcript.instruction, transcript.tools) == ("Be brief.", (first,))


def test_what_the_program_did_not_do_is_a_failure_without_a_verdict() -> None:
    program = RecordedProgram(Transcript())
    with pytest.raises(ProviderError, match="did not answer this turn"):
        program.answer("", (), ())


def case(**fields: object) -> TestCase:
    return TestCase(turns=(CaseTurn(user="Hi", steps=()),), **fields)  # type: ignore[arg-type]


def test_no_model_imagines_results_for_a_program_and_its_own_history_is_played() -> None:
    adapted = program_case(
        case(on_missing="simulate", history="recorded", tools={"a": ToolRules(on_missing="simulate")})
    )
    assert (adapted.on_missing, adapted.history, adapted.tools["a"].on_missing) == ("error", "replayed", "error")


@pytest.mark.parametrize(
    ("kind", "turn", "void"),
    [("instruction", 0, False), ("tool_definitions", 0, False), ("image", 0, True), ("image", 1, False)],
)
def test_a_program_brings_its_own_instruction_and_misses_what_it_can_not_see(kind: str, turn: int, void: bool) -> None:
    gap = Missing(kind=kind, turn=turn, message="m")  # type: ignore[arg-type]
    assert is_void(program_case(case(fidelity=Fidelity(missing=(gap,))))) is void
    assert not is_void(program_case(case(fidelity=Fidelity(missing=(gap,)), accept_partial=True)))
