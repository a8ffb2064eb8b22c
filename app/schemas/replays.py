"""Replays: schemas of requests and answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import msgspec
from marshmallow import ValidationError, fields, validate, validates_schema

from app import chat
from app.models.program_replays import ToolsMode
from app.models.replays import STATUSES, ReplayRow
from app.replay import case_types, result_types
from app.replay.case_types import Judging
from app.replay.fault_types import FAULTS_MAX, VARIANT_NAME_MAX, Fault
from app.replay.result_types import StepResult, StopReason
from app.schemas.answer import (
    AnswerSchema,
    answer_of,
    boolean,
    choice,
    integer,
    itself,
    many,
    mapping,
    number,
    one,
    text,
    time,
)
from app.schemas.base import BoundedList, Identifier, PageQuerySchema, StrictBoolean, StrictSchema, Text
from app.schemas.candidates import AnyCandidateField, CandidateAnswer, CandidateField
from app.schemas.faults import NewFaultSchema
from app.schemas.replay_steps import Drift, ReplayTurn, StepCounts, StepVerdictSchema, step_answer, turn_answer
from app.schemas.runs import Cost, Tokens
from app.services.replays.acceptance import ACCEPTED_STEPS_MAX
from app.services.replays.candidates import DRAFT
from app.services.replays.frozen import TEST_CASES_PER_START
from app.services.replays.views import ReplayView

NO_COUNTS = dict.fromkeys(get_args(StepResult), 0)
COMPLETE: dict[str, Any] = {"complete": True, "missing": []}
NO_DRIFT: dict[str, Any] = {"placeholders": {}, "tools": []}
NO_TOKENS = msgspec.to_builtins(chat.Tokens())


class JudgeSchema(StrictSchema):
    """`judgeModelName` judges instead of the prompt's model.

    With `judge` "always" the request is refused if no model can judge; with "never" none is asked, so that texts in
    other words need review.
    """

    judge_model = Text(data_key="judgeModelName", minimum=1, maximum=128, load_default=None)
    judging = fields.String(
        data_key="judge", validate=validate.OneOf(get_args(Judging)), load_default="auto", metadata={"default": "auto"}
    )


class StartSchema(JudgeSchema):
    """`candidate` is replayed, by default the draft. `judgeModelName` judges instead of the candidate's model."""

    candidate = CandidateField(load_default=DRAFT, metadata={"default": "draft"})


class StartWithFaultsSchema(StartSchema):
    """The recording is played, or the named `variant` of the test case, or the recording with `faults`."""

    variant = Text(minimum=1, maximum=VARIANT_NAME_MAX, load_default=None)
    faults = BoundedList(fields.Nested(NewFaultSchema), maximum=FAULTS_MAX, load_default=())

    @validates_schema
    def _one_of_both(self, data: dict[str, Any], **_kwargs: Any) -> None:
        if data.get("variant") is not None and data.get("faults"):
            raise ValidationError("Send variant or faults, not both.", "faults")


class ProgramModeSchema(StrictSchema):
    """`tools` is who answers the calls of the program's tools; if it is `offline`, calls that are no chat are refused.

    The `endpoint` answers them, so that the program gets none, or the `program`, which asks the replay.
    """

    tools = fields.String(validate=validate.OneOf(get_args(ToolsMode)), load_default="endpoint")
    offline = StrictBoolean(load_default=False)


class StartOneSchema(StartWithFaultsSchema, ProgramModeSchema):
    """The recording is played, or the named `variant` of the test case, or the recording with `faults`.

    With a program as the candidate, `tools` is who answers the calls of its tools: the `endpoint`, so that the program
    gets none, or the `program`, which asks the replay. If it is `offline`, calls that are no chat are refused.
    """

    candidate = AnyCandidateField(load_default=DRAFT, metadata={"default": "draft"})


class StartAllSchema(StartSchema):
    """Each test case is played, and each of its variants."""

    test_case_ids = BoundedList(Identifier(), maximum=TEST_CASES_PER_START, load_default=None)


class VerdictSchema(StrictSchema):
    verdict = fields.String(required=True, validate=validate.OneOf(("passed", "failed")))


class AcceptBatchSchema(StrictSchema):
    """`steps` are keys of acceptable steps. If they are omitted, all acceptable steps are accepted."""

    keys = BoundedList(Text(minimum=1, maximum=64), data_key="steps", maximum=ACCEPTED_STEPS_MAX, load_default=None)


class ReplayQuerySchema(PageQuerySchema):
    test_case_id = Identifier()
    status = fields.String(validate=validate.OneOf(STATUSES))
    fingerprint = Text(data_key="draftFingerprint", maximum=64)
    commit_hash = Text(maximum=64)


class HistoryQuerySchema(StrictSchema):
    test_case_id = Identifier(load_default=None)


class ReplayProgress(AnswerSchema):
    done = integer()
    total = integer()


class AcceptableStepSchema(AnswerSchema):
    """A failed step with an outcome that its test case can expect. `turn` and `step` count from 0, steps by turn."""

    key = text()
    replay_id = integer()
    test_case_id = integer()
    test_case_name = text()
    turn = integer()
    step = integer()
    verdict = one(StepVerdictSchema, get=lambda step: step_answer(step.verdict))


