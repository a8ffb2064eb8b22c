"""Experiments: schemas of requests and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, get_args

from marshmallow import ValidationError, fields, post_load, validate, validates_schema

from app.audit.figures import MIN_CAUGHT
from app.experiments.ranking import MOST_CANDIDATES
from app.experiments.statistics import DETECT, MOST_REPEATS
from app.experiments.types import MIN_SIGHTED, Verdict
from app.models.experiments import ExperimentRow, Status
from app.models.suites import SUITE_NAME_MAX
from app.schemas.answer import (
    AnswerSchema,
    answer_of,
    boolean,
    choice,
    integer,
    listing,
    many,
    mapping,
    number,
    one,
    text,
    time,
)
from app.schemas.base import BoundedList, Identifier, JsonNumber, PageQuerySchema, StrictBoolean, StrictSchema, Text
from app.schemas.candidates import AnyCandidateField, CandidateAnswer, CandidateField, CommittedSchema, ProgramSchema
from app.schemas.replays import ReplayProgress, StartSchema
from app.schemas.runs import Cost, Tokens
from app.services.experiments.findings import (
    CandidateSummary,
    CaseFindings,
    FoundViolation,
    ModelFindings,
    Summary,
    SummaryAudit,
    present,
)
from app.services.experiments.request import Baseline, NamedCandidate, NewExperiment
from app.services.experiments.service import ExperimentView
from app.services.replays.candidates import DRAFT, Candidate
from app.services.replays.frozen import TEST_CASES_PER_START
from app.values.page_urls import page_url

MODELS_MAX = 10
CANDIDATE_NAME_MAX = 64  # characters
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
    """`"latest"` for the newest version, `{commitHash}` for another version, null for no baseline.

    For a program `"latest"` is the newest revision that passed, and `{external}` another one with earlier results.
    """

    alternatives: ClassVar = ({"type": "string", "const": "latest"}, {"type": "null"}, CommittedSchema, ProgramSchema)
    _committed, _program = CommittedSchema(), ProgramSchema()

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Baseline:
        if value == "latest":
            return "latest"
        if not isinstance(value, Mapping):
            raise ValidationError('Must be "latest", null or a JSON object.')
        loaded: Baseline = (self._program if "external" in value else self._committed).load(value)
        return loaded


class _Name(StrictSchema):
    name = Text(minimum=1, maximum=CANDIDATE_NAME_MAX, required=True, trim=True)


class NamedCandidateField(fields.Field[NamedCandidate]):
    """`{name, …}`: a name, with a candidate's fields. With only a name it is the draft."""

    documented: ClassVar = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string", "minLength": 1, "maxLength": CANDIDATE_NAME_MAX}},
    }
    _name: ClassVar = _Name()
    _candidate: ClassVar = CandidateField()

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> NamedCandidate:
        if not isinstance(value, Mapping):
            raise ValidationError("Must be a JSON object.")
        content = dict(value)
        named = {"name": content.pop("name")} if "name" in content else {}
        candidate = self._candidate.deserialize(content) if content else DRAFT
        return NamedCandidate(self._name.load(named)["name"], candidate)


