"""Signs users in and out: by password, by link, and by the token that a browser keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from app.database.transactions import Database, retried
from app.encryption import digest, new_token
from app.errors import Invalid, Unauthorized
from app.models import audit_log, organizations, users
from app.models.audit_log import Action, Actor
from app.models.base import earlier_now
from app.models.organizations import Role
from app.models.queries import delete_rows, insert_row, update_rows
from app.models.users import Kind, User
from app.services.accounts.passwords import PasswordChecks, Passwords, WrongPassword
from app.services.accounts.sign_in_attempts import KnownOrigins, SignInJournal, SignInOrigin, Way
from app.timestamps import Now

SESSION = timedelta(days=30)
LINK = timedelta(hours=24)
LINKS: tuple[Kind, ...] = ("link", "reset")


@dataclass(frozen=True, slots=True)
class Viewer:
    """The signed-in user, with their role in each of their organizations."""

    user_id: int
    email: str
    name: str
    roles: Mapping[int, Role]

    @property
    def actor(self) -> Actor:
        """The user as the audit log names them."""
        return Actor("user", self.user_id, self.name)


@dataclass(frozen=True, slots=True)
class StartedSession:
    """A new session: its token, and the origin with the device token for the browser to keep."""

    user_id: int
    token: str
    origin: SignInOrigin


@dataclass(frozen=True, slots=True)
class Link:
    """A sign-in link; a link that `resets` only signs in with a new password."""

    user_id: int
    email: str
    resets: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInService:
    """Signs users in and out; `replaced` is the token of the browser's previous session, which then ends."""

    database: Database
    now: Now
    passwords: Passwords
    checks: PasswordChecks
    origins: KnownOrigins
    journal: SignInJournal

    def sign_in(self, *, email: str, password: str, origin: SignInOrigin, replaced: str = "") -> StartedSession:
        """Begin a session by password; raises the errors of `PasswordChecks.check`."""
        user = self.checks.check(email=email.strip().lower(), password=password, origin=origin)

        def keep(connection: Connection) -> None:
            _replace_password(connection, user, user.password_hash)
            self._end_session(connection, replaced)

        return self._started(user.id, origin, "password", keep)

    def start(
        self, user_id: int, origin: SignInOrigin, *, way: Way, replaced: str = "", lasts: timedelta = SESSION
    ) -> StartedSession:
        """Begin a session for a user who was authenticated in another way."""
        return self._started(user_id, origin, way, lambda connection: self._end_session(connection, replaced), lasts)

    @retried
    def make_link(self, *, email: str, resets: bool = False) -> str:
        """Create a link for a day and return its token; earlier links end. Raises `Invalid` for an unknown e-mail."""
        token, now = new_token(), self.now()
        with self.database.write() as connection:
            user = users.find_by_email(connection, email.strip().lower())
            if user is None:
                raise Invalid(f"email: There is no user {email}.")
            for kind in LINKS:
                delete_rows(connection, users.sign_ins, user_id=user.id, kind=kind)
            _add(connection, user.id, "reset" if resets else "link", token, now, now + LINK)
        return token

    def require_link(self, token: str) -> Link:
        """Return a sign-in link; `Unauthorized` if it was used or replaced, or has expired."""
        with self.database.read() as connection:
            for kind in LINKS:
                user = users.find_signed_in(connection, kind=kind, digest=digest(token), now=self.now())
                if user is not None:
                    return Link(user.user_id, user.email, resets=kind == "reset")
        raise Unauthorized("This sign-in link is not valid any more. Sign in with e-mail and password.")

    def follow_link(
        self, token: str, origin: SignInOrigin, *, password: str = "", replaced: str = ""
    ) -> StartedSession:
        """Begin a session by link, which works once: the second of two concurrent uses raises `Unauthorized`.

        A link that resets sets `password` and ends all else, as `give_to_owner`. Raises `Invalid` for a password that
        is too short or too long.
        """
        link = self.require_link(token)
        new_hash = self.passwords.hash(password) if link.resets else ""

        def use_up(connection: Connection) -> None:
            kind: Kind = "reset" if link.resets else "link"
            if not delete_rows(connection, users.sign_ins, kind=kind, digest=digest(token)):
                raise Unauthorized("This sign-in link has been used. Sign in with e-mail and password.")
            self._end_session(connection, replaced)
            if link.resets:
                self.give_to_owner(connection, link.user_id, new_hash)
                self._note(connection, audit_log.SYSTEM, Action.PASSWORD_RESET, link.user_id, link.email)

        return self._started(link.user_id, origin, "link", use_up)

    def viewer(self, token: str) -> Viewer | None:
        """Return the user of a session's token; None if there is no such session, or it has expired."""
        with self.database.read() as connection:
            user = users.find_signed_in(connection, kind="session", digest=digest(token), now=self.now())
            if user is None:
                return None
            return Viewer(**asdict(user), roles=organizations.roles_of(connection, user_id=user.user_id))

    @retried
    def sign_out(self, token: str) -> None:
        with self.database.write() as connection:
            self._end_session(connection, token)

    def change_password(self, *, viewer: Viewer, old: str, new: str, origin: SignInOrigin) -> StartedSession:
        """Set the password, end all sessions of the user, and begin a new one."""
        with self.database.read() as connection:
            user = users.find_user(connection, viewer.user_id)
        if user is None:
            raise Unauthorized("This account no longer exists.")
        try:
            self.checks.check_own(user, old)
        except WrongPassword as error:
            raise Invalid("old: This is not your password.") from error
        new_hash = self.passwords.hash(new)

        def change(connection: Connection) -> None:
            _replace_password(connection, user, new_hash)
            self._note(connection, viewer.actor, Action.PASSWORD_CHANGED, user.id, user.email)
            delete_rows(connection, users.sign_ins, user_id=user.id)

        return self._started(user.id, origin, "new password", change)

    def _started(
        self,
        user_id: int,
        origin: SignInOrigin,
        way: Way,
        before: Callable[[Connection], None],
        lasts: timedelta = SESSION,
    ) -> StartedSession:
        """Begin a session, and apply the change `before` it in the same transaction."""
        token, origin, now = new_token(), origin.with_device(), self.now()

        def begin(connection: Connection) -> None:
            before(connection)
            users.remove_expired_sign_ins(connection, now=earlier_now(connection, now))
            _add(connection, user_id, "session", token, now, now + lasts)
            if user := users.find_user(connection, user_id):
                self.origins.remember(connection, user_id=user_id, email=user.email, origin=origin)

        self.database.retrying(begin)
        self.journal.succeeded(user_id=user_id, address=origin.address, way=way)
        return StartedSession(user_id, token, origin)

    def _note(self, connection: Connection, actor: Actor, action: Action, user_id: int, email: str) -> None:
        audit_log.note_of_user(connection, self.now(), actor, action, user_id=user_id, email=email)

    @staticmethod
    def give_to_owner(connection: Connection, user_id: int, password_hash: str) -> None:
        """Set a password, and end everything that another person may have of the account.

        These are sessions, links and known origins.
        """
        update_rows(connection, users.users, {"id": user_id}, password_hash=password_hash)
        delete_rows(connection, users.sign_ins, user_id=user_id)
        delete_rows(connection, users.known_origins, user_id=user_id)

    @staticmethod
    def _end_session(connection: Connection, token: str) -> None:
        """End the session with a token; "" is no session."""
        if token:
            delete_rows(connection, users.sign_ins, kind="session", digest=digest(token))


def _replace_password(connection: Connection, user: User, password_hash: str) -> None:
    """Replace the password; raises `Unauthorized` if it was changed after it was checked."""
    if not users.replace_password(connection, user, password_hash):
        raise Unauthorized("The password was changed at this moment. Sign in again.")


def _add(connection: Connection, user_id: int, kind: Kind, token: str, now: datetime, expires_at: datetime) -> None:
    values = {"user_id": user_id, "kind": kind, "digest": digest(token), "created_at": now, "expires_at": expires_at}
    insert_row(connection, users.sign_ins, **values)
