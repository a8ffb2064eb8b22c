"""A prompt's history: its versions with how each did, one of them, and two side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from app.models.prompt_versions import VersionHead
from app.models.version_activity import VersionActivity
from app.services.prompts.content import PromptContent, placeholders_json
from app.services.replays.history import DraftHistory
from app.web.filters import pretty
from app.web.presenters.diffs import DiffRow, diff_json, diff_rows
from app.web.presenters.tabs import Tab, prompt_tabs
from app.web.presenters.vendors import with_vendor

DRAFT = "draft"


@dataclass(frozen=True, slots=True)
class VersionRow:
    """`key` is the hash, or "draft". Shares are 0 to 1; None where there is nothing to say."""

    key: str
    href: str
    message: str = ""
    author: str = ""
    created_at: datetime | None = None
    productive: bool = False
    runs: int = 0
    cost_usd: float | None = None
    average_ms: float | None = None
    failures: float | None = None
    replays: int = 0
    pass_rate: float | None = None


@dataclass(frozen=True, slots=True)
class VersionsPage:
    tabs: list[Tab]
    name: str
    rows: list[VersionRow]


@dataclass(frozen=True, slots=True)
class History:
    """What the list is made of."""

    versions: Sequence[VersionHead]
    activity: Mapping[str | None, VersionActivity]
    replays: Sequence[DraftHistory]
    committed: bool


def versions_page(name: str, prompt_id: int, history: History, base: str) -> VersionsPage:
    """The draft comes first, if it says something new."""
    path = f"{base}/prompts/{prompt_id}"
    replays = {entry.commit_hash: entry for entry in history.replays if entry.commit_hash}
    rows = [
        _row(version, history.activity.get(version.commit_hash), replays.get(version.commit_hash), path)
        for version in history.versions
    ]
    rows[:1] = [replace(row, productive=True) for row in rows[:1]]
    if not history.committed:
        draft = _did(DRAFT, f"{path}/edit", history.activity.get(None))
        rows.insert(0, replace(draft, message="The draft, not committed"))
    return VersionsPage(prompt_tabs(base, prompt_id, "versions"), name, rows)


def _row(version: VersionHead, activity: VersionActivity | None, replays: DraftHistory | None, path: str) -> VersionRow:
    row = _did(version.commit_hash, f"{path}/versions/{version.commit_hash}", activity)
    return replace(
        row,
        message=version.message,
        author=version.author_name or "API key",
        created_at=version.created_at,
        replays=replays.replays if replays else 0,
        pass_rate=replays.pass_rate if replays else None,
    )


def _did(key: str, href: str, activity: VersionActivity | None) -> VersionRow:
    if activity is None:
        return VersionRow(key, href)
    failures = activity.failed / activity.runs
    return VersionRow(
        key, href, runs=activity.runs, cost_usd=activity.cost_usd, average_ms=activity.average_ms, failures=failures
    )


@dataclass(frozen=True, slots=True)
class VersionPage:
    """`parameters` and `placeholders` are JSON to read."""

    name: str
    prompt_href: str
    versions_href: str
    head: VersionHead
    author: str
    parent_compare: str | None
    value: str
    format: str
    model: str
    fallback: str
    parameters: str
    placeholders: list[tuple[str, str, list[tuple[str, str, bool]]]]


def version_page(head: VersionHead, content: PromptContent, base: str) -> VersionPage:
    path = f"{base}/prompts/{content.prompt_id}"
    compare = f"{path}/compare?from={head.parent_hash}&to={head.commit_hash}" if head.parent_hash else None
    return VersionPage(
        name=content.name,
        prompt_href=path,
        versions_href=f"{path}/versions",
        head=head,
        author=head.author_name or "an API key",
        parent_compare=compare,
        value=content.value,
        format=content.instruction_format,
        model=with_vendor(content.model.name, content.model.vendor),
        fallback=with_vendor(content.fallback.name, content.fallback.vendor) if content.fallback else "",
        parameters=pretty(content.config) if content.config else "",
        placeholders=[
            (one.key, one.description, [(value.name, value.content, value.is_default) for value in one.values])
            for one in content.placeholders
        ],
    )


@dataclass(frozen=True, slots=True)
class Difference:
    title: str
    same: str
    rows: list[DiffRow]


@dataclass(frozen=True, slots=True)
class ComparePage:
    """`left` and `right` are the words that name the sides."""

    name: str
    prompt_href: str
    left: str
    right: str
    swap: str
    differences: list[Difference]


def compare_page(left: PromptContent, right: PromptContent, base: str) -> ComparePage:
    path = f"{base}/prompts/{left.prompt_id}"
    sides = _key(left), _key(right)
    return ComparePage(
        name=right.name,
        prompt_href=path,
        left=_words(left),
        right=_words(right),
        swap=f"{path}/compare?from={sides[1]}&to={sides[0]}",
        differences=[
            Difference("Text", "The text is the same.", diff_rows(left.value, right.value)),
            Difference(
                "Model and parameters",
                "Model and parameters are the same.",
                diff_json(_parameters(left), _parameters(right)),
            ),
            Difference(
                "Placeholders",
                "The placeholders are the same.",
                diff_json(placeholders_json(left.placeholders), placeholders_json(right.placeholders)),
            ),
        ],
    )


def _key(content: PromptContent) -> str:
    return content.commit_hash or DRAFT


def _words(content: PromptContent) -> str:
    return f"Version {content.commit_hash[:8]}" if content.commit_hash else "The draft"


def _parameters(content: PromptContent) -> dict[str, object]:
    second = {"whenItFails": content.fallback.name} if content.fallback else {}
    return {"model": content.model.name, "vendor": content.model.vendor, **second, **content.config}
