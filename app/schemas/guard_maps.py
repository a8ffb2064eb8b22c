"""Guard maps: schemas of requests and answers."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, get_args

from marshmallow import ValidationError, fields, validate, validates_schema

from app.guard.decision import State
from app.guard.mutants import Operator
from app.models.experiments import ExperimentRow, Status
from app.models.suites import SUITE_NAME_MAX
from app.schemas.answer import AnswerSchema, boolean, choice, fields_of, integer, listing, many, number, one, text, time
from app.schemas.base import BoundedList, Identifier, JsonNumber, StrictBoolean, StrictSchema, Text
from app.schemas.candidates import CandidateAnswer
from app.schemas.experiments import AMOUNT_MAX, BoundsAnswer, RepeatsAnswer
from app.schemas.replays import ReplayProgress, StartSchema
from app.schemas.suites import LeftOutSchema
from app.services.experiments.guard_maps import CASES_MAX, TEXT_MAX, MapForecast, MappedSentence, MapView, NewMap
from app.services.experiments.guard_plan import DETECT, REPLAYS_DEFAULT
from app.services.experiments.replayed_experiment import REPLAYS_MAX
from app.services.suites.accepting import PICKS_MAX
from app.values.page_urls import page_url


class StartMapSchema(StartSchema):
    """A new guard map. `suite` is the name of a suite of test cases; by default all of the prompt are played.

    `firstLine` and `lastLine`, counted from 1, choose a part of the text. `detect` is the share of failures that a test
    has to show, above those of the text. With `modelMutants` the model that judges, else the prompt's own, is asked
    first for up to two more mutants of each sentence.
    """

    test_case_ids = BoundedList(Identifier(), minimum=1, maximum=CASES_MAX, load_default=None)
    suite = Text(minimum=1, maximum=SUITE_NAME_MAX, trim=True, load_default=None, allow_none=True)
    first_line = fields.Integer(strict=True, validate=validate.Range(1, TEXT_MAX), load_default=1)
    last_line = fields.Integer(strict=True, validate=validate.Range(1, TEXT_MAX), load_default=None, allow_none=True)
    detect = JsonNumber(validate=validate.Range(0, 1, min_inclusive=False, max_inclusive=False), load_default=DETECT)
    max_replays = fields.Integer(strict=True, validate=validate.Range(1, REPLAYS_MAX), load_default=REPLAYS_DEFAULT)
    max_cost = JsonNumber(
        validate=validate.Range(0, AMOUNT_MAX, min_inclusive=False, max_inclusive=False),
        load_default=None,
        allow_none=True,
    )
    reuse = StrictBoolean(load_default=True)
    model_mutants = StrictBoolean(load_default=False)

    command: ClassVar = NewMap

    @validates_schema
    def _one_of_both(self, data: dict[str, Any], **_kwargs: Any) -> None:
        if data.get("suite") is not None and data.get("test_case_ids") is not None:
            raise ValidationError("Send suite or testCaseIds, not both.", "suite")
        if data.get("last_line") is not None and data["last_line"] < data.get("first_line", 1):
            raise ValidationError("Must not be before firstLine.", "lastLine")


class AcceptedMap(AnswerSchema):
    id = integer()
    status = choice(*get_args(Status))
    prompt_id = integer()


class MapForecastSchema(AnswerSchema):
    """What a guard map would play: the least if the first mutant of each sentence fails at once, and the most.

    `cost` is in USD, as the last replays of the test cases cost; null if none was replayed. With `modelMutants`,
    `mutants` and the most have two more of each sentence, and `cost` is without the questions to the model.
    """

    row = fields_of(MapForecast, "sentences", "mutants", "test_cases")
    replays = one(RepeatsAnswer, get=lambda forecast: dict(zip(("min", "max"), forecast.replays, strict=True)))
    cost = one(
        BoundsAnswer,
        get=lambda forecast: forecast.cost and dict(zip(("min", "max"), forecast.cost, strict=True)),
        allow_none=True,
    )


class FailedMutantSchema(AnswerSchema):
    """The part of the text that was `replaced`, and the text `by` which it was."""

    operator = choice(*get_args(Operator))
    replaced = text()
    by = text()


class MappedCaseSchema(AnswerSchema):
    test_case_id = integer()
    name = text()


class MappedSentenceSchema(AnswerSchema):
    """A sentence; `begin` and `end` are its place in the text, in characters, and `line` counts from 1.

    `state` is null until it is decided. For a guarded sentence, `testCases` failed its `mutant`; the list is empty if
    only all of them together show it. For other sentences, an answer of `testCases` changed without the sentence.
    """

    place = fields_of(MappedSentence, "number", "line", "begin", "end")
    state = choice(*get_args(State), allow_none=True)
    mutant = one(FailedMutantSchema, allow_none=True)
    test_cases = many(MappedCaseSchema)
    sentence = text(attribute="text")
    p_value = number(allow_none=True)


class SentenceCounts(AnswerSchema):
    """The decided sentences by state."""

    guarded = integer()
    unguarded = integer()
    inert = integer()
    undecided = integer()


class ShownMap(NamedTuple):
    """A guard map with the address of its page; the address is a path if the instance has no public base URL."""

    view: MapView
    url: str

    @classmethod
    def at(cls, base: str, view: MapView) -> ShownMap:
        return cls(view, page_url(base, view.row.project_id, "guard-maps", view.row.id))


def _candidate(shown: ShownMap) -> dict[str, Any]:
    row = shown.view.row
    return {
        "kind": row.candidate_kind,
        "commitHash": row.candidate_commit,
        "fingerprint": row.candidate_fingerprint,
        "external": None,
    }


def _counts(shown: ShownMap) -> dict[str, int]:
    return {state: shown.view.counts.get(state, 0) for state in get_args(State)}


class GuardMapSchema(AnswerSchema):
    """A guard map: for each sentence of the text, whether a test fails when it changes.

    `value` is the prompt's text, with `sentences` in its order. `suite` is the name of the suite that it plays, if any.
    `maxCost` is in USD. `reason` is the error, or why some sentences are undecided. `modelError` is why the model that
    was asked for mutants proposed no more of them.
    """

    row = fields_of(ExperimentRow, "id", "prompt_id", "status", "reason", "created_at", path="view.row")
    started_at = time(attribute="view.row.started_at", allow_none=True)
    finished_at = time(attribute="view.row.finished_at", allow_none=True)
    url = text()
    candidate = one(CandidateAnswer, get=_candidate)
    suite = text(get=lambda shown: shown.view.row.design.get("suite"), allow_none=True)
    detect = number(get=lambda shown: shown.view.row.design["detect"])
    max_replays = integer(get=lambda shown: shown.view.row.design["maxReplays"])
    max_cost = number(get=lambda shown: shown.view.row.design["maxCost"], allow_none=True)
    model_mutants = boolean(get=lambda shown: shown.view.question is not None)
    model_error = text(get=lambda shown: shown.view.question and shown.view.question.error, allow_none=True)
    progress = one(ReplayProgress, attribute="view.row")
    cost_usd = number(attribute="view.cost_usd")
    counts = one(
        SentenceCounts, get=lambda shown: {state: shown.view.counts.get(state, 0) for state in get_args(State)}
    )
    value = text(attribute="view.text")
    sentences = many(MappedSentenceSchema, attribute="view.sentences")


class ListedMap(AnswerSchema):
    """A guard map in a list."""

    row = fields_of(ExperimentRow, "id", "prompt_id", "status", "reason", "created_at")
    commit_hash = text(attribute="candidate_commit", allow_none=True)
    progress = one(ReplayProgress, get=lambda row: row)
    finished_at = time(allow_none=True)


GuardMaps = listing("guardMaps", ListedMap, name="GuardMaps", paged=True)


class OfferedSessionSchema(AnswerSchema):
    """A session with the words that it shares with the sentence, the rarest first. `preview` are its first words."""

    session_id = text()
    words = many(fields.String())
    preview = text(allow_none=True)


class SentenceOfferSchema(AnswerSchema):
    """A sentence that no test guards, and the sessions that a test of it can be made of."""

    number = integer(attribute="sentence.number")
    sentence = text(attribute="sentence.text")
    sessions = many(OfferedSessionSchema)


SentenceOffers = listing("sentences", SentenceOfferSchema, name="SentenceOffers")


class GuardCasesSchema(StrictSchema):
    """`sentence` is its `number` in the map. Without `sessionIds`, the offered sessions become test cases."""

    sentence = fields.Integer(strict=True, validate=validate.Range(0, TEXT_MAX), required=True)
    session_ids = BoundedList(
        Text(minimum=1, maximum=64), minimum=1, maximum=PICKS_MAX, load_default=None, allow_none=True
    )


class AcceptedCasesSchema(AnswerSchema):
    """The test cases, which joined the suite of the map, and the sessions of which none was made."""

    test_case_ids = many(fields.Integer(), get=lambda accepted: [member.test_case_id for member in accepted.members])
    left_out = many(LeftOutSchema)
