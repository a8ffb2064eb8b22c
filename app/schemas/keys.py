"""API keys; only the answer to the making of a key has its secret."""

from __future__ import annotations

from typing import NamedTuple

from marshmallow import fields, validate

from app.models import api_keys
from app.schemas.answer import Answer, choice, integer, itself, many, part, text, time
from app.schemas.base import BoundedList, Moment, StrictSchema, Text
from app.services.accounts.keys import SCOPES
from app.services.accounts.projects import NAME_MAX


class NewKeySchema(StrictSchema):
    """Without `scopes` the new key has the scopes of the key that makes it, except `admin`."""

    name = Text(required=True, minimum=1, maximum=NAME_MAX, trim=True)
    scopes = BoundedList(
        fields.String(validate=validate.OneOf(sorted(SCOPES))), minimum=1, maximum=len(SCOPES), into=frozenset
    )
    expires_at = Moment(allow_none=True)


class ApiKey(Answer):
    id = integer()
    name = text()
    last_four = text()
    scopes = many(choice(*sorted(SCOPES)), get=lambda key: sorted(key.scopes))
    created_at = time()
    expires_at = time(allow_none=True)
    revoked_at = time(allow_none=True)
    last_used_at = time(allow_none=True)


class MadeKey(NamedTuple):
    """A new key with its secret."""

    key: api_keys.ApiKey
    secret: str


class CreatedApiKey(Answer):
    api_key = part(ApiKey, "key")
    key = text(attribute="secret")


class ApiKeys(Answer):
    api_keys = many(ApiKey, get=itself)
