"""Accounts: users and their roles in an organization; admins invite them by link and change their roles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.database.transactions import Database, retried
from app.encryption import digest, new_token
from app.errors import Conflict, Invalid, NotFound, require
from app.models import audit_log, organizations, users
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.organizations import Invitation, Member, Role
from app.models.queries import delete_rows, insert_row, update_rows
from app.models.users import User
from app.services.accounts.passwords import PasswordChecks, Passwords, WrongPassword
from app.services.accounts.sign_in_attempts import SignInOrigin
from app.services.accounts.sign_ins import SignInService, StartedSession
from app.timestamps import Now

INVITATION = timedelta(days=7)
EMAIL_MAX, NAME_MAX = 254, 128
HAS_ACCOUNT = (
    "password: This e-mail has an account; give its password to join with it. If you don't know it, ask whoever runs "
    "this instance for a sign-in link, with which you set a new one."
)


@dataclass(frozen=True, slots=True)
class NewUser:
    """The name and the password that an invited person enters."""

    name: str
    password: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountService:
    """Users, their roles in organizations, and their invitations."""

    database: Database
    now: Now
    passwords: Passwords
    checks: PasswordChecks
    sign_ins: SignInService

    @retried
    def ensure_admin(self, *, organization_id: int, email: str, password: str, name: str = "Admin") -> bool:
        """Create an admin with that e-mail unless there is such a user; returns whether one was created.

        An existing user is not changed, even if they were removed from the organization.
        """
        email = checked_email(email)
        with self.database.read() as connection:
            if users.find_by_email(connection, email):
                return False
        hashed = self.passwords.hash(password)
        with self.database.write() as connection:
            user_id = self.add_user(connection, email, name, hashed)
            self._join(connection, organization_id, user_id, email, Role.ADMIN)
            self._note(connection, organization_id, SYSTEM, Action.MEMBER_JOINED, email, role=Role.ADMIN)
        return True

    def sign_in_link(self, *, email: str, resets: bool = False) -> str:
        """Return a new path, `/sign-in/link?token=…`, that signs the user in for a day or until a newer one is made.

        A link that `resets` asks for a new password, and ends all other sign-ins of the user.
        """
        return f"/sign-in/link?token={self.sign_ins.make_link(email=email, resets=resets)}"

    def members(self, *, organization_id: int) -> list[Member]:
        with self.database.read() as connection:
            return organizations.list_members(connection, organization_id=organization_id)

    def member(self, *, organization_id: int, user_id: int) -> Member:
        members = {member.user_id: member for member in self.members(organization_id=organization_id)}
        return require(members.get(user_id), "There is no such member.")

    def change_role(self, *, organization_id: int, user_id: int, role: Role, actor: Actor) -> None:
        """Change a member's role; raises `Conflict` if the organization would be left without an admin."""

        def change(connection: Connection) -> None:
            old = self._lock_member(connection, organization_id, user_id, stays_admin=role is Role.ADMIN)
            key = {"organization_id": organization_id, "user_id": user_id}
            update_rows(connection, organizations.memberships, key, role=role)
            email = self._email(connection, user_id)
            self._note(connection, organization_id, actor, Action.MEMBER_ROLE_CHANGED, email, old=old, new=role)

        self.database.retrying(change)

    def remove(self, *, organization_id: int, user_id: int, actor: Actor) -> None:
        """Remove the member from the organization, and end their sign-ins and invitations; prompts and keys stay."""

        def remove(connection: Connection) -> None:
            self._lock_member(connection, organization_id, user_id, stays_admin=False)
            delete_rows(connection, organizations.memberships, organization_id=organization_id, user_id=user_id)
            delete_rows(connection, users.sign_ins, user_id=user_id)
            email = self._email(connection, user_id)
            organizations.withdraw_invitations(connection, organization_id=organization_id, email=email)
            self._note(connection, organization_id, actor, Action.MEMBER_REMOVED, email)

        self.database.retrying(remove)

    def invite(self, *, organization_id: int, email: str, role: Role, actor: Actor) -> str:
        """Return the token of a new link that is valid for a week and shown once; earlier links for the e-mail end."""
        email, token, now = checked_email(email), new_token(), self.now()

        def invite(connection: Connection) -> None:
            # The lock serialises two admins who invite the same person; the second link is valid.
            organizations.lock_organization(connection, organization_id)
            if email in {m.email for m in organizations.list_members(connection, organization_id=organization_id)}:
                raise Invalid(f"email: {email} is a member already.")
            organizations.withdraw_invitations(connection, organization_id=organization_id, email=email)
            values = {"email": email, "role": role, "created_at": now, "expires_at": now + INVITATION}
            values |= {"organization_id": organization_id, "digest": digest(token)}
            insert_row(connection, organizations.invitations, **values)
            self._note(connection, organization_id, actor, Action.INVITATION_CREATED, email, role=role)

        self.database.retrying(invite)
        return token

    def invitations(self, *, organization_id: int) -> list[Invitation]:
        with self.database.read() as connection:
            return organizations.list_invitations(connection, organization_id=organization_id)

    def open_invitation(self, *, organization_id: int, invitation_id: int) -> Invitation:
        invitations = {invitation.id: invitation for invitation in self.invitations(organization_id=organization_id)}
        return require(invitations.get(invitation_id), "There is no such invitation.")

    def withdraw(self, *, organization_id: int, invitation_id: int, actor: Actor) -> None:
        """End an invitation, so that its link leads nowhere; `NotFound` if it was accepted or withdrawn before."""

        def withdraw(connection: Connection) -> None:
            # Locked first, as in `_accept`: in the other order the two could deadlock.
            organizations.lock_organization(connection, organization_id)
            email = organizations.withdraw_invitation(
                connection, organization_id=organization_id, invitation_id=invitation_id
            )
            email = require(email, "There is no such invitation.")
            self._note(connection, organization_id, actor, Action.INVITATION_WITHDRAWN, email)

        self.database.retrying(withdraw)

    def invitation(self, token: str) -> Invitation:
        """Return the invitation of a link; `NotFound` if it was used or withdrawn, or has expired."""
        with self.database.read() as connection:
            return self._open_invitation(connection, token)

    def accept(self, token: str, new: NewUser, origin: SignInOrigin, *, replaced: str = "") -> StartedSession:
        """Make the invited person a user and a member, and sign them in.

        For an e-mail with an account, `new.password` must be its password, and counts as a try to sign in.
        """
        invitation = self.invitation(token)
        with self.database.read() as connection:
            known = users.find_by_email(connection, invitation.email)
        hashed = "" if known else self._hash_of(new)
        if known:
            self._require_password(invitation.email, new.password, origin)
        join = partial(self._accept, token, known, replace(new, name=new.name.strip()), hashed)
        user_id = self.database.retrying(join)
        return self.sign_ins.start(user_id, origin, way="invitation", replaced=replaced)

    def _accept(self, token: str, known: User | None, new: NewUser, hashed: str, connection: Connection) -> int:
        # Locked so that other changes of members and invitations wait.
        organizations.lock_organization(connection, self._open_invitation(connection, token).organization_id)
        invitation = self._open_invitation(connection, token)
        user_id = known.id if known else self.add_user(connection, invitation.email, new.name, hashed)
        if not organizations.accept_invitation(connection, invitation_id=invitation.id, user_id=user_id):
            raise NotFound("This invitation has been used.")
        if invitation.organization_id not in organizations.roles_of(connection, user_id=user_id):
            self._join(connection, invitation.organization_id, user_id, invitation.email, invitation.role)
        actor = Actor("user", user_id, known.name if known else new.name)
        self._note(connection, invitation.organization_id, actor, Action.MEMBER_JOINED, invitation.email)
        return user_id

    def _require_password(self, email: str, password: str, origin: SignInOrigin) -> None:
        try:
            self.checks.check(email=email, password=password, origin=origin)
        except WrongPassword as error:
            raise Invalid(HAS_ACCOUNT) from error

    def _hash_of(self, new: NewUser) -> str:
        if not 1 <= len(new.name.strip()) <= NAME_MAX:
            raise Invalid(f"name: Use 1 to {NAME_MAX} characters.")
        return self.passwords.hash(new.password)

    def add_user(self, connection: Connection, email: str, name: str, hashed: str) -> int:
        """Create a user in the caller's transaction; raises `Conflict` if another one was created meanwhile."""
        try:
            values = {"email": email, "name": name, "password_hash": hashed, "created_at": self.now()}
            return insert_row(connection, users.users, **values)
        except IntegrityError as error:
            raise Conflict("An account with this e-mail was created a moment ago: send the form again.") from error

    def assign_role(self, connection: Connection, *, organization_id: int, user_id: int, role: Role) -> None:
        """Make a user a member with that role, in the caller's transaction. The only admin stays admin."""
        organizations.lock_organization(connection, organization_id)
        members = organizations.list_members(connection, organization_id=organization_id)
        roles, email = {member.user_id: member.role for member in members}, self._email(connection, user_id)
        key = {"organization_id": organization_id, "user_id": user_id}
        if (old := roles.get(user_id)) is None:
            self._join(connection, organization_id, user_id, email, role)
            self._note(connection, organization_id, SYSTEM, Action.MEMBER_JOINED, email, role=role)
        elif old is not role and (role is Role.ADMIN or [*roles.values()].count(Role.ADMIN) > (old is Role.ADMIN)):
            update_rows(connection, organizations.memberships, key, role=role)
            self._note(connection, organization_id, SYSTEM, Action.MEMBER_ROLE_CHANGED, email, old=old, new=role)

    def _open_invitation(self, connection: Connection, token: str) -> Invitation:
        invitation = organizations.find_invitation(connection, digest=digest(token), now=self.now())
        gone = "This invitation was used or withdrawn, or has expired. Ask an admin for a new one."
        return require(invitation, gone)

    def _join(self, connection: Connection, organization_id: int, user_id: int, email: str, role: Role) -> None:
        organizations.withdraw_invitations(connection, organization_id=organization_id, email=email)
        values = {"organization_id": organization_id, "user_id": user_id, "role": role, "created_at": self.now()}
        insert_row(connection, organizations.memberships, **values)

    @staticmethod
    def _lock_member(connection: Connection, organization_id: int, user_id: int, *, stays_admin: bool) -> Role:
        """Return the role of a member, and lock it until the commit.

        Raises `Conflict` for the only admin unless they stay one, so that two admins can't both step down at once.
        """
        organizations.lock_organization(connection, organization_id)
        members = organizations.list_members(connection, organization_id=organization_id)
        roles = {member.user_id: member.role for member in members}
        if user_id not in roles:
            raise NotFound("There is no such member.")
        if not stays_admin and [member_id for member_id, role in roles.items() if role is Role.ADMIN] == [user_id]:
            raise Conflict("An organization needs an admin: make another member one first.")
        return roles[user_id]

    @staticmethod
    def _email(connection: Connection, user_id: int) -> str:
        user = users.find_user(connection, user_id)
        return user.email if user else str(user_id)

    def _note(
        self, connection: Connection, organization_id: int, actor: Actor, action: Action, subject: str, **details: Any
    ) -> None:
        audit_log.note(connection, self.now(), actor, action, subject, organization_id=organization_id, details=details)


def checked_email(email: str) -> str:
    """Return the e-mail in lower case, without surrounding spaces; raises `Invalid` if it is not an e-mail.

    Only letters of ASCII may be capitals: in lower case the Kelvin sign is a `k`, which is another mailbox.
    """
    if any(not char.isascii() and char != char.lower() for char in email):
        raise Invalid("email: Letters other than A to Z must be in lower case.")
    email = email.strip().lower()
    name, at, host = email.rpartition("@")
    if not (name and at and host) or len(email) > EMAIL_MAX or any(c.isspace() or not c.isprintable() for c in email):
        raise Invalid("email: This is not an e-mail address.")
    return email
