"""Calibrations: schemas of requests and answers."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from marshmallow import fields, validate

from app import chat
from app.replay.calibration import Proposal, StepRate
from app.schemas.answer import AnswerSchema, answer_of, boolean, choice, integer, many, one, text, time
from app.schemas.base import BoundedList, StrictSchema
from app.schemas.replays import JudgeSchema
from app.schemas.runs import Cost, Tokens
from app.services.replays.calibrations import REPEATS, CalibrationView, Status

MOST_PROPOSALS = 1000


class CalibrateSchema(JudgeSchema):
    """`repeats` is the number of replays."""

    repeats = fields.Integer(strict=True, validate=validate.Range(*REPEATS), load_default=5)


class AcceptSchema(StrictSchema):
    """`proposals` are indexes from 0. If they are omitted, all proposals are accepted."""

    proposals = BoundedList(fields.Integer(strict=True), maximum=MOST_PROPOSALS, load_default=None)


class AcceptedCalibration(AnswerSchema):
    id = integer(attribute="row.id")
    status = choice(*get_args(Status))
    test_case_id = integer(attribute="row.test_case_id")


class CalibrationSchema(AcceptedCalibration):
    """A `CalibrationView`. Until it has finished, steps have no rate, and `usable` and `canFail` are false."""

    repeats = integer(attribute="row.repeats")
    steps = many(answer_of(StepRate), attribute="outcome.steps")
    proposals = many(answer_of(Proposal), attribute="outcome.proposals")
    usable = boolean(attribute="outcome.usable")
    can_fail = boolean(attribute="outcome.can_fail")
    problems = many(fields.String(), attribute="outcome.problems")
    replay_ids = many(fields.Integer(), get=lambda view: [replay.id for replay in view.replays])
    tokens = one(Tokens, get=lambda view: _tokens(view))
    cost = one(Cost, get=lambda view: _cost(view))
    error = text(allow_none=True)
    created_at = time(attribute="row.created_at")


def _tokens(view: CalibrationView) -> dict[str, Any]:
    sums = (sum(getattr(replay, name) for replay in view.replays) for name in ("prompt_tokens", "completion_tokens"))
    tokens: dict[str, Any] = msgspec.to_builtins(chat.Tokens(*sums))
    return tokens


def _cost(view: CalibrationView) -> dict[str, float]:
    prompt = sum(replay.prompt_cost_usd for replay in view.replays)
    completion = sum(replay.completion_cost_usd for replay in view.replays)
    return {"prompt": prompt, "completion": completion, "total": prompt + completion}
