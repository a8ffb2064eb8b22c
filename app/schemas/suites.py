"""Suites: schemas of requests and answers."""

from __future__ import annotations

from typing import Any, ClassVar, get_args

from marshmallow import fields, validate

from app.models.suites import SUITE_NAME_MAX, SuiteRow
from app.schemas.answer import AnswerSchema, boolean, choice, fields_of, integer, listing, many, number, one, text, time
from app.schemas.base import BoundedList, Identifier, JsonNumber, Moment, StrictBoolean, StrictSchema, Text
from app.services.replays.calibrations import REPEATS
from app.services.replays.frozen import TEST_CASES_PER_START
from app.services.suites import accepting
from app.services.suites.accepting import PICKS_MAX, Left, Pick
from app.services.suites.coverage import CoverageWeek, RemovableCase
from app.services.suites.proposing import SuiteQuestion
from app.services.suites.service import NewMember
from app.suites.coverage import NewBehaviour, ObsoleteCase
from app.suites.proposals import REASON_MAX, SIZE, SIZE_MAX
from app.suites.samples import Weights

WEIGHT_MAX = 100
_DEFAULTS = Weights()


def _name(**options: Any) -> Text:
    return Text(minimum=1, maximum=SUITE_NAME_MAX, trim=True, **options)


def _weight(default: float) -> JsonNumber:
    return JsonNumber(validate=validate.Range(0, WEIGHT_MAX), load_default=default)


class WeightsSchema(StrictSchema):
    """How many times as much as others a session counts that calls a writing tool, has an error or a low score.

    `cost` is what a session adds that costs four times the mean or more.
    """

    command: ClassVar = Weights

    writes = _weight(_DEFAULTS.writes)
    errors = _weight(_DEFAULTS.errors)
    low_scores = _weight(_DEFAULTS.low_scores)
    cost = _weight(_DEFAULTS.cost)


class ProposeSuiteSchema(StrictSchema):
    """`since` is 30 days before `until` by default, and `until` now. The test cases of `suite` count as chosen."""

    command: ClassVar = SuiteQuestion

    since = Moment(load_default=None, allow_none=True)
    until = Moment(load_default=None, allow_none=True)
    size = fields.Integer(strict=True, validate=validate.Range(1, SIZE_MAX), load_default=SIZE)
    weights = fields.Nested(WeightsSchema, load_default=Weights)
    suite = _name(load_default=None, allow_none=True)


class ProposedSessionSchema(AnswerSchema):
    """`share` is what the session adds to all before it, from 0 to 1.

    A test of a session that went wrong would demand the mistake: with `correctFirst` it is to be corrected first.
    """

    session_id = text(attribute="pick.sample.id")
    preview = text(allow_none=True)
    reason = text(attribute="pick.reason")
    share = number(attribute="pick.share")
    correct_first = boolean(attribute="pick.sample.went_wrong")
    turns = integer(attribute="pick.sample.turns")
    tools = many(fields.String(), attribute="pick.sample.scored.fingerprint.tools")
    cost = number(attribute="pick.sample.cost_usd")


class CurvePoint(AnswerSchema):
    """So many sessions represent so much, from 0 to 1."""

    sessions = integer(get=lambda point: point[0])
    share = number(get=lambda point: point[1])


class GateCost(AnswerSchema):
    """US dollars of one gate with all proposed sessions, at least and at most, by what the sessions cost."""

    min = number(get=lambda bounds: bounds[0])
    max = number(get=lambda bounds: bounds[1])


class SuiteProposalSchema(AnswerSchema):
    """`summary` is the curve in a sentence. `before` is what the test cases of the suite represent already.

    `passedOver` sessions can't be replayed faithfully, and `unread` ones have no fingerprint yet. `cut` is true if
    there are older sessions than the ones that were read: 10,000, or fewer with 16 MiB of fingerprints. Of the suite
    `testCasesLeftOut` had no room: of older releases they are 32 MiB for each request.
    """

    summary = text(attribute="proposal.summary")
    picks = many(ProposedSessionSchema, get=lambda view: view.shown)
    curve = many(CurvePoint, get=lambda view: list(enumerate(view.proposal.curve, start=1)))
    before = number(attribute="proposal.before")
    sessions = integer(attribute="proposal.sessions")
    passed_over = integer(attribute="proposal.passed_over")
    unread = integer()
    cut = boolean(attribute="is_cut")
    test_cases_left_out = integer(attribute="left_out")
    gate_cost = one(GateCost)
    since = time()
    until = time()


