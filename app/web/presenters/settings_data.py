"""The form of a project's data policy: days that things are kept, and rules that mask."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from app.models.data_policies import DataPolicy
from app.otlp.masking import MASK
from app.web.forms import Form
from app.web.presenters.tabs import Tab, settings_tabs

KINDS = [("pattern", "Pattern"), ("pointer", "Place")]
DAYS = (
    ("spans", "spans_days", "Spans and sessions"),
    ("runs", "runs_days", "Runs"),
    ("replays", "replays_days", "Replays"),
    ("rejectedSpans", "rejected_days", "Rejected spans"),
)
SPARE_ROWS = 3


@dataclass(frozen=True, slots=True)
class RuleRow:
    kind: str = "pattern"
    value: str = ""
    replacement: str = MASK


@dataclass(frozen=True, slots=True)
class DataPage:
    """`days` are (field, words, days or "" for ever); the last rules are empty ones to fill in."""

    tabs: list[Tab]
    days: list[tuple[str, str, str]]
    rules: list[RuleRow]
    problem: str = ""
    title = "Data"
    kinds = KINDS


def data_page(base: str, policy: DataPolicy) -> DataPage:
    days = [(field, words, str(getattr(policy, column) or "")) for field, column, words in DAYS]
    rules = [RuleRow(rule["kind"], rule["value"], rule["replacement"]) for rule in policy.masking]
    return DataPage(settings_tabs(base, "data"), days, rules + [RuleRow()] * SPARE_ROWS)


def sent_again(page: DataPage, form: Form, problem: str) -> DataPage:
    """The page with what was typed."""
    days = [(field, words, form.text(field)) for field, words, _ in page.days]
    return replace(page, days=days, rules=_rules(form) + [RuleRow()] * SPARE_ROWS, problem=_in_words(problem))


def _in_words(problem: str) -> str:
    """The body's path, as the page calls what is there."""
    path, _, why = problem.partition(": ")
    match path.split("."):
        case ["masking", place, *_] if place.isdigit():
            return f"Rule {int(place) + 1}: {why}"
        case ["retentionDays", wanted]:
            return next((f"{words}: {why}" for field, _, words in DAYS if field == wanted), problem)
    return problem


def policy_body(form: Form) -> dict[str, Any]:
    """The form as the API's body has it; an empty number of days keeps for ever, a rule without a value goes."""
    days = {field: _days(form.text(field).strip()) for field, _, _ in DAYS}
    rules = [{"kind": rule.kind, "value": rule.value, "replacement": rule.replacement} for rule in _rules(form)]
    return {"retentionDays": days, "masking": rules}


def _days(text: str) -> int | str | None:
    """What is no number goes on as it is, to be refused by its name."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text or None


def _rules(form: Form) -> list[RuleRow]:
    rows = zip(form.texts("kind"), form.texts("value"), form.texts("replacement"), strict=False)
    return [RuleRow(*row) for row in rows if row[1].strip()]
