"""Online checks as their authors use them: created, listed, changed and removed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from sqlalchemy import Connection

from app.database.transactions import Database, retried
from app.errors import Forbidden, Invalid, NotFound, require
from app.models import audit_log, online_checks, organizations
from app.models.audit_log import Action, Actor
from app.models.base import earlier_now
from app.models.online_checks import Kind, OnlineCheck
from app.models.queries import first_batch_id, update_rows
from app.services.language_models.service import ModelService
from app.services.prompts.reader import PromptReader
from app.timestamps import Now
from app.values.budget import WorkBudget
from app.values.regex import NEW_PATTERNS_STEPS, compile_new

CHECKS_MAX = 20
"""Checks of one prompt."""
CHECKS_OF_PROJECT = 200
"""Checks of all prompts of a project together."""
NEEDS_RUN = "This API key lacks the scope run, which an online check of the kind judge needs: it runs a model."
# A worker goes on with its check if only these fields change.
_KEEP_WORKER = frozenset({"name", "share", "max_cost_per_day", "enabled"})
NO_CHECK = "There is no such online check."


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCheck:
    """A check as its author describes it; `judge_model` is the name of the judge model."""

    name: str
    kind: Kind
    value: str
    share: float = 1.0
    judge_model: str | None = None
    version: str | None = None
    model: str | None = None
    max_cost_per_day: float = 1.0
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineCheckService:
    database: Database
    now: Now
    models: ModelService
    reader: PromptReader

    def list(self, *, project_id: int, prompt_id: int) -> list[OnlineCheck]:
        """List a prompt's checks, the oldest first; `NotFound` if there is no such prompt."""
        with self.database.read() as connection:
            self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            return online_checks.of_prompt(connection, project_id=project_id, prompt_id=prompt_id)

    def get(self, *, project_id: int, check_id: int) -> OnlineCheck:
        """Return a check; `NotFound` if there is none."""
        with self.database.read() as connection:
            return require(online_checks.find(connection, project_id=project_id, check_id=check_id), NO_CHECK)

    @retried
    def add(self, *, project_id: int, prompt_id: int, new: NewCheck, actor: Actor, may_spend: bool) -> OnlineCheck:
        """Store a check of the turns that are recorded from now on; `NotFound` if there is no such prompt.

        Raises `Invalid` beyond `CHECKS_MAX` and `CHECKS_OF_PROJECT`, for an invalid pattern, and for a model that can't
        judge. Raises `Forbidden` for a judge without `may_spend`.
        """
        if new.kind == "judge" and not may_spend:
            raise Forbidden(NEEDS_RUN)
        with self.database.write() as connection:
            head = self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            # Under the lock of the organization, the limits count what is added at the same moment.
            organizations.lock_organization(connection, head.organization_id)
            if len(online_checks.of_prompt(connection, project_id=project_id, prompt_id=prompt_id)) >= CHECKS_MAX:
                raise Invalid(f"A prompt may have {CHECKS_MAX} online checks; remove one first.")
            if online_checks.count_of_project(connection, project_id=project_id) >= CHECKS_OF_PROJECT:
                raise Invalid(f"A project may have {CHECKS_OF_PROJECT} online checks; remove one first.")
            now = earlier_now(connection, self.now())
            values = _columns(new, self._judge(connection, head.organization_id, new))
            start = {"position": first_batch_id(now), "position_id": 0, "scored": 0, "spent_on": "", "spent_usd": 0.0}
            check_id = online_checks.add(
                connection,
                project_id=project_id,
                prompt_id=prompt_id,
                **values,
                **start,
                problem=None,
                held_until=now,
                created_at=now,
            )
            audit_log.note(connection, now, actor, Action.ONLINE_CHECK_ADDED, new.name, project_id=project_id)
            return require(online_checks.find(connection, project_id=project_id, check_id=check_id), NO_CHECK)

    @retried
    def change(
        self, *, project_id: int, check_id: int, values: Mapping[str, Any], actor: Actor, may_spend: bool
    ) -> OnlineCheck:
        """Change the named fields of `NewCheck`; raises the same errors as `add`.

        Without `may_spend` a judge can only be renamed, paused, or limited to a lower cost or share. A worker that runs
        the check gives it up if it would check other turns, or ask something else. A check that is enabled again begins
        with the turns recorded after that.
        """
        with self.database.write() as connection:
            known = online_checks.find(connection, project_id=project_id, check_id=check_id, lock=True)
            old = require(known, NO_CHECK)
            head = self.reader.head(connection, project_id=project_id, prompt_id=old.prompt_id)
            before = self._as_given(connection, head.organization_id, old)
            new = replace(before, **values)
            if new == before:
                return old
            if _asks_more(before, new) and not may_spend:
                raise Forbidden(NEEDS_RUN)
            now = self.now()
            changed = [name for name in values if getattr(before, name) != getattr(new, name)]
            # A check can be paused after its model was removed.
            judged = {"kind", "value", "judge_model"} & set(changed)
            judge_id = self._judge(connection, head.organization_id, new) if judged else old.judge_model_id
            stored = _columns(new, judge_id)
            # Otherwise the worker goes on, so that a judge that is being asked is not asked again.
            if not _KEEP_WORKER.issuperset(changed) or (new.enabled and not old.enabled):
                stored |= {"held_until": now}
            if set(changed) != {"name"}:
                stored |= {"problem": None}
            if new.enabled and not old.enabled:
                stored |= {"position": first_batch_id(earlier_now(connection, now)), "position_id": 0}
            update_rows(connection, online_checks.online_checks, {"id": check_id}, **stored)
            details = {"changed": ", ".join(changed)}
            action = Action.ONLINE_CHECK_CHANGED
            audit_log.note(connection, now, actor, action, new.name, details, project_id=project_id)
            return require(online_checks.find(connection, project_id=project_id, check_id=check_id), NO_CHECK)

    def _as_given(self, connection: Connection, organization_id: int, check: OnlineCheck) -> NewCheck:
        """Return a stored check as its author would describe it."""
        judge = None
        with suppress(NotFound):  # removed meanwhile
            model_id = check.judge_model_id or 0
            judge = self.models.read(connection, organization_id=organization_id, model_id=model_id).name
        given = {
            field_.name: getattr(check, field_.name) for field_ in fields(NewCheck) if field_.name != "judge_model"
        }
        return NewCheck(**given, judge_model=judge)

    @retried
    def remove(self, *, project_id: int, check_id: int, actor: Actor) -> None:
        """Remove a check and keep the scores that it gave; `NotFound` if there is none."""
        with self.database.write() as connection:
            known = require(online_checks.find(connection, project_id=project_id, check_id=check_id), NO_CHECK)
            if not online_checks.remove(connection, project_id=project_id, check_id=check_id):
                raise NotFound(NO_CHECK)
            audit_log.note(
                connection, self.now(), actor, Action.ONLINE_CHECK_REMOVED, known.name, project_id=project_id
            )

    def _judge(self, connection: Connection, organization_id: int, new: NewCheck) -> int | None:
        """Return the id of the judge model, None for a check without a judge."""
        if new.kind == "regex":
            try:
                compile_new(new.value, WorkBudget(NEW_PATTERNS_STEPS))
            except ValueError as error:
                raise Invalid(f"value: {error}") from error
        if new.kind != "judge":
            return None
        if new.judge_model is None:
            raise Invalid("judgeModelName: Name the model that judges.")
        name, field = new.judge_model, "judgeModelName"
        model = self.models.named(connection, organization_id=organization_id, name=name, field=field)
        if model.vendor == "BUILTIN":
            raise Invalid(f"{field}: {name} is a builtin model and can't judge; name a vendor's.")
        return model.id


def _asks_more(before: NewCheck, new: NewCheck) -> bool:
    """Return whether a changed check may send more requests, or other ones, to a model than before."""
    less = replace(
        before,
        name=new.name,
        enabled=before.enabled and new.enabled,
        share=min(before.share, new.share),
        max_cost_per_day=min(before.max_cost_per_day, new.max_cost_per_day),
    )
    return new.kind == "judge" and new != less


def _columns(new: NewCheck, judge_model_id: int | None) -> dict[str, Any]:
    values = asdict(new) | {"judge_model_id": judge_model_id}
    del values["judge_model"]
    return values
