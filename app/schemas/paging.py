"""Queries for one page of a listing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from marshmallow import fields, validate

from app.schemas.base import StrictSchema, Text

PAGE = 50
PAGE_MAX = 200


@dataclass(frozen=True, slots=True)
class PageQuery:
    """`cursor` is the `nextCursor` of the page before."""

    limit: int = PAGE
    cursor: str | None = None


class PageQuerySchema(StrictSchema):
    command: ClassVar[type] = PageQuery

    limit = fields.Integer(validate=validate.Range(1, PAGE_MAX))
    cursor = Text(maximum=1000)
