"""Requests about language models, and models as an organization has them."""

from __future__ import annotations

from typing import Any

from marshmallow import ValidationError, fields, post_load, validate, validates_schema

from app.models.language_models import LanguageModel
from app.schemas.base import JsonNumber, StrictBoolean, StrictSchema, Text
from app.schemas.prompt_records import model_record
from app.services.language_models.credentials import BASE_URL_MAX
from app.services.language_models.own_models import NAME_MAX, PRICE_MAX, TOKENS_MAX, OwnModel


class OwnModelSchema(StrictSchema):
    """Whatever answers in OpenAI's format; prices in USD per million tokens, base URL "" is the credential's."""

    name = Text(required=True, minimum=1, maximum=NAME_MAX, trim=True)
    base_url = Text(data_key="baseUrl", maximum=BASE_URL_MAX, trim=True, load_default="")
    prompt_price = JsonNumber(data_key="promptPrice", validate=validate.Range(0, PRICE_MAX), load_default=0)
    completion_price = JsonNumber(data_key="completionPrice", validate=validate.Range(0, PRICE_MAX), load_default=0)
    context_tokens_max = fields.Integer(
        data_key="contextTokensMax", strict=True, validate=validate.Range(1, TOKENS_MAX), load_default=32_768
    )
    completion_tokens_max = fields.Integer(
        data_key="completionTokensMax", strict=True, validate=validate.Range(1, TOKENS_MAX), load_default=4096
    )
    description = Text(maximum=2000, trim=True, load_default="")

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> OwnModel:
        return OwnModel(**data | {"base_url": data["base_url"].rstrip("/")})


class ModelChangeSchema(StrictSchema):
    """What the organization makes of a model; the one that becomes the default takes over from the old one."""

    enabled = StrictBoolean()
    is_default = StrictBoolean(data_key="isDefault")

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


def dump_model(model: LanguageModel, *, with_address: bool) -> dict[str, Any]:
    """`baseUrl`, which may name machines of the company's own, is for those who may change it."""
    shown = model_record(model) | {
        "enabled": model.usable,
        "isDefault": model.is_default,
        "own": model.organization_id != 0,
    }
    return shown | ({"baseUrl": model.base_url} if with_address else {})
