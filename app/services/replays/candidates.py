"""Candidates of replays: a prompt's draft, a version, or one of them with temporary changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

import msgspec
from sqlalchemy import Connection

from app.encryption import new_token
from app.errors import Invalid
from app.models.prompts import PromptHead
from app.models.replays import CandidateKind
from app.rendering.render import InstructionFormat
from app.services.language_models.service import ModelService
from app.services.prompts import drafts
from app.services.prompts.content import PromptContent, content_hash
from app.services.prompts.drafts import DraftChange
from app.services.prompts.reader import PromptReader


class External(msgspec.Struct, frozen=True):
    """A revision of a program. What is `dirty` has changes that are not committed, so it equals no other."""

    name: str
    revision: str
    dirty: bool = False

    @property
    def fingerprint(self) -> str:
        once = new_token() if self.dirty else ""
        return sha256(msgspec.json.encode(("external", self.name, self.revision, once))).hexdigest()


@dataclass(frozen=True, slots=True)
class Candidate:
    """The version of `commit_hash`, or the draft without one; with a `change` it is an overlay on them.

    `instruction_format` is only for overlays: a prompt keeps the format that it was created with. An `external`
    program is played in the place of the prompt.
    """

    commit_hash: str | None = None
    change: DraftChange | None = None
    instruction_format: InstructionFormat | None = None
    external: External | None = None

    @property
    def kind(self) -> CandidateKind:
        """An `external` program comes before a `change`, and a `change` before the version or draft below it."""
        if self.external is not None:
            return "external"
        if self.change is not None:
            return "overlay"
        return "draft" if self.commit_hash is None else "version"


DRAFT = Candidate()


@dataclass(frozen=True)
class CandidateContent:
    """The content of a candidate; `commit_hash` is the hash of the version, or of an overlay's base.

    For an `external` program the content has only the prompt's model, which judges by default.
    """

    head: PromptHead
    content: PromptContent
    kind: CandidateKind
    commit_hash: str | None
    external: External | None = None

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the content; drafts, versions and overlays with equal content share it."""
        return self.external.fingerprint if self.external else content_hash(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateReader:
    models: ModelService
    reader: PromptReader

    def read(
        self,
        connection: Connection,
        *,
        project_id: int,
        prompt_id: int,
        candidate: Candidate = DRAFT,
        field: str = "candidate",
    ) -> CandidateContent:
        """Return the candidate's present content; later changes of the draft do not affect it.

        Raises `NotFound` for an unknown prompt or version. Raises `Invalid` for a change that the draft could not have,
        or a model that can't be used; its message begins with `field`, if that is not empty.
        """
        head, content = self.reader.read(
            connection,
            project_id=project_id,
            prompt_id=prompt_id,
            productive=False,
            commit_hash=candidate.commit_hash,
        )
        with _named(field if candidate != DRAFT else ""):
            if candidate.change is not None:
                content = self._overlaid(connection, head, content, candidate)
            if not content.model.usable:
                raise Invalid(f"languageModelName: The model {content.model.name!r} can't be used any more.")
        if candidate.external:
            content = replace(content, value="", config={}, placeholders=(), commit_hash=None)
        return CandidateContent(head, content, candidate.kind, candidate.commit_hash, candidate.external)

    def newest(self, connection: Connection, *, project_id: int, prompt_id: int) -> Candidate | None:
        """Return the prompt's newest version; None for a prompt that was never committed."""
        head = self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
        version = self.reader.newest(connection, head)
        return None if version is None else Candidate(version.row.commit_hash)

    def with_model(
        self, connection: Connection, candidate: CandidateContent, name: str, *, field: str
    ) -> CandidateContent:
        """Return the candidate with another model; raises `Invalid`, naming `field`, for an unsupported config."""
        overlay = Candidate(candidate.commit_hash, DraftChange(model_name=name))
        try:
            content = self._overlaid(connection, candidate.head, candidate.content, overlay)
        except Invalid as refused:
            raise Invalid(f"{field}: {str(refused).removeprefix('languageModelName: ')}") from refused
        return CandidateContent(candidate.head, content, overlay.kind, candidate.commit_hash)

    def _overlaid(
        self, connection: Connection, head: PromptHead, base: PromptContent, candidate: Candidate
    ) -> PromptContent:
        """Return the base with the change.

        The base loses its fallback model if the change makes that the model.
        """
        change = candidate.change or DraftChange()
        if base.fallback and base.fallback.name == change.model_name:
            base = replace(base, fallback=None)
        content = drafts.changed(connection, self.models, head.organization_id, base, change)
        return replace(
            content,
            commit_hash=None,
            instruction_format=candidate.instruction_format or base.instruction_format,
        )


@contextmanager
def _named(field: str) -> Iterator[None]:
    """Prefix the messages of `Invalid` from the block with the name of a field, unless that is empty."""
    try:
        yield
    except Invalid as refused:
        if not field:
            raise
        raise Invalid(f"{field}.{refused}") from refused
