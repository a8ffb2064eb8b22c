"""The form of a test case: its choices, and the body of the API that a sent form makes."""

from __future__ import annotations

from typing import Any

from app.errors import Invalid
from app.replay.types import CaseStep, TestCase
from app.web.forms import Form

CHOICES = {
    "arguments": [
        ("exact", "Arguments: exactly these"),
        ("subset", "Arguments: at least these"),
        ("ignore", "Arguments: any"),
    ],
    "answers": [
        ("strict", "Answer: the same"),
        ("contains", "Answer: contains …"),
        ("regex", "Answer: matches the pattern …"),
        ("json_subset", "Answer: JSON with at least …"),
        ("ai", "Answer: a judge model decides"),
        ("manual", "Answer: a person decides"),
        ("ignore", "Answer: anything"),
    ],
    "orders": [("any", "In any order"), ("in_order", "In the recorded order")],
    "histories": [
        ("replayed", "The answers that the draft just gave"),
        ("recorded", "The recorded answers: turns are independent"),
    ],
    "missing": [
        ("stop", "Stop the replay"),
        ("error", "Tell the model that the tool is unavailable, and go on"),
    ],
}


def cuts(case: TestCase) -> list[tuple[str, str]]:
    """The choices of how many turns are played, as (value, label); "" is for all."""
    first = (str(n) for n in range(1, len(case.turns)))
    return [("", "All turns"), *((n, f"Turn 1 to {n}" if n != "1" else "Turn 1 alone") for n in first)]


def case_body(form: Form, case: TestCase) -> dict[str, Any]:
    """The body of the API's change, with a check for each step of the case; `Invalid` for a cut that is no number."""
    return {
        "name": form.text("name"),
        "order": form.text("order"),
        "history": form.text("history"),
        "onMissing": form.text("on_missing"),
        "includedTurns": form.integer("included") if form.text("included") else None,
        "assertionValue": form.text("assertion_value") or None,
        "steps": [
            {"turn": turn_index, "step": index, "check": _check(form, step, f"step.{turn_index}.{index}")}
            for turn_index, turn in enumerate(case.turns)
            for index, step in enumerate(turn.steps)
        ],
    }


def _check(form: Form, step: CaseStep, field: str) -> dict[str, Any]:
    check = {"enabled": form.flag(f"{field}.enabled"), "ignorePaths": form.text(f"{field}.ignore").split()}
    if step.kind == "tool_call":
        # Matchers of a step's own are not on the form, which keeps them as they are.
        return check | {"arguments": form.text(f"{field}.check", "") or step.check.arguments}
    answer = form.text(f"{field}.check", step.check.answer)
    return check | {"answer": answer, "value": form.text(f"{field}.value") or None}


def written_body(form: Form) -> dict[str, Any]:
    """The body of the API's test case by hand; its name is the question's first line unless one is given."""
    body: dict[str, Any] = {"question": form.text("question"), "expectedAnswer": form.text("expected")}
    if not body["question"].strip():
        raise Invalid("question: Write what is asked.")
    if selections := form.selections():
        body["placeholders"] = selections
    return body | ({"name": form.text("name")} if form.text("name").strip() else {})
