"""Vendors' credentials: an organization's, encrypted at rest, or the ones in the instance's settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit

from app.chat import Message
from app.concurrency import deadline
from app.concurrency.batching import Coalescer
from app.database.transactions import Database, retried
from app.encryption import CredentialCipher, Undecryptable
from app.errors import Invalid, NotFound, ProviderError
from app.models import audit_log, language_models
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.language_models import LanguageModel
from app.models.queries import delete_rows, put_row
from app.network.addresses import check_address
from app.providers.types import Credential, ModelConfig, ModelRef, ModelRequest, ProviderPort
from app.providers.vendors import CUSTOM, VENDORS
from app.timestamps import Now
from config.settings import VENDOR_VARIABLES

CHECK_TIMEOUT_S = 20.0
# Time for the work before and after the call.
AROUND_CHECK_S = 5.0
BASE_URL_MAX = 512
AZURE_VERSION = re.compile(r"api-version=[\w.-]{1,64}", re.ASCII)
# The encrypted key and the base URL; either may be "".
StoredKey = tuple[str, str]
# The last four characters of a shorter key would reveal too much of it.
SHOWN_FROM = 16


@dataclass(frozen=True, slots=True)
class StoredCredential:
    """The parts of a credential that may be shown; `set_at` is None if it comes from the settings.

    `last_four` is "" for a short key, for a key from the settings, and for a key that can't be decrypted.
    """

    vendor: str
    base_url: str
    set_at: datetime | None
    last_four: str = ""


@dataclass(slots=True, kw_only=True)
class CredentialService:
    """Credentials for calling vendors; `from_settings` is {vendor: (key, base URL)}."""

    database: Database
    now: Now
    secret_key: str
    from_settings: Mapping[str, tuple[str, str]]
    providers: ProviderPort
    _cipher: CredentialCipher = field(init=False)
    _stored: Coalescer[tuple[int, str], StoredKey | None] = field(init=False)

    def __post_init__(self) -> None:
        self._cipher = CredentialCipher(self.secret_key)
        self._stored = Coalescer(self.find_stored)

    def find(self, organization_id: int, vendor: str, *, base_url: str = "") -> Credential | None:
        """Return the credential for a vendor; raises `ProviderError` with advice if there is none.

        BUILTIN models need no credential, and neither does a model with a `base_url`.
        """
        stored = None if vendor == "BUILTIN" else self._stored((organization_id, vendor))
        return self.choose(vendor, stored, base_url=base_url)

    def choose(self, vendor: str, stored: StoredKey | None, *, base_url: str = "") -> Credential | None:
        """Do the same as `find`, given the organization's stored key of this vendor."""
        if vendor == "BUILTIN":
            return None
        if stored:
            if base_url and stored[1] and _origin(base_url) != _origin(stored[1]):
                # A key that was stored for one address must not go to another one.
                return Credential()
            return Credential(self._decrypt(vendor, stored[0]) or None, stored[1] or None)
        key, url = self.from_settings.get(vendor, ("", ""))
        if base_url and base_url != url:
            # The instance's key must not go to an address that an organization chose.
            return Credential()
        if key or (vendor == CUSTOM and url):
            return Credential(key or None, url or None)
        raise ProviderError(_nothing_set(vendor))

    def find_stored(self, keys: Sequence[tuple[int, str]]) -> Sequence[StoredKey | None]:
        """Return the stored key of each (organization id, vendor)."""
        with self.database.read() as connection:
            stored = language_models.find_credentials(connection, keys=set(keys))
        return [stored.get(key) for key in keys]

    def list(self, organization_id: int) -> list[StoredCredential]:
        """List the credentials of the vendors that can be called, by name."""
        with self.database.read() as connection:
            stored = language_models.list_credentials(connection, organization_id=organization_id)
        known = {vendor: StoredCredential(vendor, url, None) for vendor, (_, url) in self.from_settings.items()}
        for vendor, encrypted, url, set_at in stored:
            known[vendor] = StoredCredential(vendor, url, set_at, self._last_four(vendor, encrypted))
        return sorted(known.values(), key=lambda credential: credential.vendor)

    def lacking(self, organization_id: int, models: Iterable[LanguageModel]) -> set[int]:
        """Return the ids of the models that can't be called, because their vendor has no credential."""
        vendors = {"BUILTIN", *(credential.vendor for credential in self.list(organization_id))}
        return {model.id for model in models if not model.base_url and model.vendor not in vendors}

    def get(self, organization_id: int, vendor: str) -> StoredCredential:
        """Return the vendor's credential; `NotFound` if it has none."""
        for credential in self.list(organization_id):
            if credential.vendor == vendor:
                return credential
        raise NotFound("There is no such credential.")

    @retried
    def set(
        self, organization_id: int, vendor: str, *, api_key: str, base_url: str = "", actor: Actor = SYSTEM
    ) -> None:
        """Store a credential, replacing an older one; only custom endpoints may have no key."""
        if vendor not in VENDORS:
            raise Invalid(f"vendor: Use one of {', '.join(VENDORS)}.")
        if not api_key and vendor != CUSTOM:
            raise Invalid("apiKey: Must not be empty.")
        if not (api_key.isascii() and api_key.isprintable()) or " " in api_key:
            raise Invalid("apiKey: Has characters that no key has; copy it again.")
        check_base_url(base_url)
        now, encrypted = self.now(), self._cipher.encrypt(api_key)
        with self.database.write() as connection:
            key = {"organization_id": organization_id, "vendor": vendor}
            values = {"encrypted_key": encrypted, "base_url": base_url, "created_at": now}
            put_row(connection, language_models.vendor_credentials, key=key, values=values)
            details = address_details(base_url)
            audit_log.note(
                connection, now, actor, Action.CREDENTIAL_SET, vendor, details, organization_id=organization_id
            )

    @retried
    def clear(self, organization_id: int, vendor: str, *, actor: Actor = SYSTEM) -> None:
        """Remove an organization's credential; `NotFound` without one. The settings' credential holds again."""
        with self.database.write() as connection:
            key = {"organization_id": organization_id, "vendor": vendor}
            if not delete_rows(connection, language_models.vendor_credentials, **key):
                raise NotFound("There is no such credential.")
            action = Action.CREDENTIAL_CLEARED
            audit_log.note(connection, self.now(), actor, action, vendor, organization_id=organization_id)

    def check(self, organization_id: int, model: LanguageModel) -> None:
        """Call the model once; raises `ProviderError` with the vendor's message if the credential fails."""
        credential = self.find(organization_id, model.vendor, base_url=model.base_url)
        ref = ModelRef(model.vendor, model.name, model.base_url or None)  # type: ignore[arg-type]
        question = (Message("user", "Say OK."),)
        request = ModelRequest(ref, ModelConfig(), question, credential, CHECK_TIMEOUT_S, organization_id)
        deadline.allow(CHECK_TIMEOUT_S + AROUND_CHECK_S)
        self.providers.complete(request)

    def _last_four(self, vendor: str, encrypted: str) -> str:
        try:
            key = self._decrypt(vendor, encrypted)
        except (ProviderError, Invalid):
            return ""
        return key[-4:] if len(key) >= SHOWN_FROM else ""

    def _decrypt(self, vendor: str, encrypted: str) -> str:
        try:
            return self._cipher.decrypt(encrypted)
        except Undecryptable:
            reason = "can't be read, as REPRISE_SECRET_KEY changed; store it again."
            raise ProviderError(f"The credential stored for {vendor} {reason}") from None


def address_details(base_url: str) -> dict[str, str]:
    """Return the details of an audit log entry."""
    return {"baseUrl": base_url} if base_url else {}


def check_base_url(base_url: str) -> None:
    """Raise `Invalid` for an address that can't be called; "" means the vendor's default."""
    if not base_url:
        return
    check_address("baseUrl", base_url, longest=BASE_URL_MAX)
    address, _, query = base_url.partition("?")
    if "#" in base_url or (address != base_url and not AZURE_VERSION.fullmatch(query)):
        raise Invalid("baseUrl: Must have no fragment, and no query but Azure's api-version.")


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme.lower(), parts.netloc.lower()


def _nothing_set(vendor: str) -> str:
    key, url = VENDOR_VARIABLES[vendor]
    variable = url if vendor == CUSTOM else key
    return (
        f"There is no credential for {vendor}: start Reprise with {variable} in its environment, or store one in the "
        "organization's settings."
    )
