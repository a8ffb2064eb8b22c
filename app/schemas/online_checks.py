"""Online checks: schemas of requests and answers."""

from __future__ import annotations

from typing import ClassVar, get_args

from marshmallow import fields, validate

from app.models import online_checks
from app.models.online_checks import Kind
from app.otlp.evaluations import EVALUATION_NAME_MAX
from app.schemas.answer import AnswerSchema, choice, fields_of
from app.schemas.base import JsonNumber, StrictBoolean, StrictSchema, Text
from app.services.scores.online_checks import NewCheck
from app.sessions.facts import MAX_NAME

VALUE_MAX = 10_000
COST_MAX = 1_000_000


class _OnlineCheckFields(StrictSchema):
    name = Text(required=True, minimum=1, maximum=EVALUATION_NAME_MAX, trim=True)
    kind = fields.String(required=True, validate=validate.OneOf(get_args(Kind)))
    value = Text(required=True, minimum=1, maximum=VALUE_MAX)
    share = JsonNumber(validate=validate.Range(0, 1))
    judge_model_name = Text(attribute="judge_model", allow_none=True, minimum=1, maximum=MAX_NAME)
    version = Text(allow_none=True, minimum=1, maximum=MAX_NAME)
    model = Text(allow_none=True, minimum=1, maximum=MAX_NAME)
    max_cost_per_day = JsonNumber(validate=validate.Range(0, COST_MAX))
    enabled = StrictBoolean()


class OnlineCheckSchema(_OnlineCheckFields):
    """A check of the last answer in recorded turns: for a text, by a pattern, or by a judge model with an assertion.

    `judgeModelName` is the judge model; `maxCostPerDay` limits its cost in US dollars per day in UTC. `share` of the
    turns are checked. With `version` or `model` only turns of this version or model are.
    """

    command: ClassVar = NewCheck


class OnlineCheckChangeSchema(_OnlineCheckFields):
    """Omitted fields keep their values. A check that is not `enabled` is paused."""

    def __init__(self) -> None:
        super().__init__(partial=True)


class OnlineCheckAnswerSchema(AnswerSchema):
    """`scored` is the number of turns with a score of the check. Judges cost `spentUsd` on the day `spentOn`, or "".

    `problem` explains why the last turn that a judge looked at has no score.
    """

    row = fields_of(online_checks.OnlineCheck, "id", "prompt_id", "name")
    kind = choice(*get_args(Kind))
    rule = fields_of(online_checks.OnlineCheck, "value", "judge_model_id", "share", "version", "model", "enabled")
    cost = fields_of(online_checks.OnlineCheck, "max_cost_per_day", "spent_on", "spent_usd")
    found = fields_of(online_checks.OnlineCheck, "scored", "problem", "created_at")
