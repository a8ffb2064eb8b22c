"""Findings of prompts: schemas of requests and answers."""

from __future__ import annotations

from typing import Any, get_args

from marshmallow import ValidationError, fields, post_load, validate, validates_schema

from app.models.findings import FindingState
from app.schemas.answer import (
    AnswerSchema,
    boolean,
    choice,
    integer,
    many,
    number,
    one,
    text,
    time,
)
from app.schemas.base import StrictSchema, Text
from app.services.suites.findings import DAYS, DAYS_MAX
from app.suites.findings import ProblemKind

STATES = get_args(FindingState)
EMAIL_MAX = 254


class FindingsQuerySchema(StrictSchema):
    """The findings in a state, from the sessions of the last `days`."""

    states = fields.String(data_key="state", validate=validate.OneOf(STATES))
    days = fields.Integer(validate=validate.Range(1, DAYS_MAX), load_default=DAYS)

    @post_load
    def list_states(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        return data | {"states": [data["states"]]} if "states" in data else data


class FindingChangeSchema(StrictSchema):
    """Omitted fields keep their values.

    `solvedVersion` is the commit hash of the version that solved it, by default the newest one. `assignee` is the
    e-mail address of a member.
    """

    state = fields.String(validate=validate.OneOf(STATES))
    solved_version = Text(minimum=1, maximum=64, allow_none=True)
    assignee = Text(minimum=1, maximum=EMAIL_MAX, trim=True, allow_none=True)

    @validates_schema
    def check_version_is_of_a_solution(self, data: dict[str, Any], **_kwargs: Any) -> None:
        if "solved_version" in data and data.get("state") != "solved":
            raise ValidationError("Send it with the state solved.", "solvedVersion")


class PromptFindingSchema(AnswerSchema):
    """What went wrong in some sessions.

    `value` is the name of the tool, check or score; `share` the share of all sessions that were read, from 0 to 1.
    `daily` has the sessions of each day (UTC), the oldest first. `trend` compares the last seven days (`recent`) with
    the seven before. A finding that was solved and came back is open and `reopened`.
    """

    id = text()
    title = text()
    problem = choice(*get_args(ProblemKind), attribute="subject.problem")
    value = text(attribute="subject.value")
    state = choice(*STATES)
    reopened = boolean()
    assignee = text(get=lambda finding: finding.assignee and finding.assignee.email, allow_none=True)
    solved_version = text(allow_none=True)
    solved_at = time(allow_none=True)
    sessions = integer(get=lambda finding: len(finding.sessions))
    share = number()
    cost = number(attribute="cost_usd")
    recent = integer(attribute="trend.recent")
    before = integer(attribute="trend.before")
    trend = choice("up", "down", "steady", attribute="trend.direction")
    daily = many(fields.Integer())
    example = text(allow_none=True)


class PromptFindingsSchema(AnswerSchema):
    """Those with the most sessions come first; then those without sessions about which something is decided.

    `more` findings are left out. `read` sessions were read. `unread` ones have no fingerprint yet, or had no room.
    """

    findings = many(PromptFindingSchema, attribute="entries")
    more = integer()
    read = integer()
    unread = integer()
    days = integer()


class FindingTestCase(AnswerSchema):
    test_case_id = integer(get=lambda case: case[0])
    name = text(get=lambda case: case[1])
    class_ = text(get=lambda case: case[2], data_key="class", allow_none=True)


class PromptFindingDetailSchema(AnswerSchema):
    """A finding with its newest sessions, and the test cases that were made of these.

    `experimentId` is the newest experiment that has played one of them, with its verdict; `class` is what it has found
    of a test case.
    """

    finding = one(PromptFindingSchema)
    session_ids = many(fields.String(), attribute="finding.session_ids")
    test_cases = many(
        FindingTestCase,
        get=lambda view: [(id_, name, view.classes.get(id_)) for id_, name in view.test_cases.items()],
    )
    experiment_id = integer(get=lambda view: view.experiment and view.experiment.id, allow_none=True)
    verdict = text(get=lambda view: view.experiment and view.experiment.verdict, allow_none=True)
