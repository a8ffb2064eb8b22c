"""Requests for API keys, and keys as JSON: never the secret, but in the answer that makes one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from marshmallow import ValidationError, fields, post_load, validate

from app.models.api_keys import ApiKey
from app.schemas.base import BoundedList, StrictSchema, Text
from app.services.keys import SCOPES
from app.services.projects import NAME_MAX
from app.timestamps import iso, iso_or_none

# Databases and time zones disagree on what comes after the year 9999.
LAST_EXPIRY = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class WantedKey:
    """`scopes` None asks for those of the key that makes it."""

    name: str
    scopes: frozenset[str] | None = None
    expires_at: datetime | None = None


def _within_the_calendar(expires_at: datetime) -> None:
    if expires_at > LAST_EXPIRY:
        raise ValidationError("Must be before the year 9999.")


class NewKeySchema(StrictSchema):
    name = Text(required=True, minimum=1, maximum=NAME_MAX, trim=True)
    scopes = BoundedList(fields.String(validate=validate.OneOf(sorted(SCOPES))), minimum=1, maximum=len(SCOPES))
    expires_at = fields.AwareDateTime(
        data_key="expiresAt", default_timezone=None, allow_none=True, validate=_within_the_calendar
    )

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> WantedKey:
        scopes = data.pop("scopes", None)
        return WantedKey(scopes=None if scopes is None else frozenset(scopes), **data)


def dump_key(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "lastFour": key.last_four,
        "scopes": sorted(key.scopes),
        "createdAt": iso(key.created_at),
        "expiresAt": iso_or_none(key.expires_at),
        "revokedAt": iso_or_none(key.revoked_at),
        "lastUsedAt": iso_or_none(key.last_used_at),
    }
