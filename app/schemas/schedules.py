"""Schedules of prompts: schemas of requests and answers."""

from __future__ import annotations

from typing import ClassVar, get_args

from marshmallow import fields, validate

from app.experiments.cron import CRON_MAX, ZONE_MAX
from app.experiments.statistics import MOST_REPEATS
from app.models.schedules import ScheduleKind, ScheduleRow, ServedTime
from app.models.suites import SUITE_NAME_MAX
from app.schemas.answer import AnswerSchema, fields_of, listing, time
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
    enabled = StrictBoolean(load_default=True)


class NewScheduleSchema(_ScheduleFields):
    """`cron` has five fields: minute, hour, day of month, month, day of week. `suite` null means all test cases."""

    command: ClassVar = NewSchedule


class ScheduleChangeSchema(_ScheduleFields):
    """Omitted fields keep their values. A schedule that is not `enabled` is paused."""

    def __init__(self) -> None:
        super().__init__(partial=True)


class ScheduleSchema(AnswerSchema):
    """`nextDueAt` is null while the schedule is paused."""

    row = fields_of(ScheduleRow, "id", "prompt_id", "kind", "cron", "timezone", path="row")
    limits = fields_of(ScheduleRow, "suite", "repeats", "max_cost", "enabled", "created_at", path="row")
    next_due_at = time(allow_none=True)


Schedules = listing("schedules", ScheduleSchema, name="Schedules")


class ScheduleRunSchema(AnswerSchema):
    """A served due time. `missed` counts the due times before it at which no clock ran.

    `experimentId` is null if no experiment could be started; `reason` is why. `status` and `verdict` are those of the
    experiment.
    """

    row = fields_of(ServedTime, "id", "due_at", "missed", "experiment_id", "status", "verdict", "reason", "created_at")


ScheduleRuns = listing("runs", ScheduleRunSchema, name="ScheduleRuns", paged=True)
