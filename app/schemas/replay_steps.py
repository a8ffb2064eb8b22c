"""The turns and steps of replays, as answers show them."""

from __future__ import annotations

from typing import Any, get_args

from app.replay import result_types
from app.replay.judge_types import JudgeFinding
from app.replay.result_types import StepKind, StepResult, StopReason
from app.replay.texts.facts import Facts
from app.schemas.answer import AnswerSchema, answer_of, anything, boolean, choice, integer, many, one, text

StepCounts = AnswerSchema.from_dict(
    {result: integer(data_key=result) for result in get_args(StepResult)}, name="StepCounts"
)
Drift = answer_of(result_types.Drift)
NO_STEP_DETAILS: dict[str, Any] = {"facts": None, "decidedBy": None, "required": True}
NO_EVIDENCE: dict[str, Any] = {"kept": [], "lost": [], "invented": [], "form": []}


class ProducedStepSchema(AnswerSchema):
    """The JSON of `app.replay.result_types.ProducedStep`. An answer has `text`, a call has the other fields."""

    kind = choice(*get_args(StepKind))
    text_ = text(required=False)
    name = text(required=False)
    arguments = anything(required=False)
    result = anything(required=False)
    effect = choice("read", "write", required=False)
    answered_by = choice(*get_args(result_types.AnsweredBy), required=False)


class TextEvidenceSchema(AnswerSchema):
    """What rules found in two texts, for the judge or person who decides.

    `kept`, `lost` and `invented` are values. `form` has sentences about arguments that differ only in their form.
    """

    kept = many(text())
    lost = many(text())
    invented = many(text())
    form = many(text())


class StepVerdictSchema(AnswerSchema):
    """The JSON of `app.replay.result_types.StepVerdict`. `judged` is a judge's verdict that a person replaced.

    `findings` are what a judge found different, with quotes of both texts. `facts` are the values of `evidence`. A step
    that is not `required` may be left out.
    """

    kind = choice(*get_args(StepKind))
    result = choice(*get_args(StepResult))
    expected = anything(allow_none=True)
    actual = anything(allow_none=True)
    reason = text(required=False)
    diff = many(answer_of(result_types.Difference), required=False)
    facts = one(answer_of(Facts), allow_none=True)
    evidence = one(TextEvidenceSchema, allow_none=True)
    required = boolean()
    decided_by = choice(*get_args(result_types.DecidedBy), allow_none=True)
    judged = choice("passed", "failed", required=False)
    findings = many(answer_of(JudgeFinding), required=False)


class ReplayTurn(AnswerSchema):
    """The JSON of `app.replay.result_types.TurnResult`. Its tokens and violations are left out: the replay has them."""

    user = text(allow_none=True)
    steps = many(StepVerdictSchema)
    extra = many(ProducedStepSchema)
    stop_reason = choice(*get_args(StopReason), allow_none=True)
    drift = one(Drift)
    error = text(allow_none=True)


def turn_answer(turn: dict[str, Any]) -> dict[str, Any]:
    """Return a turn for the answer. Steps that earlier releases stored lack some details."""
    shown = {str(field.data_key): turn[str(field.data_key)] for field in ReplayTurn._declared_fields.values()}
    return shown | {"steps": [step_answer(step) for step in turn["steps"]]}


def step_answer(step: dict[str, Any]) -> dict[str, Any]:
    """Return a step for the answer, with `evidence` of what is stored apart as `facts` and `form`.

    Its `digest`, by which a person's verdict is remembered, is left out.
    """
    form, facts = step.get("form", []), step.get("facts")
    evidence = NO_EVIDENCE | (facts or {}) | {"form": form} if form or facts else None
    return (
        NO_STEP_DETAILS
        | {key: value for key, value in step.items() if key not in ("form", "digest")}
        | {"evidence": evidence}
    )
