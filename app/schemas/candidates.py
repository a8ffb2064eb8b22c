"""Candidates of replays and experiments: schemas of requests and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, get_args

from marshmallow import Schema, ValidationError, fields, post_load, validate

from app.models.replays import CandidateKind
from app.schemas.answer import AnswerSchema, boolean, choice, one, text
from app.schemas.base import StrictBoolean, StrictSchema, Text
from app.schemas.prompts import FORMATS, VALUE_MAX, ContentSchema
from app.services.prompts.drafts import DraftChange
from app.services.replays.candidates import DRAFT, External
from app.services.replays.candidates import Candidate as Command

PROGRAM_NAME_MAX = 100
REVISION_MAX = 200


class CommittedSchema(StrictSchema):
    """A version of the prompt."""

    command: ClassVar = Command

    commit_hash = Text(required=True)


class OverlaySchema(ContentSchema):
    """The draft or a version with changes. They replace its fields like an edit of the draft."""

    base = Text(load_default="draft")
    value = Text(maximum=VALUE_MAX)
    instruction_format = fields.String(validate=validate.OneOf(FORMATS))

    @post_load
    def make_command(self, data: dict[str, Any], **_kwargs: Any) -> Command:
        base, instruction_format = data.pop("base"), data.pop("instruction_format", None)
        return Command(None if base == "draft" else base, DraftChange(**data), instruction_format)


class ExternalSchema(StrictSchema):
    """A revision of a program. With `dirty` it has uncommitted changes, so that its results are not used again."""

    command: ClassVar = External

    name = Text(required=True, minimum=1, maximum=PROGRAM_NAME_MAX)
    revision = Text(required=True, minimum=1, maximum=REVISION_MAX)
    dirty = StrictBoolean(load_default=False)


class ProgramSchema(StrictSchema):
    """A program, which is replayed in the place of the prompt."""

    external = fields.Nested(ExternalSchema, required=True)

    @post_load
    def make_command(self, data: dict[str, Any], **_kwargs: Any) -> Command:
        return Command(external=data["external"])


class CandidateField(fields.Field[Command]):
    """`"draft"`, a version as `{commitHash}`, or `{base, …}` with the fields that replace fields of the base."""

    alternatives: ClassVar[tuple[Any, ...]] = ({"type": "string", "const": "draft"}, CommittedSchema, OverlaySchema)
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


class AnyCandidateField(CandidateField):
    """A candidate, which may also be a program as `{external: {name, revision}}`."""

    alternatives: ClassVar[tuple[Any, ...]] = (*CandidateField.alternatives, ProgramSchema)
    _program: Schema = ProgramSchema()

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Command:
        if isinstance(value, Mapping) and "external" in value:
            loaded: Command = self._program.load(value)
            return loaded
        return super()._deserialize(value, attr, data, **kwargs)


class ProgramRevision(AnswerSchema):
    name = text()
    revision = text()
    dirty = boolean()


class CandidateAnswer(AnswerSchema):
    """`commitHash` is the hash of the version or of an overlay's base. It is null for the draft and overlays on it.

    `external` is the revision of a program, null for a prompt's own text.
    """

    kind = choice(*get_args(CandidateKind), attribute="candidate_kind")
    commit_hash = text(attribute="candidate_commit", allow_none=True)
    fingerprint = text()
    external = one(ProgramRevision, allow_none=True, get=lambda row: getattr(row, "external", None))
