"""Signing in and out: by password, by link, and by the token that a browser keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from app.db import Database
from app.errors import Invalid, RateLimited, Unauthorized
from app.limits.rate import Allowance, RateLimiter
from app.models import memberships, sign_ins, users
from app.models.audit_log import Actor
from app.models.base import earlier_now
from app.models.memberships import Role
from app.models.sign_ins import SignedIn
from app.services.passwords import Passwords
from app.services.tokens import digest, new_token
from app.timestamps import Now

SESSION = timedelta(days=30)
LINK = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who is signed in, with their role in each of their organizations."""

    user_id: int
    email: str
    name: str
    roles: Mapping[int, Role]

    @property
    def actor(self) -> Actor:
        """As the audit log names them."""
        return Actor("user", self.user_id, self.name)


class SignInService:
    """Wrong passwords are counted by e-mail and, since one may try many e-mails, by address.

    The second limit is wide: behind a proxy that hides them, everybody has one address.
    """

    def __init__(
        self, *, database: Database, now: Now, passwords: Passwords, by_email: RateLimiter, by_address: RateLimiter
    ) -> None:
        self._database = database
        self._now = now
        self._passwords = passwords
        self._by_email = by_email
        self._by_address = by_address

    def sign_in(self, *, email: str, password: str, address: str) -> str:
        """The token of a new session.

        `Unauthorized` says the same for a wrong password and an unknown e-mail; `RateLimited` comes before either.
        """
        email = email.strip().lower()
        counted = ((self._by_email, f"sign-in:email:{digest(email).hex()}"), (self._by_address, f"sign-in:{address}"))
        for limiter, key in counted:
            _require_allowed(limiter.look(key))
        with self._database.read() as connection:
            user = users.find_by_email(connection, email)
        if not self._passwords.matches(password, user.password_hash if user else None) or user is None:
            for limiter, key in counted:
                limiter.hit(key)
            raise Unauthorized("E-mail and password do not match an account.")
        return self.start(user.id)

    def start(self, user_id: int) -> str:
        """A new session of the user, whose right to it is known; its token."""
        token, now = new_token(), self._now()
        with self._database.write() as connection:
            sign_ins.remove_expired(connection, now=earlier_now(connection, now))
            sign_ins.add_sign_in(
                connection, user_id=user_id, kind="session", digest=digest(token), now=now, expires_at=now + SESSION
            )
        return token

    def make_link(self, *, email: str) -> str:
        """The token of a link that signs the user in for a day; the user's earlier links end. `Invalid` for nobody."""
        token, now = new_token(), self._now()
        with self._database.write() as connection:
            user = users.find_by_email(connection, email.strip().lower())
            if user is None:
                raise Invalid(f"email: There is no user {email}.")
            sign_ins.remove_all_of(connection, user_id=user.id, kind="link")
            sign_ins.add_sign_in(
                connection, user_id=user.id, kind="link", digest=digest(token), now=now, expires_at=now + LINK
            )
        return token

    def follow_link(self, token: str) -> str:
        """The token of a new session for whom the link was made."""
        with self._database.read() as connection:
            found = sign_ins.find_user(connection, kind="link", digest=digest(token), now=self._now())
        if found is None:
            raise Unauthorized("This sign-in link is not valid any more. Sign in with e-mail and password.")
        return self.start(found.user_id)

    def viewer(self, token: str) -> Viewer | None:
        """Who keeps this session's token; None when it is none, or has expired."""
        with self._database.read() as connection:
            found = sign_ins.find_user(connection, kind="session", digest=digest(token), now=self._now())
            return _viewer(connection, found) if found else None

    def sign_out(self, token: str) -> None:
        with self._database.write() as connection:
            sign_ins.remove(connection, digest=digest(token))

    def change_password(self, *, viewer: Viewer, old: str, new: str) -> str:
        """Sets it, ends every session of the user, and returns the token of a new one."""
        _require_allowed(self._by_email.hit(f"sign-in:email:{digest(viewer.email).hex()}"))
        with self._database.read() as connection:
            user = users.find_user(connection, viewer.user_id)
        if user is None or not self._passwords.matches(old, user.password_hash):
            raise Invalid("old: This is not your password.")
        new_hash = self._passwords.hash(new)
        with self._database.write() as connection:
            users.set_password(connection, user_id=viewer.user_id, password_hash=new_hash)
            sign_ins.remove_all_of(connection, user_id=viewer.user_id)
        return self.start(viewer.user_id)


def _require_allowed(allowance: Allowance) -> None:
    if not allowance.allowed:
        seconds = max(1, allowance.reset_s)
        raise RateLimited(f"Too many tries to sign in. Try again in {seconds} s.", seconds)


def _viewer(connection: Connection, found: SignedIn) -> Viewer:
    return Viewer(found.user_id, found.email, found.name, memberships.roles_of(connection, user_id=found.user_id))