class StartExperimentSchema(StartSchema):
    """A new experiment. `NewExperiment` has the defaults. `suite` is the name of a suite of test cases."""

    candidate = AnyCandidateField(load_default=DRAFT, metadata={"default": "draft"})
    candidates = BoundedList(NamedCandidateField(), minimum=1, maximum=MOST_CANDIDATES, load_default=None, into=tuple)
    baseline = BaselineField(allow_none=True, load_default="latest")
    test_case_ids = BoundedList(Identifier(), minimum=1, maximum=TEST_CASES_PER_START, load_default=None)
    suite = Text(minimum=1, maximum=SUITE_NAME_MAX, trim=True, load_default=None, allow_none=True)
    detect = JsonNumber(validate=_between(0, 1), load_default=DETECT)
    repeats = fields.Nested(RepeatsSchema, load_default=None, allow_none=True)
    alpha = JsonNumber(validate=_between(0, 1), load_default=0.05)
    min_pass_rate = JsonNumber(validate=_between(0, 1, inclusive=True), load_default=None, allow_none=True)
    max_cost = JsonNumber(validate=_between(0, AMOUNT_MAX), load_default=None, allow_none=True)
    max_slowdown = JsonNumber(validate=_between(0, AMOUNT_MAX), load_default=None, allow_none=True)
    min_judge_caught = JsonNumber(validate=validate.Range(0, 1), load_default=MIN_CAUGHT)
    min_sighted = JsonNumber(validate=_between(0, 1, inclusive=True), load_default=MIN_SIGHTED)
    reuse = StrictBoolean(load_default=True)
    language_model_names = BoundedList(Text(minimum=1, maximum=128), maximum=MODELS_MAX, into=tuple, load_default=())

    @validates_schema(pass_original=True)
    def _check_combinations(self, data: dict[str, Any], original: Any, **_kwargs: Any) -> None:
        if data.get("suite") is not None and data.get("test_case_ids") is not None:
            raise ValidationError("Send suite or testCaseIds, not both.", "suite")
        names = [candidate.name for candidate in data.get("candidates") or ()]
        if len(set(names)) < len(names):
            raise ValidationError("Must have different names.", "candidates")
        if names and "candidate" in original:
            raise ValidationError("Send candidate or candidates, not both.", "candidates")
        if names and data.get("language_model_names"):
            raise ValidationError("Can't be combined with languageModelNames.", "candidates")
        _check_program(data)

    @post_load
    def make_command(self, data: dict[str, Any], **_kwargs: Any) -> NewExperiment:
        repeats, data["candidates"] = data.pop("repeats") or {}, data["candidates"] or ()
        return NewExperiment(repeats_min=repeats.get("min"), repeats_max=repeats.get("max"), **data)


def _check_program(data: Mapping[str, Any]) -> None:
    """Raise `ValidationError` if only one of candidate and baseline is a program, or models are named for one."""
    is_program, baseline = data["candidate"].external is not None, data.get("baseline")
    if isinstance(baseline, Candidate) and (baseline.external is not None) != is_program:
        raise ValidationError(
            "Must be a program, as the candidate is one." if is_program else "Must not be a program.", "baseline"
        )
    if is_program and data.get("language_model_names"):
        raise ValidationError("Must be empty: a program names its models itself.", "languageModelNames")


class ExperimentsQuerySchema(PageQuerySchema):
    verdict = fields.String(validate=validate.OneOf(get_args(Verdict)))


class AcceptedExperiment(AnswerSchema):
    id = integer()
    status = choice(*get_args(Status))
    prompt_id = integer()


class RepeatsAnswer(AnswerSchema):
    min = integer()
    max = integer()


class BoundsAnswer(AnswerSchema):
    min = number()
    max = number()


class ExperimentForecast(AnswerSchema):
    """What an experiment would play: the least if all test cases are decided early, and the most.

    `calls` of models are about as many as the steps of the recordings, without the judge's. `cost` is in USD, as the
    last replays of the test cases cost; null if none was replayed. `reused` replays are neither in `calls` nor `cost`.
    `comparesNothing` is true if the candidate has the content of the baseline, so that no difference can be found.
    """

    detect = number()
    test_cases = integer()
    repeats = one(RepeatsAnswer)
    replays = one(RepeatsAnswer)
    reused = integer()
    calls = one(RepeatsAnswer)
    cost = one(BoundsAnswer, allow_none=True)
    compares_nothing = boolean()


class Shown(NamedTuple):
    """An experiment with the address of its page; the address is a path if the instance has no public base URL."""

    row: ExperimentRow
    url: str
    findings: Mapping[str, Any]
    summary: Mapping[str, Any]

    @classmethod
    def at(cls, base: str, experiment: ExperimentView | ExperimentRow) -> Shown:
        view = experiment if isinstance(experiment, ExperimentView) else ExperimentView(experiment, {})
        url = page_url(base, view.row.project_id, "experiments", view.row.id)
        return cls(view.row, url, view.findings, present(view.row.summary, Summary))


def _candidate(shown: Shown) -> dict[str, Any]:
    """Return the candidate, of several the one that is ranked first."""
    if shown.summary["candidates"]:
        first = shown.summary["candidates"][0]
        return {name: first[name] for name in ("kind", "commitHash", "fingerprint")} | {"external": None}
    row = shown.row
    return {
        "kind": row.candidate_kind,
        "commitHash": row.candidate_commit,
        "fingerprint": row.candidate_fingerprint,
        "external": row.candidate_external,
    }


