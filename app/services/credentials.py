"""Vendors' credentials: an organization's own, encrypted at rest, else those of the instance's settings."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from cryptography.fernet import Fernet, InvalidToken

from app.chat import Message
from app.db import Database
from app.errors import Invalid, NotFound, ProviderError
from app.models import vendor_credentials
from app.models.language_models import LanguageModel
from app.providers.types import Credential, ModelConfig, ModelPort, ModelRef, ModelRequest
from app.timestamps import Now
from config.settings import VENDOR_VARIABLES

CHECK_TIMEOUT_S = 20.0
BASE_URL_MAX = 512


@dataclass(frozen=True, slots=True)
class StoredCredential:
    """What may be shown of a credential; `set_at` is None for one of the settings."""

    vendor: str
    base_url: str
    set_at: datetime | None


class CredentialService:
    def __init__(
        self, *, database: Database, now: Now, secret_key: str, from_settings: Mapping[str, tuple[str, str]]
    ) -> None:
        """`from_settings` is {vendor: (key, base URL)}."""
        self._database = database
        self._now = now
        self._secret_key = secret_key
        self._from_settings = from_settings

    def find(self, organization_id: int, vendor: str, *, base_url: str = "") -> Credential | None:
        """What to call the vendor with. `ProviderError`, saying what to set, when there is nothing.

        BUILTIN models need none, and neither does an endpoint whose own `base_url` the model brings along.
        """
        if vendor == "BUILTIN":
            return None
        with self._database.read() as connection:
            stored = vendor_credentials.find_credential(connection, organization_id=organization_id, vendor=vendor)
        if stored:
            return Credential(self._decrypt(vendor, stored[0]) or None, stored[1] or None)
        key, url = self._from_settings.get(vendor, ("", ""))
        if base_url and base_url != url:
            # The instance's key must not go to an address that an organization chose.
            return Credential()
        if key or (vendor == "CUSTOM_OPENAI_COMPATIBLE" and url):
            return Credential(key or None, url or None)
        raise ProviderError(_nothing_set(vendor))

    def list(self, organization_id: int) -> list[StoredCredential]:
        """The vendors that can be called, by name."""
        with self._database.read() as connection:
            own = vendor_credentials.list_credentials(connection, organization_id=organization_id)
        known = {vendor: StoredCredential(vendor, url, None) for vendor, (_, url) in self._from_settings.items()}
        known |= {vendor: StoredCredential(vendor, url, set_at) for vendor, url, set_at in own}
        return sorted(known.values(), key=lambda credential: credential.vendor)

    def set(self, organization_id: int, vendor: str, *, api_key: str, base_url: str = "") -> None:
        if vendor not in VENDOR_VARIABLES:
            raise Invalid(f"vendor: Use one of {', '.join(VENDOR_VARIABLES)}.")
        if not api_key and vendor != "CUSTOM_OPENAI_COMPATIBLE":
            raise Invalid("apiKey: Must not be empty.")
        if base_url and not base_url.startswith(("https://", "http://")):
            raise Invalid("baseUrl: Must begin with https:// or http://.")
        if len(base_url) > BASE_URL_MAX:
            raise Invalid(f"baseUrl: Longer than {BASE_URL_MAX} characters.")
        encrypted = self._fernet().encrypt(api_key.encode()).decode()
        with self._database.write() as connection:
            vendor_credentials.put_credential(
                connection,
                organization_id=organization_id,
                vendor=vendor,
                encrypted_key=encrypted,
                base_url=base_url,
                now=self._now(),
            )

    def clear(self, organization_id: int, vendor: str) -> None:
        with self._database.write() as connection:
            if not vendor_credentials.delete_credential(connection, organization_id=organization_id, vendor=vendor):
                raise NotFound("There is no such credential.")

    def check(self, organization_id: int, model: LanguageModel, providers: ModelPort) -> None:
        """Ask the model for a word; `ProviderError` with the vendor's own when the credential does not serve."""
        credential = self.find(organization_id, model.vendor, base_url=model.base_url)
        ref = ModelRef(model.vendor, model.name, model.base_url or None)  # type: ignore[arg-type]
        question = (Message("user", "Say OK."),)
        providers.complete(ModelRequest(ref, ModelConfig(), question, credential, CHECK_TIMEOUT_S))

    def _decrypt(self, vendor: str, encrypted: str) -> str:
        try:
            return self._fernet().decrypt(encrypted.encode()).decode()
        except InvalidToken:
            words = "can't be read, as REPRISE_SECRET_KEY changed; store it again."
            raise ProviderError(f"The credential stored for {vendor} {words}") from None

    def _fernet(self) -> Fernet:
        if not self._secret_key:
            raise Invalid("Set REPRISE_SECRET_KEY: without it no credential can be stored or read.")
        # The setting may be any text; Fernet takes 32 bytes.
        return Fernet(base64.urlsafe_b64encode(sha256(b"credentials:" + self._secret_key.encode()).digest()))


def _nothing_set(vendor: str) -> str:
    key, url = VENDOR_VARIABLES.get(vendor, ("", ""))
    variable = url if vendor == "CUSTOM_OPENAI_COMPATIBLE" else key
    return f"There is no credential for {vendor}: set {variable}, or store one in the organization's settings."
