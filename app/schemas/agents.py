"""Agents that send traces by their name, and the instructions that traces record."""

from __future__ import annotations

from marshmallow import fields, validate

from app.models.agents import AGENT_NAME_MAX, NO_AGENT_NAMES, AgentRow
from app.schemas.answer import AnswerSchema, boolean, fields_of, integer, listing, many, text, time
from app.schemas.base import BoundedList, StrictSchema, Text
from app.schemas.placeholders import PLACEHOLDER_KEY
from app.sessions.placeholder_proposals import PROPOSALS_MAX, PlaceholderProposal, SeenValue
from app.timestamps import of_unix_ns


class AgentPath(StrictSchema):
    """An agent's name in an address."""

    agent = fields.String(
        required=True,
        validate=[
            validate.Regexp(
                rf"[A-Za-z0-9._-]{{1,{AGENT_NAME_MAX}}}\Z",
                error=f"Must be 1 to {AGENT_NAME_MAX} letters, digits or any of - _ .",
            ),
            validate.NoneOf(NO_AGENT_NAMES, error="Must not be . or .., which clients remove from an address."),
        ],
    )


class AgentTracesQuery(StrictSchema):
    """With `split` "agents", spans that name another agent belong to the prompt of that one."""

    split = fields.String(validate=validate.OneOf(("agents",)), load_default=None)


class AgentSchema(AnswerSchema):
    """`adoptedAt` is null until a trace has recorded an instruction, which is then the draft of the prompt."""

    row = fields_of(AgentRow, "name", "prompt_id", "created_at", "adopted_at")


Agents = listing("agents", AgentSchema, name="Agents")


class PlaceholderProposalSchema(AnswerSchema):
    """`before`, `current` and `after` are the draft's text. `values` are those of the newest sessions.

    If `isKnown`, the draft has the placeholder, and accepting adds the values that it lacks. If `isChange`, the text
    rather changed once, for all sessions since.
    """

    row = fields_of(PlaceholderProposal, "id", "key", "kind", "before", "current", "after", "is_known")
    values = many(AnswerSchema.from_dict({"row": fields_of(SeenValue, "content", "sessions")}, name="SeenValueSchema"))
    counts = fields_of(PlaceholderProposal, "values_left_out", "is_change")
    sessions = integer()


class RecordedInstructionSchema(AnswerSchema):
    """The instruction of the newest of the `sessionsRead` sessions that recorded one and names no version.

    `matches` is "draft", or the commit hash of the version that renders it; the draft may differ in parts that vary
    between sessions. If `differs`, the program sends another text, at least `since` the time.
    """

    sessions_read = integer(attribute="sessions")
    sessions_compared = integer(attribute="proposals.compared")
    session_id = text(allow_none=True, get=lambda report: report.newest and report.newest.session_id)
    instruction = text(allow_none=True, get=lambda report: report.newest and report.newest.text)
    matches = text(allow_none=True)
    differs = boolean()
    since = time(allow_none=True, get=lambda report: None if report.since_ns is None else of_unix_ns(report.since_ns))
    placeholder_proposals = many(PlaceholderProposalSchema, attribute="proposed")


class AcceptedProposalSchema(StrictSchema):
    """A proposal by its id. `key` is the placeholder's key; by default that of the proposal."""

    id = Text(required=True, minimum=1, maximum=32)
    key = fields.String(validate=PLACEHOLDER_KEY)


class AcceptProposalsSchema(StrictSchema):
    accepted = BoundedList(
        fields.Nested(AcceptedProposalSchema), minimum=1, maximum=PROPOSALS_MAX, required=True, data_key="accept"
    )
