"""GET /api/v1/sessions: the sessions of a project, and their export."""

from __future__ import annotations

from typing import Any

from app.api.operation import ApiCall, Command, Resource, operation
from app.http.exports import CSV, NDJSON, send_sessions
from app.models.api_keys import ApiKey
from app.schemas import sessions as schemas


class SessionsResource(Resource, tag="Sessions", GET="read"):
    @operation(
        "The project's sessions; a slow search ends its page early: continue with nextCursor",
        query=schemas.SessionQuerySchema,
        answers={200: schemas.SessionsSchema},
    )
    def on_get(self, key: ApiKey, command: Command) -> schemas.SessionPage:
        query: dict[str, Any] = dict(command)
        counts = query.pop("count", False)
        listing = self.services.session_list
        page = listing.page(project_id=key.project_id, **query)
        count = listing.count(project_id=key.project_id, filters=query["filters"]) if counts else None
        return schemas.SessionPage(page.entries, page.next_cursor, count, page.sorted)


class SessionExport(Resource, tag="Sessions", GET="read"):
    """A line for each matching session, in the order of the list: JSON, or CSV if the caller prefers it."""

    exports = frozenset({"GET"})

    @operation(
        "Export the project's matching sessions",
        query=schemas.SessionExportSchema,
        answers={200: None},
        texts=(NDJSON, CSV),
    )
    def on_get(self, key: ApiKey, command: Command, call: ApiCall) -> None:
        sessions = self.services.session_list.all(project_id=key.project_id, **command)
        send_sessions(call.req, call.resp, sessions, as_csv=call.req.client_prefers((NDJSON, CSV)) == CSV)
