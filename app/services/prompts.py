"""Prompts: created, read, rendered, listed, changed in their draft, archived."""

from __future__ import annotations

from app.db import Database
from app.errors import NotFound
from app.services.models import ModelService
from app.services.prompt_content import PromptContent
from app.services.prompt_reader import PromptReader
from app.timestamps import Now


class PromptService:
    def __init__(self, *, database: Database, now: Now, models: ModelService, reader: PromptReader) -> None:
        self._database = database
        self._now = now
        self._models = models
        self._reader = reader

    def content(
        self,
        *,
        project_id: int,
        prompt_id: int,
        productive: bool,
        commit_hash: str | None = None,
        require_committed: bool = False,
    ) -> PromptContent:
        """What runs: the version of `commit_hash`, else the newest one, else (or when not productive) the draft.

        `NotFound` for a prompt or version that is not there, and, with `require_committed`, for a productive use
        of a prompt that was never committed.
        """
        with self._database.read() as connection:
            head = self._reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            if require_committed and productive and commit_hash is None and head.newest_version_id is None:
                raise NotFound("The prompt has no committed version; commit it, or send productive: false.")
            return self._reader.content(connection, head, productive=productive, commit_hash=commit_hash)
