"""The settings' credentials: for each vendor where its key comes from, and whether it can be tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.services.language_models.credentials import StoredCredential
from app.web.presenters.tabs import Tab, settings_tabs
from app.web.presenters.vendors import VENDORS
from config.settings import VENDOR_VARIABLES


@dataclass(frozen=True, slots=True)
class CredentialRow:
    """`set_at` is None for a credential of the instance's settings; `variable` is the one that holds its key."""

    vendor: str
    name: str
    variable: str
    known: bool
    own: bool
    base_url: str
    set_at: datetime | None
    last_four: str


@dataclass(frozen=True, slots=True)
class CredentialsPage:
    tabs: list[Tab]
    rows: list[CredentialRow]
    vendor: str = ""
    base_url: str = ""
    problem: str = ""
    title = "Credentials"
    vendors = tuple((vendor, VENDORS[vendor]) for vendor in VENDOR_VARIABLES)


def credentials_page(base: str, stored: Sequence[StoredCredential], **more: str) -> CredentialsPage:
    by_vendor = {credential.vendor: credential for credential in stored}
    rows = [_row(vendor, by_vendor.get(vendor)) for vendor in VENDOR_VARIABLES]
    return CredentialsPage(settings_tabs(base, "credentials"), rows, **more)


def _row(vendor: str, stored: StoredCredential | None) -> CredentialRow:
    return CredentialRow(
        vendor=vendor,
        name=VENDORS[vendor],
        variable=VENDOR_VARIABLES[vendor][0],
        known=stored is not None,
        own=stored is not None and stored.set_at is not None,
        base_url=stored.base_url if stored else "",
        set_at=stored.set_at if stored else None,
        last_four=stored.last_four if stored else "",
    )
