"""Faults of replays and variants of test cases: schemas of requests."""

from __future__ import annotations

from typing import Any, get_args

from marshmallow import ValidationError, fields, post_load, validate

from app.replay.case_limits import STEPS_MAX
from app.replay.fault_types import FAULT_MESSAGE_MAX, FAULT_TOOL_MAX, FAULTS_MAX, VARIANT_NAME_MAX, Fault, FaultKind
from app.schemas.base import StrictSchema, Text

FAULT = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "minLength": 1, "maxLength": FAULT_TOOL_MAX},
        "call": {"type": "integer", "minimum": 0},
        "kind": {"enum": [*get_args(FaultKind)]},
        "message": {"type": "string", "maxLength": FAULT_MESSAGE_MAX},
    },
    "required": ["tool", "call", "kind"],
    "additionalProperties": False,
}
VARIANT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": VARIANT_NAME_MAX},
        "faults": {"type": "array", "items": FAULT, "minItems": 1, "maxItems": FAULTS_MAX},
    },
    "required": ["name", "faults"],
    "additionalProperties": False,
}


class NewFaultSchema(StrictSchema):
    """The recorded call number `call`, from 0, of a tool fails. `message` replaces the text of the error or garbage."""

    tool = Text(required=True, minimum=1, maximum=FAULT_TOOL_MAX)
    call = fields.Integer(strict=True, required=True, validate=validate.Range(0, STEPS_MAX))
    kind = fields.String(required=True, validate=validate.OneOf(get_args(FaultKind)))
    message = Text(maximum=FAULT_MESSAGE_MAX)

    @post_load
    def make_fault(self, data: dict[str, Any], **_kwargs: Any) -> Fault:
        try:
            return Fault(**data)
        except ValueError as error:
            field, _, problem = str(error).partition(": ")
            raise ValidationError(problem, field) from None
