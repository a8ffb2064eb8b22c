"""languageModelConfig in requests; `app/services/prompts/model_config.py` checks it against the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from app.schemas.base import BoundedList, JsonNumber, StrictBoolean, StrictSchema, Text
from app.schemas.json_schemas import JsonSchemaObject, check_size
from app.schemas.placeholders import repeated

MAX_TOOLS = 128
MAX_TOOLS_VALUES = 20_000
MAX_STOPS = 16
INT64 = 2**63
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")


class ToolSchema(StrictSchema):
    camel_case: ClassVar = False

    name = fields.String(
        required=True,
        validate=validate.Regexp(
            r"[A-Za-z0-9_.:/-]{1,128}\Z", error="Must be 1 to 128 letters, digits or any of _ . : / -"
        ),
    )
    description = Text()
    parameters = JsonSchemaObject()
    strict = StrictBoolean()


class OpenAIToolSchema(StrictSchema):
    type = fields.String(required=True, validate=validate.Equal("function"))
    function = fields.Nested(ToolSchema, required=True)


class Tool(fields.Field[dict[str, Any]]):
    """A tool, plain or in OpenAI's form; loads to the plain form."""

    alternatives: ClassVar = (ToolSchema, OpenAIToolSchema)
    _plain: Schema = ToolSchema()
    _openai: Schema = OpenAIToolSchema()

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> dict[str, Any]:
        if isinstance(value, Mapping) and "function" in value:
            loaded: dict[str, Any] = self._openai.load(value)["function"]
            return loaded
        return dict(self._plain.load(value))


def _names_differ(tools: list[dict[str, Any]]) -> None:
    if twice := repeated(tool["name"] for tool in tools):
        raise ValidationError(f"More than one tool is named {twice!r}.")


class Tools(BoundedList):
    """The tools of a config, of bounded size in all; their names differ."""

    def __init__(self) -> None:
        super().__init__(Tool(), maximum=MAX_TOOLS, validate=_names_differ)
        self.documented |= {"description": f"At most {MAX_TOOLS_VALUES} values and keys in all."}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        check_size(value, MAX_TOOLS_VALUES)
        return super()._deserialize(value, attr, data, **kwargs)


class ModelConfigSchema(StrictSchema):
    """Loads to a dict with just the keys that were sent."""

    camel_case: ClassVar = False

    tools = Tools()
    max_tokens = fields.Integer(strict=True, validate=validate.Range(min=1))
    temperature = JsonNumber()
    response_format = fields.String(validate=validate.OneOf(("text", "json_object", "json_schema")))
    json_schema = JsonSchemaObject()
    reasoning_effort = fields.String(validate=validate.OneOf(EFFORTS))
    top_p = JsonNumber(validate=validate.Range(min=0, max=1))
    stop = BoundedList(Text(minimum=1), maximum=MAX_STOPS)
    seed = fields.Integer(strict=True, validate=validate.Range(min=-INT64, max=INT64 - 1))

    @validates_schema
    def _json_schema_is_there(self, config: dict[str, Any], **_kwargs: Any) -> None:
        if config.get("response_format") == "json_schema" and "json_schema" not in config:
            raise ValidationError("Is required when response_format is json_schema.", "json_schema")
