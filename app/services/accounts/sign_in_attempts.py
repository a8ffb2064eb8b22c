"""Attempts to sign in: their origins, and the record of failed ones."""

from __future__ import annotations

import atexit
import hashlib
import hmac
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from ipaddress import IPv6Address, ip_network
from typing import Literal

import structlog
from sqlalchemy import Connection

from app.database.transactions import Database
from app.encryption import new_token
from app.errors import ServiceError
from app.metrics import Metrics
from app.metrics.registry import SIGN_INS
from app.models import audit_log, organizations, users
from app.models.audit_log import SYSTEM, Action
from app.models.queries import update_rows
from app.models.users import User
from app.network.proxies import parse_address
from app.timestamps import Now

REMEMBERED = timedelta(days=180)
ORIGINS_MAX = 20


@dataclass(frozen=True, slots=True)
class SignInOrigin:
    """The origin of an attempt to sign in.

    `device` is the random token of a browser that signed in before, or "". `account_id` is the account that it was last
    signed in to, as its cookie names it: a stranger may have written both.
    """

    address: str
    device: str = ""
    account_id: int | None = None

    @property
    def network(self) -> str:
        """The part of the address that belongs to one customer: an IPv4 address, or an IPv6 /64 network."""
        address = parse_address(self.address)
        if isinstance(address, IPv6Address):
            return str(ip_network((address, 64), strict=False))
        return str(address or self.address)

    def with_device(self) -> SignInOrigin:
        return self if self.device else replace(self, device=new_token())


@dataclass(frozen=True, slots=True)
class Familiarity:
    """The parts of an origin from which an account has signed in before."""

    network: bool = False
    device: bool = False

    @property
    def usual(self) -> bool:
        return self.network or self.device


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOrigins:
    """Reads and stores origins in the caller's transaction.

    The digests are keyed, so that addresses can't be found by trial; if the secret key changes, all origins are
    unknown.
    """

    now: Now
    secret_key: str

    def find(self, connection: Connection, *, email: str, origin: SignInOrigin) -> Familiarity:
        """Return which parts of the origin the account has signed in from within `REMEMBERED`."""
        network, device = self._digests(email, origin)
        since = self.now() - REMEMBERED
        digests = users.known_digests(connection, email=email, digests=(network, device), since=since)
        return Familiarity(network in digests, bool(origin.device) and device in digests)

    def known_account(self, connection: Connection, origin: SignInOrigin) -> int | None:
        """Return the account that the origin names, if it has signed in with the origin's device before."""
        user = users.find_user(connection, origin.account_id) if origin.account_id and origin.device else None
        is_known = user is not None and self.find(connection, email=user.email, origin=origin).device
        return user.id if user is not None and is_known else None

    def remember(self, connection: Connection, *, user_id: int, email: str, origin: SignInOrigin) -> None:
        """Store that the user signed in from the origin now; of a user, the last `ORIGINS_MAX` digests are kept."""
        network, device = self._digests(email, origin)
        now = self.now()
        users.remember_origins(
            connection,
            user_id=user_id,
            digests=(network, device) if origin.device else (network,),
            now=now,
            since=now - REMEMBERED,
            most=ORIGINS_MAX,
        )

    def _digests(self, email: str, origin: SignInOrigin) -> tuple[bytes, bytes]:
        def digest(kind: str, value: str) -> bytes:
            named = "\0".join((kind, email, value)).encode(errors="surrogatepass")
            return hmac.new(b"origins:" + self.secret_key.encode(), named, hashlib.sha256).digest()

        return digest("network", origin.network), digest("device", origin.device)


log = structlog.get_logger(__name__)
# A response does not wait for the audit log: its duration would reveal which accounts exist.
FLUSH_S = 0.5
WINDOW = timedelta(minutes=1)
Failure = Literal["wrong", "refused"]
Way = Literal["password", "link", "invitation", "new password", "OpenID Connect"]


@dataclass(slots=True)
class _Window:
    """The failed tries on one account within a minute; `entries` is {organization id: id of its audit entry}."""

    email: str
    since: datetime
    address: str = ""
    counts: Counter[Failure] = field(default_factory=Counter)
    entries: dict[int, int] = field(default_factory=dict)
    changed: bool = True

    def has_ended(self, now: datetime) -> bool:
        """Return whether the minute is over and all its failures are written."""
        return not self.changed and self.since + WINDOW <= now

    def details(self) -> dict[str, str]:
        return {"address": self.address} | {name: str(count) for name, count in sorted(self.counts.items())}


@dataclass(slots=True, kw_only=True)
class SignInJournal:
    """Writes at most one audit entry per account, minute and process, which counts the failed tries.

    Entries that the database refuses are written with the next one. A process that is killed loses the entries of the
    last half second; the log has their lines.
    """

    database: Database
    now: Now
    metrics: Metrics
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _flushing: threading.Lock = field(default_factory=threading.Lock, init=False)
    _windows: dict[int, _Window] = field(default_factory=dict, init=False)
    _timer: threading.Timer | None = field(default=None, init=False)

    def succeeded(self, *, user_id: int, address: str, way: Way) -> None:
        self.metrics.count(SIGN_INS, way)
        log.info("signed_in", user_id=user_id, address=address, way=way)

    def failed(self, user: User | None, *, address: str, failure: Failure) -> None:
        """Note a failed try. Only e-mails of accounts are logged, because people type passwords into the field."""
        self.metrics.count(SIGN_INS, failure)
        log.warning("sign_in_failed", email=user.email if user else None, address=address, failure=failure)
        if user:
            self._note(user, address, failure)

    def flush(self) -> None:
        """Write the failed tries that are not in the audit log yet."""
        with self._flushing:
            for user_id, window in self._unwritten():
                with self._lock:
                    window.changed, details = False, window.details()
                written = False
                try:
                    window.entries |= self.database.retrying(partial(self._write, user_id, window, details))
                    written = True
                finally:
                    window.changed = window.changed or not written

    def _note(self, user: User, address: str, failure: Failure) -> None:
        with self._lock:
            window = self._windows.get(user.id)
            if window is None or window.has_ended(self.now()):
                window = self._windows[user.id] = _Window(user.email, self.now())
            window.address, window.changed = address, True
            window.counts[failure] += 1
            if self._timer is None:
                self._timer = threading.Timer(FLUSH_S, self._flush_in_background)
                self._timer.daemon = True
                self._timer.start()
                # The process may end before the timer fires.
                atexit.register(self._flush_in_background)

    def _unwritten(self) -> list[tuple[int, _Window]]:
        """Return the windows with unwritten failures; windows that have ended are dropped."""
        with self._lock:
            self._timer = None
            atexit.unregister(self._flush_in_background)
            now = self.now()
            self._windows = {user_id: window for user_id, window in self._windows.items() if not window.has_ended(now)}
            return [(user_id, window) for user_id, window in self._windows.items() if window.changed]

    def _write(
        self, user_id: int, window: _Window, details: Mapping[str, str], connection: Connection
    ) -> dict[int, int]:
        written = {}
        for organization_id in organizations.roles_of(connection, user_id=user_id):
            if entry_id := window.entries.get(organization_id):
                update_rows(connection, audit_log.audit_log, {"id": entry_id}, details=details)
            else:
                entry = (window.since, SYSTEM, Action.SIGN_IN_FAILED, window.email, details)
                written[organization_id] = audit_log.note(connection, *entry, organization_id=organization_id)
        return written

    def _flush_in_background(self) -> None:
        try:
            self.flush()
        except ServiceError as error:
            log.warning("sign_in_failures_not_audited", error=str(error))