def _candidates(shown: Shown) -> list[dict[str, Any]]:
    """Return the candidates with their test cases, which lists leave out."""
    tested = {candidate["name"]: candidate["testCases"] for candidate in shown.findings.get("candidates", ())}
    return [{**candidate, "testCases": tested.get(candidate["name"], [])} for candidate in shown.summary["candidates"]]


def _baseline(row: ExperimentRow) -> dict[str, Any] | None:
    if row.baseline_snapshot_id is None:
        return None
    return {
        "kind": "external" if row.baseline_external else "version",
        "commitHash": row.baseline_commit,
        "fingerprint": row.baseline_fingerprint,
        "external": row.baseline_external,
    }


def _design(name: str) -> Any:
    return lambda shown: shown.row.design[name]


def _summary(name: str) -> Any:
    return lambda shown: shown.summary[name]


class ExperimentSummary(AnswerSchema):
    """An experiment in a list. `detect` is a share of failures, `maxCost` is in USD, `maxSlowdown` is a ratio.

    `blind` test cases cannot show a drop. `sighted` is the number of all others and of the blind ones that got better,
    null in experiments of earlier releases; `minSighted` is the share of them that a passed experiment has at least.
    `candidates` are several named ones, in the order of their ranks; of these, the other fields belong to the first.
    `judgeAudit` is the audit of the judge, with the sentence about it. `minJudgeCaught` is the share of planted errors
    that must not pass; both are null in experiments of earlier releases.
    """

    id = integer(attribute="row.id")
    prompt_id = integer(attribute="row.prompt_id")
    status = choice(*get_args(Status), attribute="row.status")
    verdict = choice(*get_args(Verdict), attribute="row.verdict", allow_none=True)
    reason = text(attribute="row.reason", allow_none=True)
    progress = one(ReplayProgress, attribute="row")
    candidate = one(CandidateAnswer, get=_candidate)
    candidates = many(answer_of(CandidateSummary), get=_summary("candidates"))
    baseline = one(CandidateAnswer, allow_none=True, get=lambda shown: _baseline(shown.row))
    repeats = one(RepeatsAnswer, get=_design("repeats"))
    detect = number(get=_design("detect"))
    alpha = number(get=_design("alpha"))
    min_pass_rate = number(allow_none=True, get=_design("minPassRate"))
    max_cost = number(allow_none=True, get=_design("maxCost"))
    max_slowdown = number(allow_none=True, get=_design("maxSlowdown"))
    min_judge_caught = number(allow_none=True, get=lambda shown: shown.row.design.get("minJudgeCaught"))
    min_sighted = number(get=lambda shown: shown.row.design.get("minSighted", 0.0))
    classes = mapping(integer(), get=_summary("classes"))
    blind = integer(get=_summary("blind"))
    sighted = integer(allow_none=True, get=_summary("sighted"))
    reused = integer(get=_summary("reused"))
    judge_audit = one(answer_of(SummaryAudit), allow_none=True, get=_summary("judgeAudit"))
    violations = many(answer_of(FoundViolation), get=_summary("violations"))
    detectable = number(allow_none=True, get=_summary("detectable"))
    p_value = number(allow_none=True, get=_summary("pValue"))
    tokens = one(Tokens, get=_summary("tokens"))
    cost = one(Cost, get=_summary("cost"))
    created_at = time(attribute="row.created_at")
    started_at = time(attribute="row.started_at", allow_none=True)
    finished_at = time(attribute="row.finished_at", allow_none=True)
    url = text()


class ComparedCandidate(answer_of(CandidateSummary)):  # type: ignore[misc] # a class that is made of a struct
    test_cases = many(answer_of(CaseFindings))


class Experiment(ExperimentSummary):
    """A whole experiment. `models` are the additional models that were compared."""

    candidates = many(ComparedCandidate, get=_candidates)
    test_cases = many(answer_of(CaseFindings), get=lambda shown: shown.findings.get("testCases", []))
    models = many(answer_of(ModelFindings), get=lambda shown: shown.findings.get("models", []))


Experiments = listing("experiments", ExperimentSummary, paged=True)
