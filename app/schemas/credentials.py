"""Vendors' credentials; answers never have the key."""

from __future__ import annotations

from app.schemas.answer import Answer, choice, itself, many, text, time
from app.schemas.base import StrictSchema, Text
from app.services.language_models.credentials import BASE_URL_MAX
from config.settings import VENDOR_VARIABLES

KEY_MAX = 4096


class CredentialSchema(StrictSchema):
    """The whole credential: a key is never sent to a base URL that came without it."""

    api_key = Text(maximum=KEY_MAX, trim=True, load_default="")
    base_url = Text(maximum=BASE_URL_MAX, trim=True, load_default="")


class StoredCredential(Answer):
    vendor = choice(*VENDOR_VARIABLES)
    source = choice("organization", "instance", get=lambda stored: "organization" if stored.set_at else "instance")
    last_four = text()
    base_url = text()
    set_at = time(allow_none=True)


class Credentials(Answer):
    credentials = many(StoredCredential, get=itself)


class CheckedCredential(Answer):
    """The model that answered the check."""

    model = text(attribute="name")
