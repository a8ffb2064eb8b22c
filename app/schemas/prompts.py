"""Prompts, their versions and renderings."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from marshmallow import ValidationError, fields, missing, post_load, validate, validates_schema
from reprise_formats.placeholders import keys_in

from app.models.prompt_versions import VersionHead
from app.models.prompts import PromptHead, PromptListing
from app.schemas.answer import AnswerSchema, boolean, choice, fields_of, integer, itself, listing, many, one, part, text
from app.schemas.base import Identifier, QueryBoolean, StrictBoolean, StrictSchema, Text
from app.schemas.labels import ChosenVersion
from app.schemas.language_models import LanguageModelSchema, ModelConfigSchema, ModelName
from app.schemas.placeholders import Placeholders, PlaceholderSchema, PlaceholdersUsed, Selections
from app.services.prompts.content import PromptContent, with_defaults
from app.services.prompts.drafts import DraftChange, NewPrompt
from app.services.prompts.service import PromptListPage, PromptView, VersionSource

# Characters of a name, of a text and of a commit message, and prompts of a page, at most.
NAME_MAX = 128
VALUE_MAX = 500_000
MESSAGE_MAX = 500
PAGE_MAX = 500
ASSERTION_TYPES = ("STRICT", "AI", "MANUAL")
FORMATS = ("XML", "RAW")


class ContentSchema(StrictSchema):
    """Fields of new prompts, edits of drafts, and overlays. Placeholders may also have the key that answers use."""

    model_name = Text(data_key="languageModelName", minimum=1, maximum=128)
    config = fields.Nested(ModelConfigSchema, data_key="languageModelConfig")
    placeholders = Placeholders()
    placeholder_definitions = Placeholders()

    @validates_schema
    def _take_either_name(self, data: dict[str, Any], **_kwargs: Any) -> None:
        """A validator, because validators of every schema run before `data` becomes the command."""
        if "placeholder_definitions" in data:
            if "placeholders" in data:
                raise ValidationError("Must not be sent together with placeholders.", "placeholderDefinitions")
            data["placeholders"] = data.pop("placeholder_definitions")


class _PromptSchema(ContentSchema):
    # null and "" mean no value.
    fallback_name = Text(data_key="fallbackModelName", maximum=128, allow_none=True)


class NewPromptSchema(_PromptSchema):
    command: ClassVar = NewPrompt

    name = Text(required=True, minimum=1, maximum=NAME_MAX, trim=True)
    value = Text(required=True, maximum=VALUE_MAX)
    instruction_format = fields.String(validate=validate.OneOf(FORMATS))
    commit = StrictBoolean()


class DraftChangeSchema(_PromptSchema):
    name = Text(minimum=1, maximum=NAME_MAX, trim=True)
    value = Text(maximum=VALUE_MAX)
    assertion_type = fields.String(validate=validate.OneOf(ASSERTION_TYPES))
    assertion_value = Text(maximum=VALUE_MAX)

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> DraftChange:
        if "fallback_name" in data:
            data["fallback_name"] = data["fallback_name"] or ""
        return DraftChange(**data)


class WhichVersionQuery(ChosenVersion):
    """The query of a prompt."""

    productive = QueryBoolean(load_default=True)


class RenderSchema(ChosenVersion):
    selections = Selections(data_key="placeholders", load_default=dict)
    productive = StrictBoolean(load_default=True)


class PageQuery(StrictSchema):
    search = Text(load_default=None)
    limit = Identifier(load_default=None, validate=validate.Range(max=PAGE_MAX))
    before_id = Identifier(data_key="cursor", load_default=None)
    archived = QueryBoolean(load_default=False)


class PreviewSchema(StrictSchema):
    """`draft` is an edit of the draft. It is not stored."""

    change = fields.Nested(DraftChangeSchema, data_key="draft", load_default=DraftChange)
    selections = Selections(data_key="placeholders", load_default=dict)


class CommitSchema(StrictSchema):
    message = Text(maximum=MESSAGE_MAX, load_default="")


class Published(NamedTuple):
    """A prompt with the address of its page; the address is "" if the instance has no public base URL."""

    prompt: PromptView | PromptListing
    public_url: str

    @classmethod
    def at(cls, base: str, prompt: PromptView | PromptListing) -> Published:
        prompt_id = prompt.head.id if isinstance(prompt, PromptView) else prompt.id
        return cls(prompt, f"{base.rstrip('/')}/prompts/{prompt_id}" if base else "")

    @property
    def etag(self) -> str | None:
        return self.prompt.etag if isinstance(self.prompt, PromptView) else None

    @property
    def source(self) -> VersionSource | None:
        return self.prompt.source if isinstance(self.prompt, PromptView) else None


class Content(AnswerSchema):
    """Fields that versions and drafts have in common, read from a `PromptContent`."""

    value = text()
    language_model_id = integer(attribute="model.id")
    language_model = one(LanguageModelSchema, attribute="model")
    fallback_model_name = text(allow_none=True, get=lambda content: content.fallback and content.fallback.name)
    language_model_config = one(ModelConfigSchema, get=lambda content: with_defaults(content.config, content.model))
    instruction_format = choice(*FORMATS)
    placeholder_definitions = many(PlaceholderSchema, attribute="placeholders")


def _draft_author(published: Published) -> str | None:
    """Return the name of the person or API key that wrote the draft. For a version return None, which is omitted."""
    view = published.prompt
    return view.head.changed_by if isinstance(view, PromptView) and view.content.commit_hash is None else None


class PromptSchema(AnswerSchema):
    head = fields_of(PromptHead, "id", "name", path="prompt.head")
    public_url = text()
    assertion_type = choice(*ASSERTION_TYPES, attribute="prompt.head.assertion_type")
    assertion_value = text(attribute="prompt.head.assertion_value")
    commited = boolean(attribute="prompt.head.committed")
    origin = fields_of(PromptHead, "project_id", "created_at", "updated_at", path="prompt.head")
    changed_by = text(required=False, get=_draft_author)
    commit_hash = text(attribute="prompt.content.commit_hash", allow_none=True)
    content = part(Content, "prompt.content")


class Author(AnswerSchema):
    id = integer(attribute="author_id")
    name = text(attribute="author_name")


class VersionEntry(AnswerSchema):
    head = fields_of(VersionHead, "commit_hash", "created_at", "message")
    author = one(Author, allow_none=True, get=lambda version: None if version.author_id is None else version)


class ListedVersionSchema(AnswerSchema):
    head = part(VersionEntry, "head")
    labels = many(text())


class VersionSchema(ListedVersionSchema):
    parent_commit_hash = text(attribute="head.parent_hash", allow_none=True)
    content = part(Content, "content")


Versions = listing("versions", ListedVersionSchema)


class Branch(AnswerSchema):
    """The only branch of a prompt. Lists show its newest version."""

    name = text(get=lambda _version: "master")
    prompt_versions = many(VersionEntry, get=lambda version: [version])


class PromptCounts(AnswerSchema):
    test_cases = integer()


class PromptListItem(AnswerSchema):
    row = fields_of(PromptListing, "id", "name", path="prompt")
    public_url = text()
    assertion_type = choice(*ASSERTION_TYPES, attribute="prompt.assertion_type")
    about = fields_of(PromptListing, "language_model_id", "created_at", "updated_at", path="prompt")
    commited = boolean(attribute="prompt.committed")
    count = one(PromptCounts, attribute="prompt", data_key="_count")
    branches = many(Branch, get=lambda listed: [listed.prompt.newest] if listed.prompt.newest else [])


class ListedPrompts(NamedTuple):
    page: PromptListPage
    prompts: list[Published]


def _next_cursor(listed: ListedPrompts) -> Any:
    """Return the next cursor: `missing` for a list without a limit, None on the last page."""
    last_id = listed.page.next_before_id
    return missing if listed.page.limit is None else None if last_id is None else str(last_id)


class PromptList(AnswerSchema):
    prompts = many(PromptListItem)
    next_cursor = text(required=False, allow_none=True, get=_next_cursor)


class NewPromptRecord(AnswerSchema):
    id = integer(attribute="prompt_id")
    name = text()
    value = text()
    commited = boolean(get=lambda content: content.commit_hash is not None)


def _undefined(content: PromptContent) -> list[str]:
    defined = {placeholder.key for placeholder in content.placeholders}
    return [key for key in keys_in(content.value) if key not in defined]


def _unused(content: PromptContent) -> list[str]:
    in_text = frozenset(keys_in(content.value))
    return [placeholder.key for placeholder in content.placeholders if placeholder.key not in in_text]


class PlaceholdersFound(AnswerSchema):
    undefined_keys = many(text(), get=_undefined)
    ignored = many(text(), get=_unused)


class CreatedPrompt(AnswerSchema):
    """Read from the `PromptContent` of the new prompt."""

    prompt = one(NewPromptRecord, get=itself)
    placeholders = one(PlaceholdersFound, get=itself)


class PlaceholdersRendered(PlaceholdersUsed):
    undefined_keys = many(text(), attribute="undefined")


class RenderedPromptSchema(AnswerSchema):
    instruction = text(attribute="rendered.instruction")
    instruction_format = choice(*FORMATS, attribute="content.instruction_format")
    commit_hash = text(attribute="content.commit_hash", allow_none=True)
    language_model = one(ModelName, attribute="content.model")
    language_model_config = one(
        ModelConfigSchema, get=lambda result: with_defaults(result.content.config, result.content.model)
    )
    placeholders = one(PlaceholdersRendered, attribute="rendered")
