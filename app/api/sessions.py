"""/api/v1/sessions/{id}."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.access import ByKey
from app.api.operation import operation
from app.models.api_keys import ApiKey
from app.schemas import traces as schemas
from app.services.data.deletion import DeletionService
from app.services.traces.sessions import Session, SessionService


@dataclass(frozen=True, slots=True)
class SessionResource:
    access: ClassVar = ByKey({"GET": "read", "DELETE": "write"})
    sessions: SessionService
    deletion: DeletionService

    @operation("One session with its turns, steps and spans", answers={200: schemas.Session})
    def on_get(self, key: ApiKey, session_id: str) -> Session:
        return self.sessions.get(project_id=key.project_id, session_id=session_id)

    @operation("Delete a session with its spans; test cases made from it stay", answers={204: None})
    def on_delete(self, key: ApiKey, session_id: str) -> None:
        self.deletion.delete_session(project_id=key.project_id, session_id=session_id, actor=key.actor)
