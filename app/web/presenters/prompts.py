"""The list of prompts, and the form that makes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.models.language_models import LanguageModel
from app.models.prompts import PromptListing
from app.services.operations.overview import Activity
from app.services.prompts.service import PromptPage
from app.web.filters import plural
from app.web.presenters.lists import first_link, next_link
from app.web.presenters.vendors import with_vendor


@dataclass(frozen=True, slots=True)
class PromptRow:
    id: int
    name: str
    state: str
    state_kind: str
    model: str
    runs: int
    runs_by_day: tuple[int, ...]
    runs_words: str
    cost_usd: float
    cases: int
    passed: int
    cases_kind: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class PromptsPage:
    search: str
    rows: list[PromptRow]
    next_href: str | None
    first_href: str | None


@dataclass(frozen=True, slots=True)
class NewPromptPage:
    """`models` are (name, words) pairs for a choice; "" stands for the default model."""

    models: list[tuple[str, str]]
    name: str = ""
    value: str = ""
    model: str = ""
    format: str = "XML"
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What the list is made of."""

    page: PromptPage
    activity: Mapping[int, Activity]
    models: Sequence[LanguageModel] = field(default_factory=list)


def prompts_page(found: Found, query: Mapping[str, str]) -> PromptsPage:
    names = {model.id: model.name for model in found.models}
    rows = [_row(prompt, names, found.activity[prompt.id]) for prompt in found.page.prompts]
    after = found.page.next_before_id
    return PromptsPage(
        search=query.get("search", ""),
        rows=rows,
        next_href=next_link(query, None if after is None else str(after)),
        first_href=first_link(query),
    )


def _row(prompt: PromptListing, models: Mapping[int, str], activity: Activity) -> PromptRow:
    state, kind = ("draft", "") if prompt.newest is None else ("changed", "warn")
    if prompt.committed:
        state, kind = "committed", "ok"
    return PromptRow(
        id=prompt.id,
        name=prompt.name,
        state=state,
        state_kind=kind,
        model=models.get(prompt.language_model_id, "unknown"),
        runs=activity.runs,
        runs_by_day=activity.runs_by_day,
        runs_words=f"{plural(activity.runs, 'run')} in 7 days: {', '.join(map(str, activity.runs_by_day))}",
        cost_usd=activity.cost_usd,
        cases=activity.test_cases,
        passed=activity.passed,
        cases_kind="ok" if activity.passed == activity.test_cases else "bad",
        changed_at=prompt.updated_at,
    )


def model_choices(models: Sequence[LanguageModel]) -> list[tuple[str, str]]:
    """The models that can be used, the organization's default first."""
    usable = [model for model in models if model.usable]
    default = next((f"Default ({model.name})" for model in usable if model.is_default), "Default model")
    return [("", default), *((model.name, with_vendor(model.name, model.vendor)) for model in usable)]