class PickSchema(StrictSchema):
    """`reason` is the one of the proposal; it is shown with the test case."""

    command: ClassVar = Pick

    session_id = Text(minimum=1, maximum=64, required=True)
    reason = Text(maximum=REASON_MAX, load_default=None, allow_none=True)


class AcceptSuiteSchema(StrictSchema):
    """The suite with the name is made where there is none."""

    name = _name(required=True)
    picks = BoundedList(fields.Nested(PickSchema), minimum=1, maximum=PICKS_MAX, required=True)


def _members(**options: Any) -> BoundedList:
    return BoundedList(Identifier(), maximum=TEST_CASES_PER_START, into=_as_members, **options)


def _as_members(ids: list[int]) -> list[NewMember]:
    return [NewMember(id_) for id_ in ids]


class NewSuiteSchema(StrictSchema):
    name = _name(required=True)
    members = _members(data_key="testCaseIds", load_default=())


class SuiteChangeSchema(StrictSchema):
    name = _name(required=True)


class SuiteCasesSchema(StrictSchema):
    members = _members(data_key="testCaseIds", minimum=1, required=True)


class CalibrateSuiteSchema(StrictSchema):
    """Test cases without a calibration are calibrated, each with so many replays as `repeats`.

    With `again`, test cases with an ended calibration that does not call them reliable are calibrated, too.
    """

    repeats = fields.Integer(strict=True, validate=validate.Range(*REPEATS), load_default=accepting.REPEATS)
    again = StrictBoolean(load_default=False)


class SuiteEntry(AnswerSchema):
    row = fields_of(SuiteRow, "id", "prompt_id", "name", "created_at", "test_cases")


class SuiteMemberSchema(AnswerSchema):
    """`reason` is why the test case was proposed, null if a person added it."""

    test_case_id = integer(attribute="case.id")
    name = text(attribute="case.name")
    session_id = text(attribute="case.session_id", allow_none=True)
    reason = text(attribute="row.reason", allow_none=True)
    calibration_id = integer(attribute="row.calibration_id", allow_none=True)
    added_at = time(attribute="row.added_at")


class SuiteSchema(AnswerSchema):
    """The test cases are in the order in which they were added."""

    row = fields_of(SuiteRow, "id", "prompt_id", "name", "created_at", path="row")
    test_cases = many(SuiteMemberSchema, attribute="members")


class LeftOutSchema(AnswerSchema):
    """A session of which no test case was made, and why."""

    session_id = text()
    why = choice(*get_args(Left))
    message = text()


class AcceptedSuiteSchema(AnswerSchema):
    suite = one(SuiteSchema, attribute="view")
    left_out = many(LeftOutSchema)


class CoverageWeekSchema(AnswerSchema):
    """A week (UTC) from its Monday on. `share` is null without sessions; at most 1,000 sessions of it are read."""

    begins = text(get=lambda week: week.begins.isoformat())
    counts = fields_of(CoverageWeek, "sessions")
    share = number(allow_none=True)


class NewBehaviourSchema(AnswerSchema):
    """What sessions do and no test does; `sessionId` is the newest of them."""

    fields_ = fields_of(NewBehaviour, "sentence", "share", "session_id")


class ObsoleteCaseSchema(AnswerSchema):
    fields_ = fields_of(ObsoleteCase, "test_case_id", "name", "reason")


class RemovableCaseSchema(AnswerSchema):
    """A test case that never disagreed with another one in the last experiments."""

    fields_ = fields_of(RemovableCase, "test_case_id", "name", "reason")


class SuiteCoverageSchema(AnswerSchema):
    """How much of the sessions of eight weeks the suite represents now; `recent` is what `new` is about.

    `unread` sessions have no fingerprint yet, or are older than the ones that have 16 MiB of fingerprints together.
    `testCasesLeftOut` had no room: of older releases 32 MiB of test cases are read for each request.
    """

    suite = one(SuiteEntry)
    share = number(allow_none=True)
    weeks = many(CoverageWeekSchema)
    recent = text()
    new = many(NewBehaviourSchema)
    obsolete = many(ObsoleteCaseSchema)
    removable = many(RemovableCaseSchema)
    unread = integer()
    test_cases_left_out = integer(attribute="left_out")


Suites = listing("suites", SuiteEntry, name="Suites")
