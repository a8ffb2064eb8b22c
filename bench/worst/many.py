"""Many of what a project and its organization list: as many as a limit allows, or as a busy one may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from hashlib import sha256
from typing import Any

from app.models.scores import SESSION_MAX
from app.schemas.scores import BATCH_MAX
from app.services.language_models.prices import PRICES_MAX
from app.services.scores.online_checks import CHECKS_MAX
from app.services.sessions.saved_filters import FILTERS_MAX
from app.services.webhooks.alerts import RULES_MAX
from app.services.webhooks.service import WEBHOOKS_MAX
from bench.worst import texts
from bench.worst.rows import add_rows, copy_row
from bench.worst.stage import Size, Stage

MANY, LISTS, SESSIONS, DAYS = 10_000, 1_000, 2_000, 3_650
LAST_DAY = date(2030, 1, 1)


def fill(stage: Stage, size: Size) -> None:
    stage.ids |= _requests(stage, size)
    _rows(stage, size)
    _days(stage, size)


def _requests(stage: Stage, size: Size) -> Mapping[str, Any]:
    """Make what is limited by requests, and return the ids of the last ones."""
    prompt, session = f"/api/v1/prompts/{stage.ids['prompt_id']}", stage.ids["session_many_turns"]
    check = {"name": "x" * 255, "kind": "contains", "value": "é" * 10_000}
    hook = {"url": "https://hook.invalid/" + "x" * 1_900, "events": ["label.moved"]}
    rule = {"metric": "cost", "threshold": 1, "windowMinutes": 43_200}
    for start in range(0, size.of(SESSION_MAX), BATCH_MAX):
        scores = [_score(session, start + number) for number in range(min(BATCH_MAX, size.of(SESSION_MAX)))]
        stage.made("/api/v1/scores", {"scores": scores})
    return {
        "check_id": stage.made_often(f"{prompt}/online-checks", size.of(CHECKS_MAX), lambda _: check),
        "webhook_id": stage.made_often("/api/v1/webhooks", size.of(WEBHOOKS_MAX - 1), lambda _: hook),
        "rule_id": stage.made_often("/api/v1/alert-rules", size.of(RULES_MAX - 1), lambda _: rule),
        "filter_id": stage.made_often(
            "/api/v1/session-filters", size.of(FILTERS_MAX - 1), lambda n: _filter(size.named(n))
        ),
        "price_id": stage.made_often("/api/v1/model-prices", size.of(PRICES_MAX - 1), lambda n: _price(size.named(n))),
    }


def _score(session: str, number: int) -> dict[str, Any]:
    return {
        "id": f"{session}-{number}",
        "name": "x" * 250,
        "value": 1,
        "comment": "é" * 100,
        "target": {"sessionId": session},
    }


def _filter(number: int) -> dict[str, Any]:
    return {"name": f"{number:0100}", "filters": {"q": "x" * 200, "tool": "x" * 255}}


def _price(number: int) -> dict[str, Any]:
    return {"model": f"{number:0255}", "provider": "y" * 64, "promptPrice": 1, "completionPrice": 2}


def _rows(stage: Stage, size: Size) -> None:
    def digest(number: int) -> bytes:
        return sha256(b"%d" % size.named(number)).digest()

    database, made = stage.world.container.database, stage.ids
    delivery = made["delivery_id"]
    copies: list[tuple[str, object, int, dict[str, Callable[[int], Any]]]] = [
        (
            "webhook_deliveries",
            delivery,
            MANY,
            {"webhook_id": lambda _: made["webhook_id"], "answer": lambda _: "x" * 1_000},
        ),
        ("audit_log", stage.newest("audit_log"), MANY, {"details": lambda _: {"a": "x" * 1_000}}),
        ("runs", made["small_run"], MANY, {"prompt_id": lambda _: made["prompt_id"]}),
        ("api_keys", made["key_id"], LISTS, {"digest": digest, "name": lambda _: "x" * 100}),
        (
            "invitations",
            made["invitation_id"],
            LISTS,
            {"digest": digest, "email": lambda n: f"{size.named(n):0200}@example.org"},
        ),
        ("projects", made["other_project"], LISTS, {"name": lambda _: "x" * 128}),
        (
            "language_models",
            made["model_id"],
            LISTS,
            {"name": lambda n: f"{size.named(n):0128}", "description": lambda _: "x" * 2_000},
        ),
        ("replays", made["replay_small"], MANY, {"created_at": _moment(stage)}),
        ("prompts", made["small_prompt"], LISTS, {"name": lambda _: "x" * 128}),
        ("draft_snapshots", stage.newest("draft_snapshots"), LISTS, {"fingerprint": lambda n: digest(n).hex()}),
    ]
    for table, row_id, count, changes in copies:
        copy_row(database, table, row_id, size.of(count), **changes)
    last = stage.newest("users")
    add_rows(database, "users", size.of(LISTS), lambda n: _user(stage, size.named(n)))
    members = stage.ids_of("users", after=last)
    owner = {
        "organization_id": stage.world.organization_id,
        "role": "viewer",
        "created_at": stage.world.container.now(),
    }
    add_rows(database, "memberships", len(members), lambda n: owner | {"user_id": members[n - 1]})
    rejected = {"project_id": stage.world.project_id, "prompt_id": made["prompt_id"], "trace_id": "a" * 32}
    rejected |= {"name": "x" * 200, "code": "unknown", "reason": "x" * 200, "received_at": stage.world.container.now()}
    add_rows(database, "rejected_spans", size.of(MANY), lambda n: rejected | {"span_id": digest(n).hex()[:16]})


def _moment(stage: Stage) -> Callable[[int], Any]:
    now = stage.world.container.now()
    return lambda number: now - timedelta(minutes=number)


def _user(stage: Stage, number: int) -> dict[str, Any]:
    named = {"email": f"{number:0200}@example.org", "name": "x" * 128}
    return named | {"password_hash": "none", "created_at": stage.world.container.now()}


def _days(stage: Stage, size: Size) -> None:
    """Usage and insight of ten years, with three versions or models a day, and the sessions of a day."""
    prompt_id, days = stage.ids["prompt_id"], size.of(DAYS)
    changes: dict[str, Callable[[int], Any]] = {
        "project_id": lambda _: stage.world.project_id,
        "prompt_id": lambda _: prompt_id,
        "day": lambda number: LAST_DAY - timedelta(days=number % days),
    }
    for table, column in (("usage_daily", "commit_hash"), ("observed_daily", "model"), ("insight_daily", "version")):
        named = changes | {column: lambda number: f"{number // days:064}"}
        copy_row(stage.world.container.database, table, stage.newest(table), days * 3, **named)
    first = (prompt_id << 40) + 3 * 10**9
    words = [texts.said("What is it?", "It is so.", f"c{number}") for number in range(size.of(SESSIONS))]
    batch = texts.batch(*(texts.span(prompt_id, first + number, 1, *turn) for number, turn in enumerate(words)))
    stage.store(batch)