class AcceptableSteps(AnswerSchema):
    steps = many(AcceptableStepSchema, get=itself)


class AcceptedSteps(AnswerSchema):
    accepted = integer(get=itself)


class AcceptedReplay(AnswerSchema):
    id = integer()
    status = choice(*STATUSES)
    test_case_id = integer(allow_none=True)


class EndpointsSchema(AnswerSchema):
    """The base URLs for the SDKs of vendors. They begin with a slash if the instance does not know its own address."""

    openai = text()
    anthropic = text()
    gemini = text()


class AcceptedProgramReplay(AcceptedReplay):
    """`endpoint` and `token` are there for a program: it calls models there, with the token as its key."""

    endpoint = one(EndpointsSchema, required=False, get=lambda row: None)
    token = text(required=False, get=lambda row: None)


class AcceptedReplays(AnswerSchema):
    replays = many(AcceptedReplay, get=itself)


class ReplaySummary(AnswerSchema):
    """A `ReplayView` in a list. `commitHash` is the newest version with the same content, if there is one.

    `url` is the address of its page, or its path if the instance has no public base URL. `faults` are the calls that
    failed on purpose, and `variant` is the variant of the test case that has them. `acceptedPartial` is true if it was
    played although it can't show all that the recorded model saw.
    """

    id = integer(attribute="row.id")
    url = text()
    status = choice(*STATUSES, attribute="row.status")
    prompt_id = integer(attribute="row.prompt_id")
    test_case_id = integer(attribute="row.test_case_id", allow_none=True)
    test_case_name = text(allow_none=True)
    variant = text(allow_none=True, get=lambda view: (view.row.faults or {}).get("variant"))
    faults = many(answer_of(Fault), get=lambda view: (view.row.faults or {}).get("faults", []))
    candidate = one(CandidateAnswer, get=lambda view: view.row)
    draft_fingerprint = text(attribute="row.fingerprint", allow_none=True)
    commit_hash = text(allow_none=True)
    progress = one(ReplayProgress, attribute="row")
    counts = one(StepCounts, get=lambda view: view.row.counts or NO_COUNTS)
    violations = many(answer_of(result_types.Violation), get=lambda view: view.row.violations or [])
    accepted_partial = boolean(attribute="row.accepted_partial")
    tokens = one(Tokens, get=lambda view: _tokens(view.row))
    cost = one(Cost, get=lambda view: _cost(view.row))
    error = text(attribute="row.error", allow_none=True)
    created_at = time(attribute="row.created_at")
    started_at = time(attribute="row.started_at", allow_none=True)
    finished_at = time(attribute="row.finished_at", allow_none=True)


class Replays(AnswerSchema):
    replays = many(ReplaySummary, attribute="entries")
    next_cursor = text(allow_none=True)


def _of_result(name: str, default: Any = None) -> Callable[[ReplayView], Any]:
    return lambda view: (view.result or {}).get(name, default)


class Replay(ReplaySummary):
    """A whole replay. `turns` are present once it has ended. `tokens` include `judgeTokens`.

    `void` is the reason for which it shows nothing of what the recorded model saw, null if it shows all of it.
    `fidelity` is what it can't show.
    """

    turns = many(ReplayTurn, get=lambda view: [turn_answer(turn) for turn in _of_result("turns", ())(view)])
    stop_reason = choice(*get_args(StopReason), allow_none=True, get=_of_result("stopReason"))
    drift = one(Drift, get=_of_result("drift", NO_DRIFT))
    tools = mapping(one(answer_of(result_types.ToolEffect)), get=_of_result("tools", {}))
    offered_from = choice("prompt", "recording", "calls", get=_of_result("offeredFrom", "prompt"))
    void = text(allow_none=True, get=_of_result("void"))
    fidelity = one(answer_of(case_types.Fidelity), get=_of_result("fidelity", COMPLETE))
    accepted_partial = boolean(get=_of_result("acceptedPartial", False))
    judge_tokens = one(Tokens, get=_of_result("judgeTokens", NO_TOKENS))


class JudgeAgreementSchema(AnswerSchema):
    judged = integer()
    agreed = integer()


class DraftHistorySchema(AnswerSchema):
    draft_fingerprint = text(attribute="fingerprint")
    commit_hash = text(allow_none=True)
    replays = integer()
    counts = mapping(integer())
    pass_rate = number(allow_none=True)
    first_at = time()
    last_at = time()


class ReplayHistorySchema(AnswerSchema):
    history = many(DraftHistorySchema, get=itself)


def _tokens(row: ReplayRow) -> dict[str, int]:
    tokens: dict[str, int] = msgspec.to_builtins(chat.Tokens(row.prompt_tokens, row.completion_tokens))
    return tokens


def _cost(row: ReplayRow) -> dict[str, float]:
    prompt, completion = row.prompt_cost_usd, row.completion_cost_usd
    return {"prompt": prompt, "completion": completion, "total": prompt + completion}
