"""GET /api/v1/sessions: the sessions of the whole project, and their export."""

from __future__ import annotations

from typing import Any

from app.api.operation import Call, Command, Resource, operation
from app.http.exports import CSV, NDJSON, send_sessions
from app.models.api_keys import ApiKey
from app.schemas import sessions as schemas


class Sessions(Resource, tag="Sessions", GET="read"):
    @operation(
        "The sessions of the project; a search that takes too long ends its page early: go on with nextCursor",
        query=schemas.SessionQuerySchema,
        answers={200: schemas.Sessions},
    )
    def on_get(self, key: ApiKey, command: Command) -> schemas.SessionPage:
        query: dict[str, Any] = dict(command)
        counts = query.pop("count", False)
        listing = self.services.session_list
        found = listing.page(project_id=key.project_id, **query)
        count = listing.count(project_id=key.project_id, filters=query["filters"]) if counts else None
        return schemas.SessionPage(found.entries, found.next_cursor, count, found.sorted)


class SessionExport(Resource, tag="Sessions", GET="read"):
    """A line for each session that matches, as the list has it: JSON, or CSV where the caller prefers that."""

    exports = frozenset({"GET"})

    @operation(
        "Export the sessions of the project that match",
        query=schemas.SessionExportSchema,
        answers={200: None},
        texts=(NDJSON, CSV),
    )
    def on_get(self, key: ApiKey, command: Command, call: Call) -> None:
        found = self.services.session_list.all(project_id=key.project_id, **command)
        send_sessions(call.req, call.resp, found, as_csv=call.req.client_prefers((NDJSON, CSV)) == CSV)
