"""Saved filters of the list of a project's sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from marshmallow import ValidationError, fields, post_load

from app.models import session_filters
from app.schemas.answer import AnswerSchema, fields_of, listing, one
from app.schemas.base import StrictBoolean, StrictSchema, Text
from app.schemas.sessions import Filters
from app.services.sessions.saved_filters import NewFilter
from app.timestamps import iso


class FilterQuerySchema(Filters):
    """The filters in an address. They load to their stored form: JSON with the names of the query."""

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        if not data:
            raise ValidationError("Choose at least one filter.")
        names = {field.attribute or name: str(field.data_key) for name, field in self.load_fields.items()}
        return {names[name]: iso(value) if isinstance(value, datetime) else value for name, value in data.items()}


class ChosenFilters(FilterQuerySchema):
    """Fields of the query of GET /api/v1/sessions that filter and sort sessions; at least one is required."""

    errors = StrictBoolean()


class SavedFilterSchema(StrictSchema):
    """`name` is unique in the project."""

    command: ClassVar = NewFilter

    name = Text(required=True, minimum=1, maximum=session_filters.FILTER_NAME_MAX, trim=True)
    filters = fields.Nested(ChosenFilters, required=True)


class SavedFilterAnswerSchema(AnswerSchema):
    """`filters` can be sent unchanged as the query of GET /api/v1/sessions."""

    row = fields_of(session_filters.SavedFilter, "id", "name")
    filters = one(ChosenFilters)
    saved = fields_of(session_filters.SavedFilter, "created_at")


SavedFilters = listing("session_filters", SavedFilterAnswerSchema, name="SavedFilters")
