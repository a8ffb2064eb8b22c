"""Saved filters of a project's list of sessions: listed, saved and deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from app.database.transactions import Database, retried
from app.errors import Conflict, Invalid, NotFound, require
from app.models import audit_log, organizations, session_filters
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.prompts import require_known
from app.models.queries import delete_rows, insert_row
from app.models.session_filters import SavedFilter
from app.timestamps import Now

FILTERS_MAX = 100
"""Filters of one project."""


@dataclass(frozen=True, slots=True)
class NewFilter:
    """The name of a filter, and its fields of the list's query, as JSON."""

    name: str
    filters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFilterService:
    database: Database
    now: Now

    def list(self, *, project_id: int) -> list[SavedFilter]:
        """Return the project's filters, ordered by name."""
        with self.database.read() as connection:
            return session_filters.list_filters(connection, project_id=project_id)

    def get(self, *, project_id: int, filter_id: int) -> SavedFilter:
        """Return a filter; `NotFound` if there is none."""
        with self.database.read() as connection:
            return _saved_filter(connection, project_id, filter_id)

    @retried
    def save(self, *, project_id: int, new: NewFilter, actor: Actor = SYSTEM) -> SavedFilter:
        """Store a filter; `NotFound` for no such prompt, `Conflict` for a name in use, `Invalid` beyond the limit."""
        prompt_id = new.filters.get("promptId")
        with self.database.write() as connection:
            # The lock serialises concurrent saves, so that each sees the other's name.
            organizations.lock_owner(connection, project_id)
            if prompt_id is not None:
                require_known(connection, project_id=project_id, prompt_id=prompt_id)
            saved = session_filters.list_filters(connection, project_id=project_id)
            if new.name in {filter_.name for filter_ in saved}:
                raise Conflict("name: A saved filter has this name: choose another one, or delete that filter first.")
            if len(saved) >= FILTERS_MAX:
                raise Invalid(f"name: A project has at most {FILTERS_MAX} saved filters; delete one first.")
            values = {"prompt_id": prompt_id, "name": new.name, "filters": new.filters, "created_at": self.now()}
            filter_id = insert_row(connection, session_filters.session_filters, project_id=project_id, **values)
            self._note(connection, actor, Action.SESSION_FILTER_SAVED, new.name, project_id)
            return _saved_filter(connection, project_id, filter_id)

    @retried
    def delete(self, *, project_id: int, filter_id: int, actor: Actor = SYSTEM) -> None:
        """Delete a filter; `NotFound` if there is none."""
        with self.database.write() as connection:
            known = _saved_filter(connection, project_id, filter_id)
            if not delete_rows(connection, session_filters.session_filters, id=filter_id, project_id=project_id):
                raise NotFound(NO_FILTER)
            self._note(connection, actor, Action.SESSION_FILTER_DELETED, known.name, project_id)

    def _note(self, connection: Connection, actor: Actor, action: Action, name: str, project_id: int) -> None:
        audit_log.note(connection, self.now(), actor, action, name, project_id=project_id)


NO_FILTER = "There is no such saved filter."


def _saved_filter(connection: Connection, project_id: int, filter_id: int) -> SavedFilter:
    filter_ = session_filters.find_filter(connection, project_id=project_id, filter_id=filter_id)
    return require(filter_, NO_FILTER)
