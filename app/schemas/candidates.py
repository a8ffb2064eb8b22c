"""Candidates of replays and experiments: schemas of requests and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, get_args

from marshmallow import Schema, ValidationError, fields, post_load, validate

from app.models.replays import CandidateKind
from app.schemas.answer import AnswerSchema, choice, text
from app.schemas.base import StrictSchema, Text
from app.schemas.prompts import FORMATS, VALUE, ContentSchema
from app.services.prompts.drafts import DraftChange
from app.services.replays.candidates import DRAFT
from app.services.replays.candidates import Candidate as Command


class CommittedSchema(StrictSchema):
    """A version of the prompt."""

    command: ClassVar = Command

    commit_hash = Text(required=True)


class OverlaySchema(ContentSchema):
    """The draft or a version with changes. They replace its fields like an edit of the draft."""

    base = Text(load_default="draft")
    value = Text(maximum=VALUE)
    instruction_format = fields.String(validate=validate.OneOf(FORMATS))

    @post_load
    def make_command(self, data: dict[str, Any], **_kwargs: Any) -> Command:
        base, instruction_format = data.pop("base"), data.pop("instruction_format", None)
        return Command(None if base == "draft" else base, DraftChange(**data), instruction_format)


class CandidateField(fields.Field[Command]):
    """`"draft"`, a version as `{commitHash}`, or `{base, …}` with the fields that replace fields of the base."""

    alternatives: ClassVar = ({"type": "string", "const": "draft"}, CommittedSchema, OverlaySchema)
    _committed: Schema = CommittedSchema()
    _overlay: Schema = OverlaySchema()

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Command:
        if value == "draft":
            return DRAFT
        if not isinstance(value, Mapping):
            raise ValidationError('Must be "draft" or a JSON object.')
        schema = self._committed if "commitHash" in value else self._overlay
        loaded: Command = schema.load(value)
        return loaded


class CandidateAnswer(AnswerSchema):
    """`commitHash` is the hash of the version or of an overlay's base. It is null for the draft and overlays on it."""

    kind = choice(*get_args(CandidateKind), attribute="candidate_kind")
    commit_hash = text(attribute="candidate_commit", allow_none=True)
    fingerprint = text()
