"""Requests for API keys, and keys as JSON: never the secret, but in the answer that makes one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from marshmallow import fields, post_load, validate

from app.models.api_keys import ApiKey
from app.schemas.base import BoundedList, Moment, StrictSchema, Text
from app.services.accounts.keys import SCOPES
from app.services.accounts.projects import NAME_MAX
from app.timestamps import iso, iso_or_none


@dataclass(frozen=True, slots=True)
class WantedKey:
    """`scopes` None asks for those of the key that makes it, but `admin`."""

    name: str
    scopes: frozenset[str] | None = None
    expires_at: datetime | None = None


class NewKeySchema(StrictSchema):
    name = Text(required=True, minimum=1, maximum=NAME_MAX, trim=True)
    scopes = BoundedList(fields.String(validate=validate.OneOf(sorted(SCOPES))), minimum=1, maximum=len(SCOPES))
    expires_at = Moment(data_key="expiresAt", allow_none=True)

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
