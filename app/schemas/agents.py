"""Agents that send traces by their name."""

from __future__ import annotations

from marshmallow import fields, validate

from app.models.agents import AGENT_NAME_MAX, AgentRow
from app.schemas.answer import AnswerSchema, fields_of, listing
from app.schemas.base import StrictSchema


class AgentPath(StrictSchema):
    """An agent's name in an address."""

    agent = fields.String(
        required=True,
        validate=validate.Regexp(
            rf"[A-Za-z0-9._-]{{1,{AGENT_NAME_MAX}}}\Z",
            error=f"Must be 1 to {AGENT_NAME_MAX} letters, digits or any of - _ .",
        ),
    )


class AgentSchema(AnswerSchema):
    """`adoptedAt` is null until a trace has recorded an instruction, which is then the draft of the prompt."""

    row = fields_of(AgentRow, "name", "prompt_id", "created_at", "adopted_at")


Agents = listing("agents", AgentSchema, name="Agents")
