"""Language models as an organization has them."""

from __future__ import annotations

from typing import Any

from marshmallow import ValidationError, fields, post_load, validate, validates_schema

from app.schemas.answer import Answer, boolean, integer, itself, many, number, text, time
from app.schemas.base import JsonNumber, StrictBoolean, StrictSchema, Text
from app.services.language_models.credentials import BASE_URL_MAX
from app.services.language_models.own_models import NAME_MAX, PRICE_MAX, TOKENS_MAX, OwnModel


class OwnModelSchema(StrictSchema):
    """A model behind OpenAI's API; prices in USD per million tokens; base URL "" stands for the credential's."""

    name = Text(required=True, minimum=1, maximum=NAME_MAX, trim=True)
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
    """The organization's choices about a model; a new default takes the place of the old one."""

    enabled = StrictBoolean()
    is_default = StrictBoolean()

    @validates_schema
    def check(self, data: dict[str, Any], **_kwargs: Any) -> None:
        if not data:
            raise ValidationError("Send enabled, isDefault or both.")

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, bool]:
        """The keywords of `ModelService.choose`."""
        if "enabled" in data:
            data["disabled"] = not data.pop("enabled")
        return data


class LanguageModel(Answer):
    """Prices in US dollars per million tokens."""

    id = integer()
    name = text()
    vendor = text()
    prompt_price = number()
    completion_price = number()
    context_tokens_max = integer()
    completion_tokens_max = integer()
    description = text()
    created_at = time()
    updated_at = time()


class Model(LanguageModel):
    """`baseUrl`, which may name machines of the company's own, is for those who may change it."""

    enabled = boolean(attribute="usable")
    is_default = boolean()
    own = boolean(get=lambda model: model.organization_id != 0)
    base_url = text(required=False)


class Models(Answer):
    models = many(Model, get=itself)
