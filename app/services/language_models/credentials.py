"""Vendors' credentials: an organization's own, encrypted at rest, else those of the instance's settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from sqlalchemy import Connection

from app.chat import Message
from app.coalesce import Coalescer
from app.db import Database
from app.encryption import CredentialCipher, Undecryptable
from app.errors import Invalid, NotFound, ProviderError
from app.models import audit_log, vendor_credentials
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.language_models import LanguageModel
from app.providers.addresses import FORBIDDEN, is_forbidden_host
from app.providers.types import Credential, ModelConfig, ModelPort, ModelRef, ModelRequest
from app.timestamps import Now
from config.settings import VENDOR_VARIABLES

CUSTOM = "CUSTOM_OPENAI_COMPATIBLE"
CHECK_TIMEOUT_S = 20.0
BASE_URL_MAX = 512
# Of a shorter key the last four characters would say too much.
SHOWN_FROM = 16


@dataclass(frozen=True, slots=True)
class StoredCredential:
    """What may be shown of a credential; `set_at` is None for one of the settings.

    `last_four` is "" for a key that is short, of the settings, or can't be read.
    """

    vendor: str
    base_url: str
    set_at: datetime | None
    last_four: str = ""


class CredentialService:
    def __init__(
        self,
        *,
        database: Database,
        now: Now,
        secret_key: str,
        from_settings: Mapping[str, tuple[str, str]],
        providers: ModelPort,
    ) -> None:
        """`from_settings` is {vendor: (key, base URL)}."""
        self._database = database
        self._now = now
        self._cipher = CredentialCipher(secret_key)
        self._from_settings = from_settings
        self._providers = providers
        self._stored: Coalescer[tuple[int, str], tuple[str, str] | None] = Coalescer(self.find_stored)

    def find(self, organization_id: int, vendor: str, *, base_url: str = "") -> Credential | None:
        """What to call the vendor with. `ProviderError`, saying what to set, when there is nothing.

        BUILTIN models need none, and neither does an endpoint whose own `base_url` the model brings along.
        """
        if vendor == "BUILTIN":
            return None
        stored = self._stored((organization_id, vendor))
        if stored:
            return Credential(self._decrypt(vendor, stored[0]) or None, stored[1] or None)
        key, url = self._from_settings.get(vendor, ("", ""))
        if base_url and base_url != url:
            # The instance's key must not go to an address that an organization chose.
            return Credential()
        if key or (vendor == CUSTOM and url):
            return Credential(key or None, url or None)
        raise ProviderError(_nothing_set(vendor))

    def find_stored(self, wanted: Sequence[tuple[int, str]]) -> Sequence[tuple[str, str] | None]:
        """(encrypted key, base URL) that each organization stored for the vendor named with it."""
        with self._database.read() as connection:
            found = vendor_credentials.find_credentials(connection, wanted=set(wanted))
        return [found.get(one) for one in wanted]

    def list(self, organization_id: int) -> list[StoredCredential]:
        """The vendors that can be called, by name."""
        with self._database.read() as connection:
            own = vendor_credentials.list_credentials(connection, organization_id=organization_id)
        known = {vendor: StoredCredential(vendor, url, None) for vendor, (_, url) in self._from_settings.items()}
        for vendor, encrypted, url, set_at in own:
            known[vendor] = StoredCredential(vendor, url, set_at, self._last_four(vendor, encrypted))
        return sorted(known.values(), key=lambda credential: credential.vendor)

    def get(self, organization_id: int, vendor: str) -> StoredCredential:
        """`NotFound` when the vendor can't be called."""
        for credential in self.list(organization_id):
            if credential.vendor == vendor:
                return credential
        raise NotFound("There is no such credential.")

    def set(
        self, organization_id: int, vendor: str, *, api_key: str, base_url: str = "", actor: Actor = SYSTEM
    ) -> None:
        """Store a credential in place of an older one; an endpoint of one's own may need no key."""
        if vendor not in VENDOR_VARIABLES:
            raise Invalid(f"vendor: Use one of {', '.join(VENDOR_VARIABLES)}.")
        if not api_key and vendor != CUSTOM:
            raise Invalid("apiKey: Must not be empty.")
        if not (api_key.isascii() and api_key.isprintable()) or " " in api_key:
            raise Invalid("apiKey: Has characters that no key has; copy it anew.")
        check_base_url(base_url)
        encrypted = self._cipher.encrypt(api_key)
        with self._database.write() as connection:
            vendor_credentials.put_credential(
                connection,
                organization_id=organization_id,
                vendor=vendor,
                encrypted_key=encrypted,
                base_url=base_url,
                now=self._now(),
            )
            self._note(connection, organization_id, actor, Action.CREDENTIAL_SET, vendor, base_url)

    def clear(self, organization_id: int, vendor: str, *, actor: Actor = SYSTEM) -> None:
        with self._database.write() as connection:
            if not vendor_credentials.delete_credential(connection, organization_id=organization_id, vendor=vendor):
                raise NotFound("There is no such credential.")
            self._note(connection, organization_id, actor, Action.CREDENTIAL_CLEARED, vendor)

    def check(self, organization_id: int, model: LanguageModel) -> None:
        """Ask the model for a word; `ProviderError` with the vendor's own when the credential does not serve."""
        credential = self.find(organization_id, model.vendor, base_url=model.base_url)
        ref = ModelRef(model.vendor, model.name, model.base_url or None)  # type: ignore[arg-type]
        question = (Message("user", "Say OK."),)
        request = ModelRequest(ref, ModelConfig(), question, credential, CHECK_TIMEOUT_S, organization_id)
        self._providers.complete(request)

    def _note(
        self,
        connection: Connection,
        organization_id: int,
        actor: Actor,
        action: Action,
        vendor: str,
        base_url: str = "",
    ) -> None:
        details = {"baseUrl": base_url} if base_url else {}
        audit_log.note(connection, self._now(), actor, action, vendor, organization_id=organization_id, details=details)

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
            words = "can't be read, as REPRISE_SECRET_KEY changed; store it again."
            raise ProviderError(f"The credential stored for {vendor} {words}") from None


def check_base_url(base_url: str) -> None:
    """`Invalid` for what can't be called; "" stands for the vendor's own."""
    if not base_url:
        return
    try:
        parts = urlsplit(base_url)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        whole = False
    if not whole or not base_url.isprintable() or " " in base_url:
        raise Invalid("baseUrl: Must be a whole address that begins with https:// or http://.")
    if "?" in base_url or "#" in base_url or "\\" in base_url:
        raise Invalid("baseUrl: Must have no query and no fragment: what is asked for is added to its path.")
    if is_forbidden_host(parts.hostname or "") or "%" in parts.netloc:
        raise Invalid(f"baseUrl: Must not name {FORBIDDEN}.")
    if "@" in parts.netloc:
        raise Invalid("baseUrl: Must have no user or password: it is shown to those who may change it.")
    if len(base_url) > BASE_URL_MAX:
        raise Invalid(f"baseUrl: Longer than {BASE_URL_MAX} characters.")


def _nothing_set(vendor: str) -> str:
    key, url = VENDOR_VARIABLES.get(vendor, ("", ""))
    variable = url if vendor == CUSTOM else key
    return f"There is no credential for {vendor}: set {variable}, or store one in the organization's settings."
