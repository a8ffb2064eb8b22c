"""No rule fails a recorded call that a harmless draft writes in another form, whatever the recording."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from app.replay.case_types import CheckedCall
from app.replay.checks import Checker
from app.replay.effects import Tool, tools_of
from app.replay.result_types import ProducedCall
from app.replay.texts.sources import Sources
from app.values.json import json_text
from tests.gate.argument_forms import EQUAL, FORMS, Form, rewritten, with_decomposed_keys
from tests.gate.heldout import Source, sources
from tests.gate.strangers import drafts

MEASURED = ("first", "second", "third")  # sets of agents that the gate had not met


@cache
def calls() -> tuple[tuple[str, dict[str, Tool], CheckedCall], ...]:
    """Return every recorded call of every agent, with its tools."""
    agents = {id(draft.source): draft.source for of in MEASURED for draft in drafts(of)}
    return tuple(_calls([*sources(), *agents.values()]))


def _calls(recorded: list[Source]) -> Iterator[tuple[str, dict[str, Tool], CheckedCall]]:
    for source in recorded:
        tools = tools_of(source.case, source.tools)
        for step in (step for turn in source.case.turns for step in turn.steps if step.kind == "tool_call"):
            if step.checked and isinstance(step.arguments, dict):
                yield source.name, tools, step


def results(form: Form) -> Iterator[tuple[str, str, Any, str | None]]:
    """Yield the result of the comparison of each call with each form of its arguments."""
    for name, tools, step in calls():
        reads = tools[step.name].called_with(step.arguments).effect == "read"
        for arguments in rewritten(step.arguments, form, reads):
            checker = Checker(tools, Sources)
            compared = checker.compare(step, _produced(step, arguments))
            yield f"{name}: {step.name}", compared.result, arguments, compared.message


def _produced(step: CheckedCall, arguments: Any) -> ProducedCall:
    return ProducedCall(step.name, arguments, "", "read", "none")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_no_rule_fails_a_call_in_another_form(form: Form) -> None:
    failed = [(name, arguments, message) for name, result, arguments, message in results(form) if result == "failed"]

    assert failed[:20] == [], f"{len(failed)} failed"


@pytest.mark.parametrize("form", [form for form in FORMS if form not in EQUAL], ids=lambda form: form.__name__)
def test_no_form_passes_without_a_reader(form: Form) -> None:
    assert [(name, arguments) for name, result, arguments, _ in results(form) if result == "passed"] == []


@pytest.mark.parametrize("form", EQUAL, ids=lambda form: form.__name__)
def test_texts_of_equal_characters_are_equal(form: Form) -> None:
    found = [(name, result, json_text(arguments)) for name, result, arguments, _ in results(form)]

    assert found != []
    assert [entry for entry in found if entry[1] != "passed"] == []


def test_keys_of_equal_characters_are_equal() -> None:
    for _, tools, step in calls():
        assert isinstance(step.arguments, dict)
        recorded = CheckedCall(name=step.name, arguments={"prénom": step.arguments, "größe": [step.arguments]})
        produced = _produced(recorded, with_decomposed_keys(recorded.arguments))
        assert Checker(tools, Sources).compare(recorded, produced).result == "passed"
