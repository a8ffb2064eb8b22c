"""API keys: made, listed, revoked, and looked up for every request."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from app.db import Database
from app.errors import Forbidden, Invalid, NotFound, Unauthorized
from app.metrics import Metrics, cache_lookups
from app.models import api_keys, audit_log, organizations
from app.models.api_keys import ApiKey
from app.models.audit_log import SYSTEM, Action, Actor
from app.timestamps import Now

# Opens what is the organization's: all of its projects share it, so that no key has it unless it was asked for.
ADMIN = "admin"
DEFAULT_SCOPES = frozenset({"run", "read", "write", "ingest"})
SCOPES = DEFAULT_SCOPES | {ADMIN}
# A revoked key stops working within 5 s everywhere: this, and what a slow lookup may add.
CACHE_S = 3.0
CACHE_ENTRIES = 10_000
TOUCH_S = 30.0
_SHAPE = re.compile(r"rp_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class NewKey:
    """`secret` is shown this once and stored nowhere."""

    id: int
    secret: str


def digest(secret: str) -> bytes:
    """SHA-256 of the whole key; 256 random bits need no salt and no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


class KeyService:
    def __init__(self, *, database: Database, now: Now, metrics: Metrics) -> None:
        self._database = database
        self._now = now
        self._on_lookup = cache_lookups(metrics, "api_keys")
        self._lock = threading.Lock()
        self._cache: dict[bytes, tuple[float, ApiKey | None]] = {}
        self._used: dict[int, datetime] = {}
        self._touched = time.monotonic()

    def authenticate(self, header: str | None) -> ApiKey:
        """The key of an `Authorization` header; `Unauthorized` when it is missing, malformed or not valid now."""
        scheme, _, secret = (header or "").strip().partition(" ")
        secret = secret.strip()
        if scheme.lower() != "bearer" or not secret:
            raise Unauthorized("Send the header Authorization: Bearer <API_KEY>.")
        key = self._find(digest(secret)) if _SHAPE.fullmatch(secret) else None
        if key is None or not key.valid_at(self._now()):
            raise Unauthorized("The API key is not valid: unknown, revoked or expired.")
        self._note_use(key.id)
        return key

    def create(
        self,
        *,
        project_id: int,
        name: str,
        scopes: frozenset[str] = DEFAULT_SCOPES,
        expires_at: datetime | None = None,
        actor: Actor = SYSTEM,
    ) -> NewKey:
        if unknown := scopes - SCOPES or (not scopes and {"(none)"}):
            raise Invalid(f"scopes: {', '.join(sorted(unknown))}: use {', '.join(sorted(SCOPES))}")
        secret = "rp_" + secrets.token_urlsafe(32)
        with self._database.write() as connection:
            organizations.require_project(connection, project_id)
            key_id = api_keys.add_key(
                connection,
                project_id=project_id,
                name=name,
                digest=digest(secret),
                last_four=secret[-4:],
                now=self._now(),
                scopes=scopes,
                expires_at=expires_at,
            )
            self._note(connection, actor, Action.API_KEY_CREATED, project_id, key_id)
        return NewKey(key_id, secret)

    def create_with(
        self,
        maker: ApiKey,
        *,
        name: str,
        scopes: frozenset[str] | None = None,
        expires_at: datetime | None = None,
        project_id: int | None = None,
    ) -> NewKey:
        """A key that may do no more, and no longer, than the key that makes it; of its project unless told another.

        Without `scopes` it gets the maker's, but `admin`.
        """
        wanted = maker.scopes & DEFAULT_SCOPES if scopes is None else scopes
        if more := wanted - maker.scopes:
            raise Forbidden(f"scopes: This API key lacks {', '.join(sorted(more))} and can't give what it lacks.")
        until = expires_at or maker.expires_at
        if until and until <= self._now():
            raise Invalid("expiresAt: Must be in the future.")
        if until and maker.expires_at and until > maker.expires_at:
            raise Forbidden("expiresAt: Must not be later than when the key that makes it expires.")
        project_id = project_id or maker.project_id
        return self.create(project_id=project_id, name=name, scopes=wanted, expires_at=until, actor=maker.actor)

    def list(self, *, project_id: int) -> list[ApiKey]:
        with self._database.read() as connection:
            return api_keys.list_keys(connection, project_id=project_id)

    def get(self, *, project_id: int, key_id: int) -> ApiKey:
        with self._database.read() as connection:
            key = api_keys.find_key(connection, project_id=project_id, key_id=key_id)
        if key is None:
            raise NotFound("There is no such API key.")
        return key

    def revoke_with(self, revoker: ApiKey, *, key_id: int) -> None:
        """Revoke a key of the same project; one that may change the organization takes another that may."""
        key = self.get(project_id=revoker.project_id, key_id=key_id)
        if "admin" in key.scopes - revoker.scopes:
            raise Forbidden("This API key lacks the scope admin, which the key to be revoked has.")
        self.revoke(project_id=revoker.project_id, key_id=key_id, actor=revoker.actor)

    def revoke(self, *, project_id: int, key_id: int, actor: Actor = SYSTEM) -> None:
        with self._database.write() as connection:
            if not api_keys.revoke_key(connection, project_id=project_id, key_id=key_id, now=self._now()):
                raise NotFound("There is no such API key, or it was revoked before.")
            self._note(connection, actor, Action.API_KEY_REVOKED, project_id, key_id)
        with self._lock:
            self._cache.clear()

    def _note(self, connection: Connection, actor: Actor, action: Action, project_id: int, key_id: int) -> None:
        key = api_keys.find_key(connection, project_id=project_id, key_id=key_id)
        if key is not None:
            owner = {"organization_id": key.organization_id, "project_id": project_id}
            details = {"lastFour": key.last_four, "scopes": ", ".join(sorted(key.scopes))}
            audit_log.note(connection, self._now(), actor, action, key.name, **owner, details=details)

    def _find(self, key_digest: bytes) -> ApiKey | None:
        cached = self._cache.get(key_digest)
        hit = cached is not None and cached[0] > time.monotonic()
        self._on_lookup(hit)
        if cached and hit:
            return cached[1]
        asked_at = time.monotonic()
        with self._database.read() as connection:
            key = api_keys.find_by_digest(connection, key_digest)
        with self._lock:
            if len(self._cache) >= CACHE_ENTRIES:
                self._cache.clear()
            self._cache[key_digest] = (asked_at + CACHE_S, key)
        return key

    def _note_use(self, key_id: int) -> None:
        """Remember that the key was used; written every half minute, so that requests don't write."""
        self._used[key_id] = self._now()
        if time.monotonic() - self._touched < TOUCH_S:
            return
        with self._lock:
            self._touched = time.monotonic()
            used, self._used = self._used, {}
        with self._database.write() as connection:
            api_keys.touch_keys(connection, used=used)
