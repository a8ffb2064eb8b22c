"""Requests for vendors' credentials, and credentials as JSON: never the key."""

from __future__ import annotations

from typing import Any

from app.schemas.base import StrictSchema, Text
from app.services.language_models.credentials import BASE_URL_MAX, StoredCredential
from app.timestamps import iso_or_none

KEY_MAX = 4096


class CredentialSchema(StrictSchema):
    """The whole credential: a key is never sent to a base URL that came without it."""

    api_key = Text(data_key="apiKey", maximum=KEY_MAX, trim=True, load_default="")
    base_url = Text(data_key="baseUrl", maximum=BASE_URL_MAX, trim=True, load_default="")


def dump_credential(credential: StoredCredential) -> dict[str, Any]:
    return {
        "vendor": credential.vendor,
        "source": "organization" if credential.set_at else "instance",
        "lastFour": credential.last_four,
        "baseUrl": credential.base_url,
        "setAt": iso_or_none(credential.set_at),
    }
