"""/api/v1/sessions/{id}."""

from __future__ import annotations

import falcon
import orjson

from app.access import ByKey
from app.api.operation import operation
from app.schemas.answers import sessions as answers
from app.services.data.deletion import DeletionService
from app.services.traces.sessions import SessionService
from app.sessions.present import present_session


class SessionResource:
    access = ByKey({"GET": "read", "DELETE": "write"})

    def __init__(self, *, sessions: SessionService, deletion: DeletionService) -> None:
        self._sessions = sessions
        self._deletion = deletion

    @operation("One session with its turns, steps and spans", answers={200: answers.Session})
    def on_get(self, req: falcon.Request, resp: falcon.Response, session_id: str) -> None:
        session = self._sessions.get(project_id=req.context.key.project_id, session_id=session_id)
        shown = present_session(session.id, session.prompt_id, session.conversation_id, session.turns)
        resp.content_type = falcon.MEDIA_JSON
        resp.data = orjson.dumps(shown, option=orjson.OPT_NON_STR_KEYS)

    @operation("Delete a session with its spans; test cases made from it stay", answers={204: None})
    def on_delete(self, req: falcon.Request, resp: falcon.Response, session_id: str) -> None:
        key = req.context.key
        self._deletion.delete_session(project_id=key.project_id, session_id=session_id, actor=key.actor)
        resp.status = falcon.HTTP_204
