"""Language models, credentials of vendors, and the model configs of prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, fields, post_load, validate, validates_schema

from app.models import language_models
from app.providers.vendors import EFFORTS, VENDORS
from app.schemas.answer import AnswerSchema, boolean, choice, fields_of, listing, text
from app.schemas.base import BoundedList, JsonNumber, StrictBoolean, StrictSchema, Text
from app.schemas.json_schemas import JsonSchemaObject, check_size
from app.schemas.placeholders import repeated
from app.services.language_models import credentials
from app.services.language_models.credentials import BASE_URL_MAX
from app.services.language_models.service import MODEL_NAME_MAX, PRICE_MAX, TOKENS_MAX, OwnModel
from app.services.prompts.content import TOOLS_MAX, TOOLS_VALUES_MAX


class OwnModelSchema(StrictSchema):
    """A model with OpenAI's API. Prices are in USD per million tokens. For "" the credential's base URL is used."""

    name = Text(required=True, minimum=1, maximum=MODEL_NAME_MAX, trim=True)
    base_url = Text(maximum=BASE_URL_MAX, trim=True, load_default="")
    prompt_price = JsonNumber(validate=validate.Range(0, PRICE_MAX), load_default=0)
    completion_price = JsonNumber(validate=validate.Range(0, PRICE_MAX), load_default=0)
    context_tokens_max = fields.Integer(strict=True, validate=validate.Range(1, TOKENS_MAX), load_default=32_768)
    completion_tokens_max = fields.Integer(strict=True, validate=validate.Range(1, TOKENS_MAX), load_default=4096)
    description = Text(maximum=2000, trim=True, load_default="")

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> OwnModel:
        return OwnModel(**data | {"base_url": data["base_url"].rstrip("/")})


class ModelChangeSchema(StrictSchema):
    """The organization's settings of a model. A new default replaces the old one."""

    enabled = StrictBoolean()
    is_default = StrictBoolean()

    @validates_schema
    def check(self, data: dict[str, Any], **_kwargs: Any) -> None:
        if not data:
            raise ValidationError("Send enabled, isDefault or both.")

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, bool]:
        """Return the keywords of `ModelService.choose`."""
        if "enabled" in data:
            data["disabled"] = not data.pop("enabled")
        return data


class ModelName(AnswerSchema):
    model = fields_of(language_models.LanguageModel, "id", "name", "vendor")


class LanguageModelSchema(ModelName):
    """Prices in US dollars per million tokens."""

    prices = fields_of(language_models.LanguageModel, "prompt_price", "completion_price")
    limits = fields_of(language_models.LanguageModel, "context_tokens_max", "completion_tokens_max")
    about = fields_of(language_models.LanguageModel, "description", "created_at", "updated_at")


class ModelSchema(LanguageModelSchema):
    """`baseUrl` may name internal machines, so only callers who may change it see it."""

    enabled = boolean(attribute="usable")
    is_default = boolean()
    own = boolean(get=lambda model: model.organization_id != 0)
    base_url = text(required=False)


Models = listing("models", ModelSchema)


KEY_MAX = 4096


class CredentialSchema(StrictSchema):
    """The whole credential. A stored key is never sent to a base URL that was given without the key."""

    api_key = Text(maximum=KEY_MAX, trim=True, load_default="")
    base_url = Text(maximum=BASE_URL_MAX, trim=True, load_default="")


class StoredCredentialSchema(AnswerSchema):
    vendor = choice(*VENDORS)
    source = choice("organization", "instance", get=lambda stored: "organization" if stored.set_at else "instance")
    stored = fields_of(credentials.StoredCredential, "last_four", "base_url", "set_at")


Credentials = listing("credentials", StoredCredentialSchema)


class CheckedCredential(AnswerSchema):
    """`model` answered the check."""

    model = text(attribute="name")


MAX_STOPS = 16
INT64 = 2**63
EFFECTS = ("read", "write", "by_call")


class AnnotationsSchema(StrictSchema):
    """Hints of the Model Context Protocol about what a tool does."""

    camel_case: ClassVar = False

    readOnlyHint = StrictBoolean()  # noqa: N815 - the protocol's names
    destructiveHint = StrictBoolean()  # noqa: N815
    idempotentHint = StrictBoolean()  # noqa: N815


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
    # These are for replays, and are not sent to the model.
    effect = fields.String(validate=validate.OneOf(EFFECTS))
    idempotent = StrictBoolean()
    annotations = fields.Nested(AnnotationsSchema)


class OpenAIToolSchema(StrictSchema):
    """A tool in OpenAI's form. The additional fields for replays can be here or in `function`."""

    type = fields.String(required=True, validate=validate.Equal("function"))
    function = fields.Nested(ToolSchema, required=True)
    effect = fields.String(validate=validate.OneOf(EFFECTS))
    idempotent = StrictBoolean()
    annotations = fields.Nested(AnnotationsSchema)

    @validates_schema
    def _refuse_repeated_fields(self, data: dict[str, Any], **_kwargs: Any) -> None:
        if twice := [*(data.keys() & data["function"].keys())]:
            raise ValidationError("Must not also be in function.", min(twice))

    @post_load
    def make_command(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        function: dict[str, Any] = data.pop("function")
        del data["type"]
        return function | data


class ToolField(fields.Field[dict[str, Any]]):
    """A tool, in the plain form or OpenAI's; loads to the plain form."""

    alternatives: ClassVar = (ToolSchema, OpenAIToolSchema)
    _plain: Schema = ToolSchema()
    _openai: Schema = OpenAIToolSchema()

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> dict[str, Any]:
        schema = self._openai if isinstance(value, Mapping) and "function" in value else self._plain
        return dict(schema.load(value))


def _names_differ(tools: list[dict[str, Any]]) -> None:
    if twice := repeated(tool["name"] for tool in tools):
        raise ValidationError(f"More than one tool is named {twice!r}.")


class ToolsField(BoundedList):
    """The tools of a config. Their names differ, and their total size is bounded."""

    def __init__(self) -> None:
        super().__init__(ToolField(), maximum=TOOLS_MAX, validate=_names_differ)
        self.documented |= {"description": f"At most {TOOLS_VALUES_MAX} values and keys in total."}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        check_size(value, TOOLS_VALUES_MAX)
        return super()._deserialize(value, attr, data, **kwargs)


class ModelConfigSchema(StrictSchema):
    """Loads to a dict with only the keys that were sent."""

    camel_case: ClassVar = False

    tools = ToolsField()
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
