"""The settings' pages: API keys, members and invitations, models, the project, the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from app.cursors import Page
from app.models.api_keys import ApiKey
from app.models.audit_log import AuditEntry
from app.models.invitations import Invitation
from app.models.language_models import LanguageModel
from app.models.memberships import Member, Role
from app.services.accounts.keys import DEFAULT_SCOPES
from app.web.presenters.lists import first_link, next_link
from app.web.presenters.tabs import Tab, settings_tabs
from app.web.presenters.vendors import VENDORS

EXPIRIES = [("", "Never"), ("30", "In 30 days"), ("90", "In 90 days"), ("365", "In a year")]
ROLES = [
    ("viewer", "Viewer: reads"),
    ("member", "Member: edits and runs"),
    ("admin", "Admin: changes settings too"),
]
DETAILS = {
    "baseUrl": "base URL",
    "lastFour": "ends in",
    "is_default": "default",
    "old": "before",
    "new": "now",
    "wrong": "wrong passwords",
    "refused": "refused tries",
    "address": "last from",
}


@dataclass(frozen=True, slots=True)
class KeyRow:
    id: int
    name: str
    last_four: str
    valid: bool
    state: str
    last_used_at: datetime | None
    created_at: datetime
    expires_at: datetime | None
    may: str


@dataclass(frozen=True, slots=True)
class KeysPage:
    """`secret` is a key made just now, shown this once; `admin` is whether the form had it ticked."""

    tabs: list[Tab]
    rows: list[KeyRow]
    name: str = ""
    admin: str = ""
    secret: str = ""
    problem: str = ""
    title = "API keys"
    expiries = EXPIRIES


def keys_page(base: str, keys: Sequence[ApiKey], now: datetime, **more: str) -> KeysPage:
    """Keys that work come first, the newest on top."""
    rows = [_key(key, now) for key in sorted(keys, key=lambda key: (not key.valid_at(now), -key.id))]
    return KeysPage(settings_tabs(base, "keys"), rows, **more)


def _key(key: ApiKey, now: datetime) -> KeyRow:
    valid = key.valid_at(now)
    state = "" if valid else "revoked" if key.revoked_at else "expired"
    # What most keys may is not worth saying.
    may = "" if key.scopes == DEFAULT_SCOPES else ", ".join(sorted(key.scopes))
    return KeyRow(
        key.id, key.name, key.last_four, valid, state, key.last_used_at, key.created_at, key.expires_at, may
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class MembersPage:
    """`link` is an invitation made just now, shown this once."""

    tabs: list[Tab]
    members: Sequence[Member]
    invitations: Sequence[Invitation]
    email: str = ""
    link: str = ""
    link_email: str = ""
    problem: str = ""
    title = "Members"
    roles = ROLES
    short_roles = tuple((role.value, role.value.capitalize()) for role in Role)


def members_page(base: str, members: Sequence[Member], invitations: Sequence[Invitation], **more: str) -> MembersPage:
    return MembersPage(settings_tabs(base, "members"), members, invitations, **more)


@dataclass(frozen=True, slots=True)
class ModelRow:
    """`actions` are (value, words) of what can be done with it."""

    id: int
    name: str
    description: str
    prompt_price: float
    completion_price: float
    context: int
    state: str
    actions: list[tuple[str, str]]
    base_url: str
    own: bool


@dataclass(frozen=True, slots=True)
class VendorModels:
    name: str
    models: list[ModelRow]


@dataclass(frozen=True, slots=True)
class ModelsPage:
    """`sent` is the form for a model of one's own as it came, shown again beside the problem."""

    tabs: list[Tab]
    vendors: list[VendorModels]
    sent: Mapping[str, str]
    problem: str = ""
    title = "Models"


def models_page(
    base: str, models: Sequence[LanguageModel], sent: Mapping[str, str] | None = None, problem: str = ""
) -> ModelsPage:
    shown = sorted((model for model in models if not model.retired), key=lambda model: (model.vendor, model.name))
    vendors = [
        VendorModels(VENDORS.get(vendor, vendor), [_model(model) for model in group])
        for vendor, group in groupby(shown, lambda model: model.vendor)
    ]
    return ModelsPage(settings_tabs(base, "models"), vendors, sent or {}, problem)


def _model(model: LanguageModel) -> ModelRow:
    state, actions = "enabled", [("default", "Make default"), ("disable", "Disable")]
    if model.disabled:
        state, actions = "disabled", [("enable", "Enable")]
    elif model.is_default:
        state, actions = "default", []
    return ModelRow(
        model.id,
        model.name,
        model.description,
        model.prompt_price,
        model.completion_price,
        model.context_tokens_max,
        state,
        actions,
        model.base_url,
        model.organization_id != 0,
    )


@dataclass(frozen=True, slots=True)
class ProjectPage:
    tabs: list[Tab]
    problem: str = ""
    title = "Project"


@dataclass(frozen=True, slots=True)
class AuditRow:
    what: str
    subject: str
    details: str
    who: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class AuditPage:
    tabs: list[Tab]
    rows: list[AuditRow]
    next_href: str | None
    first_href: str | None
    title = "Audit log"


def audit_page(base: str, page: Page[AuditEntry], query: Mapping[str, str]) -> AuditPage:
    rows = [_audit(entry) for entry in page.entries]
    return AuditPage(settings_tabs(base, "audit"), rows, next_link(query, page.next_cursor), first_link(query))


def _audit(entry: AuditEntry) -> AuditRow:
    details = ", ".join(f"{_words(key)}: {value}" for key, value in entry.details.items())
    return AuditRow(entry.label, entry.subject, details, entry.actor_name, entry.created_at)


def _words(key: str) -> str:
    return DETAILS.get(key, key)
