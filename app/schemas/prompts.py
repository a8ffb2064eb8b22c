"""Requests about prompts, as dataclasses of the services."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from marshmallow import fields, post_load, validate

from app.schemas.base import Identifier, QueryBoolean, StrictBoolean, StrictSchema, Text
from app.schemas.model_config import ModelConfigSchema
from app.schemas.placeholders import Placeholders, Selections
from app.services.prompts.changes import DraftChange, NewPrompt

NAME = 128
VALUE = 500_000
MESSAGE = 500
PAGE = 500


class _ContentSchema(StrictSchema):
    """What creating and changing have in common."""

    model_name = Text(data_key="languageModelName", minimum=1, maximum=128)
    # null, and "", stand for none.
    fallback_name = Text(data_key="fallbackModelName", maximum=128, allow_none=True)
    config = fields.Nested(ModelConfigSchema, data_key="languageModelConfig")
    placeholders = Placeholders()


class NewPromptSchema(_ContentSchema):
    name = Text(required=True, minimum=1, maximum=NAME, trim=True)
    value = Text(required=True, maximum=VALUE)
    instruction_format = fields.String(data_key="instructionFormat", validate=validate.OneOf(("XML", "RAW")))
    commit = StrictBoolean()

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> NewPrompt:
        return NewPrompt(**data)


class DraftChangeSchema(_ContentSchema):
    name = Text(minimum=1, maximum=NAME, trim=True)
    value = Text(maximum=VALUE)
    assertion_type = fields.String(data_key="assertionType", validate=validate.OneOf(("STRICT", "AI", "MANUAL")))
    assertion_value = Text(data_key="assertionValue", maximum=VALUE)

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> DraftChange:
        if "fallback_name" in data:
            data["fallback_name"] = data["fallback_name"] or ""
        return DraftChange(**data)


@dataclass(frozen=True, slots=True)
class WhichVersion:
    """`commit_hash` beats `productive`."""

    productive: bool
    commit_hash: str | None


class WhichVersionQuery(StrictSchema):
    productive = QueryBoolean(load_default=True)
    commit_hash = Text(data_key="commitHash", load_default=None)

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> WhichVersion:
        return WhichVersion(**data)


@dataclass(frozen=True, slots=True)
class RenderRequest:
    selections: dict[str, str]
    productive: bool
    commit_hash: str | None


class RenderSchema(StrictSchema):
    selections = Selections(data_key="placeholders", load_default=dict)
    productive = StrictBoolean(load_default=True)
    commit_hash = Text(data_key="commitHash", load_default=None, allow_none=True)

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> RenderRequest:
        return RenderRequest(**data)


@dataclass(frozen=True, slots=True)
class Page:
    """`before_id` is the cursor that the page before gave."""

    search: str | None
    limit: int | None
    before_id: int | None


class PageQuery(StrictSchema):
    search = Text(load_default=None)
    limit = Identifier(load_default=None, validate=validate.Range(max=PAGE))
    before_id = Identifier(data_key="cursor", load_default=None)

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> Page:
        return Page(**data)


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    change: DraftChange
    selections: dict[str, str]


class PreviewSchema(StrictSchema):
    """`draft` is what an edit of the draft would be."""

    change = fields.Nested(DraftChangeSchema, data_key="draft", load_default=DraftChange)
    selections = Selections(data_key="placeholders", load_default=dict)

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> PreviewRequest:
        return PreviewRequest(**data)


class CommitSchema(StrictSchema):
    message = Text(maximum=MESSAGE, load_default="")
