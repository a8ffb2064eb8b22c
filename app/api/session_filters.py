"""/api/v1/session-filters: saved filters of the list of a project's sessions."""

from __future__ import annotations

from app.api.operation import Resource, operation
from app.models import session_filters as models
from app.models.api_keys import ApiKey
from app.schemas import session_filters as schemas
from app.services.sessions.saved_filters import NewFilter


class SessionFilters(Resource, tag="Sessions", GET="read", POST="write"):
    @operation("The project's saved filters, sorted by name", answers={200: schemas.SavedFilters})
    def on_get(self, key: ApiKey) -> list[models.SavedFilter]:
        return self.services.saved_filters.list(project_id=key.project_id)

    @operation(
        "Save a filter of the project's sessions",
        body=schemas.SavedFilterSchema,
        answers={201: schemas.SavedFilterAnswerSchema},
        location="/api/v1/session-filters/{id}",
        errors=(404, 409),
    )
    def on_post(self, key: ApiKey, command: NewFilter) -> models.SavedFilter:
        return self.services.saved_filters.save(project_id=key.project_id, new=command, actor=key.actor)


class SessionFilterResource(Resource, tag="Sessions", GET="read", DELETE="write"):
    @operation("One saved filter", answers={200: schemas.SavedFilterAnswerSchema})
    def on_get(self, key: ApiKey, filter_id: int) -> models.SavedFilter:
        return self.services.saved_filters.get(project_id=key.project_id, filter_id=filter_id)

    @operation("Delete a saved filter", answers={204: None})
    def on_delete(self, key: ApiKey, filter_id: int) -> None:
        self.services.saved_filters.delete(project_id=key.project_id, filter_id=filter_id, actor=key.actor)
