"""Removes stored data: by each project's policy, and on request a session, a prompt or a project."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import partial

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.database.transactions import Database, retried
from app.encryption import NO_KEY
from app.errors import Invalid, NotFound
from app.models import audit_log, data_policies, organizations, removal, waiting
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.base import earlier_now
from app.models.data_policies import DataPolicy
from app.models.prompts import NO_PROMPT
from app.models.queries import delete_rows
from app.models.removal import Erased, TurnScope
from app.otlp.masking import Rule, checked
from app.redis_store.epochs import Epochs
from app.services.data.erasures import Erasures
from app.services.masking.rules import MaskingRules
from app.services.sessions.service import require_session
from app.timestamps import Now
from app.work.remover import SWEEP_S, RemovalStep, Remover
from app.work.round_robin import RoundRobin

log = structlog.get_logger(__name__)

# Rows of a preview are counted up to this number only, so that the page answers within milliseconds.
COUNTED_MAX = 10_001


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPolicyService:
    """Reads and replaces the policies of projects: what is kept for how long, and what is masked."""

    database: Database
    now: Now
    rules: MaskingRules
    can_encrypt: bool

    def get(self, *, project_id: int) -> DataPolicy:
        with self.database.read() as connection:
            return data_policies.find_policy(connection, project_id=project_id)

    @retried
    def put(self, *, project_id: int, policy: DataPolicy, actor: Actor = SYSTEM) -> None:
        """Replace the policy; rows that are already stored are not masked. Raises `Invalid` for an unusable rule."""
        if checked([Rule(**rule) for rule in policy.masking]) and not self.can_encrypt:
            raise Invalid(f"masking: {NO_KEY}")
        with self.database.write() as connection:
            project = organizations.require_project(connection, project_id)
            data_policies.put_policy(connection, project_id=project_id, policy=policy)
            now, action = self.now(), Action.DATA_POLICY_CHANGED
            audit_log.note(connection, now, actor, action, project.name, asdict(policy), project_id=project_id)
        self.rules.forget(project_id)

    def expired(self, *, project_id: int, policy: DataPolicy) -> dict[str, int]:
        """Count the rows that the policy would remove, by table, up to `COUNTED_MAX`, without empty tables."""
        with self.database.read() as connection:
            now = earlier_now(connection, self.now())
            counts = {
                table: removal.count_old(
                    connection, table, project_id=project_id, before=now - timedelta(days), limit=COUNTED_MAX
                )
                for table, days in (("turns", policy.spans_days), *_days_of_tables(policy))
                if days is not None
            }
        return {table: count for table, count in counts.items() if count}


@dataclass(slots=True, kw_only=True)
class RetentionService:
    """Removes expired rows. Test cases are never removed, because they have copies of what they need."""

    database: Database
    now: Now
    remover: Remover
    earlier_now: Callable[[Connection, datetime], datetime] = earlier_now
    budget_s: float = SWEEP_S
    _round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)

    def apply(self) -> int:
        """Remove expired rows until none are left or the time is used up; returns their number."""
        with self.database.read() as connection:
            policies = data_policies.list_policies(connection)
            owners = {id_: owner for id_, owner in organizations.owners(connection).items() if id_ in policies}
            now = self.earlier_now(connection, self.now())
        removed = self.remover.exhaust_in_turn(
            self._round_robin,
            owners,
            lambda project_id: _steps_of_policy(project_id, policies[project_id], now),
            sweep_s=self.budget_s,
        )
        if removed:
            log.info("retention", rows=removed)
        return removed


def _steps_of_policy(project_id: int, policy: DataPolicy, now: datetime) -> Iterator[RemovalStep]:
    if policy.spans_days is not None:
        before = now - timedelta(policy.spans_days)
        yield partial(removal.remove_turns, scope=TurnScope(project_id, before=before))
        for named in waiting.TABLES:
            yield partial(waiting.settle_waiting, table=named, project_id=project_id, before=before)
    for table, days in _days_of_tables(policy):
        if days is not None:
            yield partial(removal.remove_old, table=table, project_id=project_id, before=now - timedelta(days))
    if policy.replays_days is not None:
        for table in ("case_snapshots", "draft_snapshots"):
            yield partial(removal.remove_unused_snapshots, table=table, project_id=project_id)


def _days_of_tables(policy: DataPolicy) -> tuple[tuple[str, int | None], ...]:
    return (
        ("runs", policy.runs_days),
        ("replays", policy.replays_days),
        ("known_verdicts", policy.replays_days),
        ("judge_audits", policy.replays_days),
        ("calibrations", policy.replays_days),
        ("experiments", policy.replays_days),
        ("schedule_runs", policy.replays_days),
        ("rejected_spans", policy.rejected_days),
        ("findings", policy.spans_days),
    )


# Tables of a prompt's rows, each before the tables that it refers to.
OF_PROMPT = (
    "program_events",
    "program_replays",
    "replays",
    "known_verdicts",
    "judge_audits",
    "calibrations",
    "experiments",
    "case_snapshots",
    "test_cases",
    "online_checks",
    "draft_snapshots",
    "runs",
    "label_versions",
    "prompt_versions",
)
# Tables with both a project's and a prompt's id, which no other table refers to.
OF_BOTH = (
    "rejected_spans",
    "log_records",
    "scores",
    "observed_daily",
    "insight_daily",
    "webhook_deliveries",
    "alert_rules",
    "session_filters",
    "agents",
    "session_fingerprints",
    "suite_members",
    "suites",
    "schedule_runs",
    "schedules",
    "findings",
)
# Each attempt removes the rows that were stored during the previous one; no new work begins for an erased prompt.
ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionService:
    """Removes sessions, prompts and projects on request, and finishes interrupted removals."""

    database: Database
    now: Now
    remover: Remover
    epochs: Epochs
    _prompts: Erasures = field(default_factory=Erasures, init=False)
    _projects: Erasures = field(default_factory=Erasures, init=False)
    _prompt_round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)
    _project_round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)

    def delete_session(self, *, project_id: int, session_id: str, actor: Actor = SYSTEM) -> None:
        """Delete a session with its spans; test cases keep their copies. `NotFound` if there is no such session.

        Turns that are stored during the deletion stay.
        """

        def mark(connection: Connection) -> TurnScope:
            key = require_session(connection, project_id=project_id, session_id=session_id).session_key
            audit_log.note(connection, self.now(), actor, Action.SESSION_DELETED, session_id, project_id=project_id)
            return removal.present_turns(connection, TurnScope(project_id, session_key=key))

        scope = self.database.retrying(mark)
        self.remover.exhaust(partial(removal.remove_turns, scope=scope))

    def erase_prompt(self, *, project_id: int, prompt_id: int, actor: Actor = SYSTEM) -> None:
        """Remove the prompt, archived or not, with all its data; it can't be read from the start of the erasure.

        If this is interrupted, `sweep` continues.
        """

        def mark(connection: Connection) -> None:
            if not removal.mark_prompt(connection, project_id=project_id, prompt_id=prompt_id, now=self.now()):
                raise NotFound(NO_PROMPT)
            audit_log.note(connection, self.now(), actor, Action.PROMPT_ERASED, str(prompt_id), project_id=project_id)

        self.database.retrying(mark)
        self.epochs.end(project_id)
        self._empty_prompt(project_id, prompt_id)

    def erase_project(self, *, project_id: int, actor: Actor = SYSTEM) -> None:
        """Remove the project with its prompts and API keys, but not its audit log; `NotFound` if there is none."""

        def mark(connection: Connection) -> Sequence[int]:
            audit_log.note(connection, self.now(), actor, Action.PROJECT_ERASED, str(project_id), project_id=project_id)
            return removal.mark_project(connection, project_id=project_id, now=self.now())

        prompt_ids = self.database.retrying(mark)
        self.epochs.end(project_id)
        for prompt_id in prompt_ids:
            self._empty_prompt(project_id, prompt_id)
        self._empty_project(project_id)

    def sweep(self) -> None:
        """Finish interrupted erasures, and remove rows that were stored after an erasure began."""
        now = self.now()
        with self.database.read() as connection:
            prompts = self._prompts.due(lambda since: removal.erased_prompts(connection, since=since), now=now)
            projects = self._projects.due(lambda since: removal.erased_projects(connection, since=since), now=now)
        until = self.remover.monotonic() + SWEEP_S

        def empty_some(prompt_id: int) -> bool:
            steps = _steps_of_prompt(prompts[prompt_id].project_id, prompt_id)
            try:
                return self.remover.do_next(self._prompts.until_empty(prompts[prompt_id], steps)) > 0
            except IntegrityError as error:
                _log_conflict(prompt_id, error)
                return False

        self._prompt_round_robin.serve(_owners(prompts), empty_some, is_over=lambda: self.remover.monotonic() >= until)
        self.remover.exhaust_in_turn(
            self._project_round_robin,
            _owners(projects),
            lambda project_id: self._projects.until_empty(projects[project_id], _steps_of_project(project_id)),
        )

    def _empty_prompt(self, project_id: int, prompt_id: int) -> None:
        """Remove the prompt's rows; if running work stores more of them, the next sweep removes these."""
        for _ in range(ATTEMPTS):
            try:
                for step in _steps_of_prompt(project_id, prompt_id):
                    self.remover.exhaust(step)
                return
            except IntegrityError as error:
                # Between two steps a row was stored that refers to a row of this step.
                conflict = error
        _log_conflict(prompt_id, conflict)

    def _empty_project(self, project_id: int) -> None:
        for step in _steps_of_project(project_id):
            self.remover.exhaust(step)


def _owners(erasures: Mapping[int, Erased]) -> dict[int, int]:
    """Return {id: organization}."""
    return {id_: erased.organization_id for id_, erased in erasures.items()}


def _log_conflict(prompt_id: int, error: IntegrityError) -> None:
    log.warning("erasure_left_to_sweep", prompt_id=prompt_id, error=str(error.orig))


def _steps_of_prompt(project_id: int, prompt_id: int) -> Iterator[RemovalStep]:
    yield partial(removal.remove_turns, scope=TurnScope(project_id, prompt_id=prompt_id))
    for table in (*OF_BOTH, *OF_PROMPT):
        yield partial(removal.remove_of, table=table, project_id=project_id, prompt_id=prompt_id)


def _steps_of_project(project_id: int) -> Iterator[RemovalStep]:
    for table in (*OF_BOTH, "webhooks", "api_keys"):
        yield partial(removal.remove_of, table=table, project_id=project_id)
    yield partial(_remove_policy, project_id=project_id)


def _remove_policy(connection: Connection, *, project_id: int, limit: int) -> int:
    """Remove the one policy of the project."""
    return delete_rows(connection, data_policies.data_policies, project_id=project_id)
