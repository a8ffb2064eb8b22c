"""A prompt's sessions, runs or test cases as a file of JSON lines: what the API exports, for who is signed in."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.http.exports import send_lines
from app.models.memberships import Role
from app.schemas.base import load
from app.schemas.exports import ExportQuery, ExportQuerySchema, records
from app.web.page import Page


class Export(Page):
    access = ByRole({"GET": Role.VIEWER})
    section = "prompts"
    exports = frozenset({"GET"})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int, kind: str) -> None:
        wanted: ExportQuery = load(ExportQuerySchema(), req.params)
        found = records(self.services.export, kind, project_id=project_id, prompt_id=prompt_id, wanted=wanted)
        send_lines(req, resp, found, name=f"{kind}-{prompt_id}")
