"""API keys: created, listed, revoked, and looked up for every request."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import unquote

from sqlalchemy import Connection

from app.concurrency.caches import TimedCache
from app.database.transactions import Database, retried
from app.encryption import digest, new_token
from app.errors import Forbidden, Invalid, NotFound, Unauthorized, require
from app.metrics import Metrics, cache_lookups
from app.models import api_keys, audit_log, organizations
from app.models.api_keys import ApiKey
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.queries import insert_row
from app.timestamps import Now

# Permits changes of the organization that affect all its projects, so no key has this scope by default.
ADMIN = "admin"
# Permits running models, which costs money.
RUN = "run"
DEFAULT_SCOPES = frozenset({RUN, "read", "write", "ingest"})
SCOPES = DEFAULT_SCOPES | {ADMIN}
# Of a project. Lists of keys are not paged, and each key has a rate limit.
KEYS_MAX = 1_000
# A revoked key stops working within 5 s in every process: after this time plus a slow lookup.
CACHE_S = 3.0
TOUCH_S = 30.0
_SHAPE = re.compile(r"rp_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new API key; `secret` is shown once and not stored."""

    id: int
    secret: str


@dataclass(slots=True, kw_only=True)
class KeyService:
    """API keys. Lookups are cached for `CACHE_S`, and the times of their last use are stored together."""

    database: Database
    now: Now
    metrics: Metrics
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _cache: TimedCache[ApiKey | None] = field(init=False)
    _used: dict[int, datetime] = field(default_factory=dict, init=False)
    _touched: float = field(default_factory=time.monotonic, init=False)

    def __post_init__(self) -> None:
        self._cache = TimedCache(CACHE_S, on_lookup=cache_lookups(self.metrics, "api_keys"))

    def authenticate(self, header: str | None) -> ApiKey:
        """Return the key of an `Authorization` header; `Unauthorized` if it is missing, malformed or not valid.

        Some exporters send OTEL_EXPORTER_OTLP_HEADERS without decoding it: `Bearer%20rp_…`. A key never has a `%`.
        """
        scheme, _, secret = unquote((header or "").strip()).partition(" ")
        secret = secret.strip()
        if scheme.lower() != "bearer" or not secret:
            raise Unauthorized("Send the header Authorization: Bearer <API_KEY>.")
        key = self._find(digest(secret)) if _SHAPE.fullmatch(secret) else None
        if key is None or not key.valid_at(self.now()):
            raise Unauthorized("The API key is not valid: unknown, revoked or expired.")
        self._note_use(key.id)
        return key

    def known(self, header: str) -> ApiKey | None:
        """Return the valid key of a header, and note its use; None if `authenticate` must decide.

        It needs no database, counts no lookup and raises nothing.
        """
        scheme, secret = header[:7], header[7:]
        if scheme != "Bearer " or not _SHAPE.fullmatch(secret) or time.monotonic() - self._touched >= TOUCH_S:
            return None
        key, now = self._cache.get(digest(secret)), self.now()
        if key is None or not key.valid_at(now):
            return None
        self._used[key.id] = now
        return key

    @retried
    def create(
        self,
        *,
        project_id: int,
        name: str,
        scopes: frozenset[str] = DEFAULT_SCOPES,
        expires_at: datetime | None = None,
        actor: Actor = SYSTEM,
    ) -> NewKey:
        """Create a key of a project. Only the result has the secret: its digest is stored.

        Raises `Invalid` for an unknown scope, for no scope, and for a project with `KEYS_MAX` valid keys.
        """
        if unknown := scopes - SCOPES or (not scopes and {"(none)"}):
            raise Invalid(f"scopes: {', '.join(sorted(unknown))}: use {', '.join(sorted(SCOPES))}")
        secret = "rp_" + new_token()
        with self.database.write() as connection:
            organizations.lock_owner(connection, project_id)
            if api_keys.count_valid_keys(connection, project_id=project_id, now=self.now()) >= KEYS_MAX:
                raise Invalid(f"A project may have {KEYS_MAX:,} valid API keys; revoke one first.")
            values = {"name": name, "scopes": scopes, "created_at": self.now(), "expires_at": expires_at}
            values |= {"project_id": project_id, "digest": digest(secret), "last_four": secret[-4:]}
            key_id = insert_row(connection, api_keys.api_keys, **values)
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
        """Create a key with no more scopes, and no later expiry, than `maker`, in its project by default.

        Without `scopes` it gets the scopes of `maker` except `admin`. `Forbidden` and `Invalid` name the field.
        """
        scopes = maker.scopes & DEFAULT_SCOPES if scopes is None else scopes
        if more := scopes - maker.scopes:
            raise Forbidden(f"scopes: This API key lacks {', '.join(sorted(more))} and can't give what it lacks.")
        until = expires_at or maker.expires_at
        if until and until <= self.now():
            raise Invalid("expiresAt: Must be in the future.")
        if until and maker.expires_at and until > maker.expires_at:
            raise Forbidden("expiresAt: Must not be later than when the key that makes it expires.")
        project_id = project_id or maker.project_id
        return self.create(project_id=project_id, name=name, scopes=scopes, expires_at=until, actor=maker.actor)

    def list(self, *, project_id: int) -> list[ApiKey]:
        with self.database.read() as connection:
            return api_keys.list_keys(connection, project_id=project_id, now=self.now())

    def get(self, *, project_id: int, key_id: int) -> ApiKey:
        with self.database.read() as connection:
            key = api_keys.find_key(connection, project_id=project_id, key_id=key_id)
            return require(key, "There is no such API key.")

    def revoke_with(self, revoker: ApiKey, *, key_id: int) -> None:
        """Revoke a key of the revoker's project; only a key with the scope `admin` may revoke another one."""
        key = self.get(project_id=revoker.project_id, key_id=key_id)
        if ADMIN in key.scopes - revoker.scopes:
            raise Forbidden("This API key lacks the scope admin, which the key to be revoked has.")
        self.revoke(project_id=revoker.project_id, key_id=key_id, actor=revoker.actor)

    @retried
    def revoke(self, *, project_id: int, key_id: int, actor: Actor = SYSTEM) -> None:
        """Revoke a key; `NotFound` for an unknown key, a key of another project, and a revoked key.

        Other processes may accept the key for another `CACHE_S` seconds.
        """
        with self.database.write() as connection:
            if not api_keys.revoke_key(connection, project_id=project_id, key_id=key_id, now=self.now()):
                raise NotFound("There is no such API key, or it was revoked before.")
            self._note(connection, actor, Action.API_KEY_REVOKED, project_id, key_id)
        self._cache.clear()

    def _note(self, connection: Connection, actor: Actor, action: Action, project_id: int, key_id: int) -> None:
        key = api_keys.find_key(connection, project_id=project_id, key_id=key_id)
        if key is not None:
            owner = {"organization_id": key.organization_id, "project_id": project_id}
            details = {"lastFour": key.last_four, "scopes": ", ".join(sorted(key.scopes))}
            audit_log.note(connection, self.now(), actor, action, key.name, **owner, details=details)

    def _find(self, key_digest: bytes) -> ApiKey | None:
        def read() -> ApiKey | None:
            with self.database.read() as connection:
                return api_keys.find_by_digest(connection, key_digest)

        return self._cache.get_or_read(key_digest, read)

    def _note_use(self, key_id: int) -> None:
        """Note the time of use; the times are stored every half minute, so that most requests write nothing."""
        self._used[key_id] = self.now()
        if time.monotonic() - self._touched < TOUCH_S:
            return
        with self._lock:
            self._touched = time.monotonic()
            used, self._used = self._used, {}
        self._store_uses(used)

    @retried
    def _store_uses(self, used: dict[int, datetime]) -> None:
        with self.database.write() as connection:
            api_keys.touch_keys(connection, used=used)
