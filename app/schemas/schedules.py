"""Schedules of prompts: schemas of requests and answers."""

from __future__ import annotations

from typing import ClassVar, get_args

from marshmallow import fields, validate

from app.experiments.behaviour_watch import ChangeKind
from app.experiments.cron import CRON_MAX, ZONE_MAX
from app.experiments.drift import DriftState
from app.experiments.statistics import MOST_REPEATS
from app.models.schedules import ScheduleKind, ScheduleRow, ServedTime
from app.models.suites import SUITE_NAME_MAX
from app.schemas.answer import AnswerSchema, boolean, choice, fields_of, integer, listing, many, number, text, time
from app.schemas.base import JsonNumber, StrictBoolean, StrictSchema, Text
from app.schemas.experiments import AMOUNT_MAX
from app.services.experiments.schedules import NewSchedule

KINDS = get_args(ScheduleKind)


class _ScheduleFields(StrictSchema):
    cron = Text(minimum=9, maximum=CRON_MAX, trim=True, required=True)
    kind = fields.String(validate=validate.OneOf(KINDS), load_default="experiment")
    timezone = Text(minimum=1, maximum=ZONE_MAX, load_default="UTC")
    suite = Text(minimum=1, maximum=SUITE_NAME_MAX, trim=True, load_default=None, allow_none=True)
    repeats = fields.Integer(strict=True, validate=validate.Range(1, MOST_REPEATS), load_default=None, allow_none=True)
    max_cost = JsonNumber(
        validate=validate.Range(0, AMOUNT_MAX, min_inclusive=False, max_inclusive=False),
        load_default=None,
        allow_none=True,
    )
    min_coverage = JsonNumber(validate=validate.Range(0, 1, min_inclusive=False), load_default=None, allow_none=True)
    enabled = StrictBoolean(load_default=True)


class NewScheduleSchema(_ScheduleFields):
    """`cron` has five fields: minute, hour, day of month, month, day of week. `suite` null means all test cases.

    The kind `watch` plays the newest version and compares it with its own past. The kind `suite-coverage` plays
    nothing. It reads which share of the last week's sessions the suite represents, or all suites. Below `minCoverage`,
    from 0 to 1, it sends `coverage.fell`.
    """

    command: ClassVar = NewSchedule


class ScheduleChangeSchema(_ScheduleFields):
    """Omitted fields keep their values. A schedule that is not `enabled` is paused."""

    def __init__(self) -> None:
        super().__init__(partial=True)


class ScheduleSchema(AnswerSchema):
    """`nextDueAt` is null while the schedule is paused."""

    row = fields_of(ScheduleRow, "id", "prompt_id", "kind", "cron", "timezone", path="row")
    limits = fields_of(ScheduleRow, "suite", "repeats", "max_cost", "min_coverage", "enabled", "created_at", path="row")
    next_due_at = time(allow_none=True)


Schedules = listing("schedules", ScheduleSchema, name="Schedules")


class ScheduleRunSchema(AnswerSchema):
    """A served due time. `missed` counts the due times before it at which no clock ran.

    `experimentId` is null if no experiment could be started; `reason` is why. `status` and `verdict` are those of the
    experiment. A run of a watch that has ended has its replays (`played` and `passed`), the number of test cases that
    dropped, and the models that the vendor reported; all are null for others. A run of the kind `suite-coverage` has
    the number of sessions, the share of them that is represented (`coverage`, null for fewer than 20 sessions), the
    number of things that no test does (`new`), and whether the share `isLow`; all are null for others.
    """

    row = fields_of(ServedTime, "id", "due_at", "missed", "experiment_id", "status", "verdict", "reason", "created_at")
    played = integer(get=lambda run: run.watched and run.watched.played.total, allow_none=True)
    passed = integer(get=lambda run: run.watched and run.watched.played.passed, allow_none=True)
    dropped = integer(get=lambda run: run.watched and run.watched.dropped, allow_none=True)
    models = many(fields.String(), get=lambda run: run.watched and run.watched.snapshots, allow_none=True)

    sessions = integer(get=lambda run: run.coverage and run.coverage.sessions, allow_none=True)
    coverage = number(get=lambda run: run.coverage and run.coverage.share, allow_none=True)
    new = integer(get=lambda run: run.coverage and run.coverage.new, allow_none=True)
    is_low = boolean(get=lambda run: run.coverage and run.coverage.is_low, allow_none=True)


ScheduleRuns = listing("runs", ScheduleRunSchema, name="ScheduleRuns", paged=True)


class AnswerChangeSchema(AnswerSchema):
    """A warning: so many `replays` of the later ones have a feature, `of` how many, and fewer in the reference.

    `text` is a sentence about it. `name` is the tool, the order of tools or the language, "" for the length and for all
    rare ones together. `experimentId` is the run that showed it first.
    """

    kind = choice(*get_args(ChangeKind))
    name = text()
    text = text()
    replays = integer(attribute="recent.replays")
    of = integer(attribute="recent.of")
    reference_replays = integer(attribute="reference.replays")
    reference_of = integer(attribute="reference.of")
    experiment_id = integer(attribute="run")


class WatchedCaseSchema(AnswerSchema):
    """A test case, or a variant of one: `variant` counts them from 1, and 0 is the recording.

    While the state is `collecting` the reference is too small to show anything. `name` is null for a deleted one.
    `changes` are warnings that its answers differ from the reference. They change neither state nor verdict.
    """

    test_case_id = integer(attribute="case.test_case_id")
    variant = integer(attribute="case.variant")
    name = text(allow_none=True)
    state = choice(*get_args(DriftState), attribute="case.state")
    reference_passed = integer(attribute="case.watched.reference.passed")
    reference_failed = integer(attribute="case.watched.reference.failed")
    since_passed = integer(attribute="case.watched.since.passed")
    since_failed = integer(attribute="case.watched.since.failed")
    changes = many(AnswerChangeSchema, attribute="case.behaviour.changes")


class WatchSchema(AnswerSchema):
    """The replays of each test case in the reference and in the present suspicion, which is empty without any.

    `models` are what the vendor reported in the last run without a suspicion. Before the first run of the reference
    `since` and `commitHash` are null.
    """

    since = time(get=lambda view: view.watch and view.watch.since, allow_none=True)
    commit_hash = text(get=lambda view: view.watch and view.watch.commit_hash, allow_none=True)
    models = many(fields.String(), get=lambda view: view.watch.snapshots if view.watch else ())
    test_cases = many(WatchedCaseSchema, attribute="cases")
