"""The form of a test case: which steps are checked and how, what it plays; and what was sent as the API's body."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from app.errors import Invalid
from app.replay.types import CaseStep, TestCase
from app.web.filters import pretty
from app.web.forms import Form

ARGUMENTS = [
    ("exact", "Arguments: exactly these"),
    ("subset", "Arguments: at least these"),
    ("ignore", "Arguments: any"),
]
ANSWERS = [
    ("strict", "Answer: the same"),
    ("contains", "Answer: contains …"),
    ("regex", "Answer: matches the pattern …"),
    ("json_subset", "Answer: JSON with at least …"),
    ("ai", "Answer: a judge model decides"),
    ("manual", "Answer: a person decides"),
    ("ignore", "Answer: anything"),
]
ORDERS = [("any", "In any order"), ("in_order", "In the recorded order")]
HISTORIES = [
    ("replayed", "The answers that the draft just gave"),
    ("recorded", "The recorded answers: turns are independent"),
]
MISSING = [
    ("stop", "Stop the replay"),
    ("error", "Tell the model that the tool is unavailable, and go on"),
]


@dataclass(frozen=True, slots=True)
class StepForm:
    """A recorded step and the check of it; `field` begins the names of its fields."""

    field: str
    kind: str
    enabled: bool
    check: str
    value: str
    ignore_paths: str
    name: str = ""
    arguments: str = ""
    result: str = ""
    error: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class TurnForm:
    user: str | None
    steps: list[StepForm]


@dataclass(frozen=True, slots=True)
class CaseForm:
    name: str
    order: str
    history: str
    on_missing: str
    included: str
    assertion_value: str
    turns: list[TurnForm]
    arguments = ARGUMENTS
    answers = ANSWERS
    orders = ORDERS
    histories = HISTORIES
    missing = MISSING

    @property
    def cuts(self) -> list[tuple[str, str]]:
        """How many turns may be played: (value, words), "" for all."""
        count = len(self.turns)
        return [("", "All turns"), *((str(n), f"Turn 1 to {n}" if n > 1 else "Turn 1 alone") for n in range(1, count))]


def case_form(name: str, case: TestCase) -> CaseForm:
    return CaseForm(
        name=name,
        order=case.order,
        history=case.history,
        on_missing=case.on_missing,
        included="" if case.included_turns in (None, len(case.turns)) else str(case.included_turns),
        assertion_value=case.assertion_value or "",
        turns=[
            TurnForm(turn.user, [_step(step, f"step.{at}.{place}") for place, step in enumerate(turn.steps)])
            for at, turn in enumerate(case.turns)
        ],
    )


def case_again(shown: CaseForm, form: Form) -> CaseForm:
    """The form as it was sent, for who has to mend it."""
    return replace(
        shown,
        name=form.text("name"),
        order=form.text("order"),
        history=form.text("history"),
        on_missing=form.text("on_missing"),
        included=form.text("included"),
        assertion_value=form.text("assertion_value"),
        turns=[replace(turn, steps=[_again(step, form) for step in turn.steps]) for turn in shown.turns],
    )


def _again(step: StepForm, form: Form) -> StepForm:
    return replace(
        step,
        enabled=form.flag(f"{step.field}.enabled"),
        check=form.text(f"{step.field}.check", step.check),
        value=form.text(f"{step.field}.value"),
        ignore_paths=form.text(f"{step.field}.ignore"),
    )


def case_body(form: Form, case: TestCase) -> dict[str, Any]:
    """The body of the API's change, with a check for each step of the case."""
    steps = [
        {"turn": at, "step": place, "check": _check(form, step, f"step.{at}.{place}")}
        for at, turn in enumerate(case.turns)
        for place, step in enumerate(turn.steps)
    ]
    included = form.text("included")
    return {
        "name": form.text("name"),
        "order": form.text("order"),
        "history": form.text("history"),
        "onMissing": form.text("on_missing"),
        "includedTurns": form.integer("included") if included else None,
        "assertionValue": form.text("assertion_value") or None,
        "steps": steps,
    }


def written_body(form: Form) -> dict[str, Any]:
    """The body of the API's test case by hand; its name is the question's first line unless one is given."""
    body: dict[str, Any] = {"question": form.text("question"), "expectedAnswer": form.text("expected")}
    if not body["question"].strip():
        raise Invalid("question: Write what is asked.")
    chosen = {name.removeprefix("use."): form.text(name) for name in form.names if name.startswith("use.")}
    if any(chosen.values()):
        body["placeholders"] = {key: name for key, name in chosen.items() if name}
    return body | ({"name": form.text("name")} if form.text("name").strip() else {})


def _step(step: CaseStep, field: str) -> StepForm:
    check = step.check
    shown = StepForm(
        field=field,
        kind=step.kind,
        enabled=check.enabled,
        check=check.answer,
        value="" if check.value is None else pretty(check.value),
        ignore_paths="\n".join(check.ignore_paths),
    )
    if step.kind == "answer":
        return replace(shown, text=step.text)
    arguments, result = pretty(step.arguments), pretty(step.result)
    return replace(shown, check=check.arguments, name=step.name, arguments=arguments, result=result, error=step.error)


def _check(form: Form, step: CaseStep, field: str) -> dict[str, Any]:
    check = {"enabled": form.flag(f"{field}.enabled"), "ignorePaths": form.text(f"{field}.ignore").split()}
    if step.kind == "tool_call":
        return check | {"arguments": form.text(f"{field}.check", step.check.arguments)}
    answer = form.text(f"{field}.check", step.check.answer)
    return check | {"answer": answer, "value": form.text(f"{field}.value") or None}
