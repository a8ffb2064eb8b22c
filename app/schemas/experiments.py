"""Experiments: schemas of requests and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, get_args

from marshmallow import ValidationError, fields, post_load, validate

from app.experiments.statistics import DETECT, MOST_REPEATS
from app.experiments.types import MIN_SIGHTED, Verdict
from app.models.experiments import ExperimentRow, Status
from app.schemas.answer import AnswerSchema, answer_of, choice, integer, listing, many, mapping, number, one, text, time
from app.schemas.base import BoundedList, Identifier, JsonNumber, PageQuerySchema, StrictBoolean, StrictSchema, Text
from app.schemas.candidates import CandidateAnswer, CommittedSchema
from app.schemas.replays import ReplayProgress, StartSchema
from app.schemas.runs import Cost, Tokens
from app.services.experiments.findings import CaseFindings, FoundViolation, ModelFindings, Summary, present
from app.services.experiments.service import Baseline, ExperimentView, NewExperiment
from app.services.replays.frozen import AT_ONCE

MODELS_MAX = 10
# Far more than any experiment costs; it excludes infinity.
AMOUNT_MAX = 1_000_000


def _between(low: float, high: float, *, inclusive: bool = False) -> validate.Range:
    return validate.Range(low, high, min_inclusive=inclusive, max_inclusive=inclusive)


def _repeats() -> fields.Integer:
    return fields.Integer(strict=True, validate=validate.Range(1, MOST_REPEATS), load_default=None)


class RepeatsSchema(StrictSchema):
    """The fewest and the most replays of a test case with one side."""

    min = _repeats()
    max = _repeats()


class BaselineField(fields.Field[Baseline]):
    """`"latest"` for the newest version, `{commitHash}` for another version, null for no baseline."""

    alternatives: ClassVar = ({"type": "string", "const": "latest"}, {"type": "null"}, CommittedSchema)
    _committed = CommittedSchema()

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Baseline:
        if value == "latest":
            return "latest"
        if not isinstance(value, Mapping):
            raise ValidationError('Must be "latest", null or a JSON object.')
        loaded: Baseline = self._committed.load(value)
        return loaded


class StartExperimentSchema(StartSchema):
    """A new experiment. `NewExperiment` has the defaults."""

    baseline = BaselineField(allow_none=True, load_default="latest")
    test_case_ids = BoundedList(Identifier(), minimum=1, maximum=AT_ONCE, load_default=None)
    detect = JsonNumber(validate=_between(0, 1), load_default=DETECT)
    repeats = fields.Nested(RepeatsSchema, load_default=None, allow_none=True)
    alpha = JsonNumber(validate=_between(0, 1), load_default=0.05)
    min_pass_rate = JsonNumber(validate=_between(0, 1, inclusive=True), load_default=None, allow_none=True)
    max_cost = JsonNumber(validate=_between(0, AMOUNT_MAX), load_default=None, allow_none=True)
    max_slowdown = JsonNumber(validate=_between(0, AMOUNT_MAX), load_default=None, allow_none=True)
    min_sighted = JsonNumber(validate=_between(0, 1, inclusive=True), load_default=MIN_SIGHTED)
    reuse = StrictBoolean(load_default=True)
    language_model_names = BoundedList(Text(minimum=1, maximum=128), maximum=MODELS_MAX, into=tuple, load_default=())

    @post_load
    def make_command(self, data: dict[str, Any], **_kwargs: Any) -> NewExperiment:
        repeats = data.pop("repeats") or {}
        return NewExperiment(repeats_min=repeats.get("min"), repeats_max=repeats.get("max"), **data)


class ExperimentsQuerySchema(PageQuerySchema):
    verdict = fields.String(validate=validate.OneOf(get_args(Verdict)))


class AcceptedExperiment(AnswerSchema):
    id = integer()
    status = choice(*get_args(Status))
    prompt_id = integer()


class RepeatsAnswer(AnswerSchema):
    min = integer()
    max = integer()


class Shown(NamedTuple):
    """An experiment with the address of its page; the address is a path if the instance has no public base URL."""

    row: ExperimentRow
    url: str
    findings: Mapping[str, Any]
    summary: Mapping[str, Any]

    @classmethod
    def at(cls, base: str, experiment: ExperimentView | ExperimentRow) -> Shown:
        view = experiment if isinstance(experiment, ExperimentView) else ExperimentView(experiment, {})
        path = f"/projects/{view.row.project_id}/experiments/{view.row.id}"
        return cls(view.row, base.rstrip("/") + path, view.findings, present(view.row.summary, Summary))


def _candidate(row: ExperimentRow) -> dict[str, Any]:
    return {
        "kind": row.candidate_kind,
        "commitHash": row.candidate_commit,
        "fingerprint": row.candidate_fingerprint,
    }


def _baseline(row: ExperimentRow) -> dict[str, Any] | None:
    if row.baseline_snapshot_id is None:
        return None
    return {"kind": "version", "commitHash": row.baseline_commit, "fingerprint": row.baseline_fingerprint}


def _design(name: str) -> Any:
    return lambda shown: shown.row.design[name]


def _summary(name: str) -> Any:
    return lambda shown: shown.summary[name]


class ExperimentSummary(AnswerSchema):
    """An experiment in a list. `detect` is a share of failures, `maxCost` is in USD, `maxSlowdown` is a ratio.

    `blind` test cases cannot show a drop. `sighted` is the number of all others and of the blind ones that got better,
    null in experiments of earlier releases; `minSighted` is the share of them that a passed experiment has at least.
    """

    id = integer(attribute="row.id")
    prompt_id = integer(attribute="row.prompt_id")
    status = choice(*get_args(Status), attribute="row.status")
    verdict = choice(*get_args(Verdict), attribute="row.verdict", allow_none=True)
    reason = text(attribute="row.reason", allow_none=True)
    progress = one(ReplayProgress, attribute="row")
    candidate = one(CandidateAnswer, get=lambda shown: _candidate(shown.row))
    baseline = one(CandidateAnswer, allow_none=True, get=lambda shown: _baseline(shown.row))
    repeats = one(RepeatsAnswer, get=_design("repeats"))
    detect = number(get=_design("detect"))
    alpha = number(get=_design("alpha"))
    min_pass_rate = number(allow_none=True, get=_design("minPassRate"))
    max_cost = number(allow_none=True, get=_design("maxCost"))
    max_slowdown = number(allow_none=True, get=_design("maxSlowdown"))
    min_sighted = number(get=lambda shown: shown.row.design.get("minSighted", 0.0))
    classes = mapping(integer(), get=_summary("classes"))
    blind = integer(get=_summary("blind"))
    sighted = integer(allow_none=True, get=_summary("sighted"))
    reused = integer(get=_summary("reused"))
    violations = many(answer_of(FoundViolation), get=_summary("violations"))
    detectable = number(allow_none=True, get=_summary("detectable"))
    p_value = number(allow_none=True, get=_summary("pValue"))
    tokens = one(Tokens, get=_summary("tokens"))
    cost = one(Cost, get=_summary("cost"))
    created_at = time(attribute="row.created_at")
    started_at = time(attribute="row.started_at", allow_none=True)
    finished_at = time(attribute="row.finished_at", allow_none=True)
    url = text()


class Experiment(ExperimentSummary):
    """A whole experiment. `models` are the additional models that were compared."""

    test_cases = many(answer_of(CaseFindings), get=lambda shown: shown.findings.get("testCases", []))
    models = many(answer_of(ModelFindings), get=lambda shown: shown.findings.get("models", []))


Experiments = listing("experiments", ExperimentSummary, paged=True)
