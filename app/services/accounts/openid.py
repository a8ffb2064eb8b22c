"""Signs people in who an OpenID provider knows: makes their accounts, and gives them the roles of their groups."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.database.transactions import Database
from app.encryption import digest, new_token
from app.errors import Conflict, NotFound, RateLimited, Unauthorized
from app.models import audit_log, organizations, users
from app.models.audit_log import SYSTEM, Action
from app.models.organizations import Role
from app.models.queries import insert_row
from app.network.openid import Identity, OpenIdAttempt, OpenIdProvider
from app.services.accounts.openid_limits import OpenIdLimits
from app.services.accounts.passwords import Passwords
from app.services.accounts.projects import ProjectService
from app.services.accounts.provider_places import SignInCaller
from app.services.accounts.service import NAME_MAX, AccountService, checked_email
from app.services.accounts.sign_in_attempts import Failure, KnownOrigins, SignInJournal, SignInOrigin
from app.services.accounts.sign_ins import SignInService, StartedSession
from app.timestamps import Now
from app.values.storable import storable_text

SESSION = timedelta(hours=12)
"""After this time a user signs in at the provider again, so that who leaves a group loses its rights within a day."""
EVERYBODY = "*"
NO_ACCESS = "Your account at the provider has no access here. Ask an admin to invite you, or to add you to a group."


def roles_of(text: str) -> dict[str, Role]:
    """Return the role of each group, given `group=role, group=role`; the group `*` is everybody."""
    pairs = (entry.rpartition("=") for entry in text.split(",") if entry.strip())
    return {group.strip(): Role(role.strip()) for group, _, role in pairs}


@dataclass(frozen=True, slots=True)
class OpenIdSettings:
    """The provider, None if there is none, its `name` on pages, and the roles of its groups.

    With `trust_email`, e-mails count as verified even if the provider does not verify them.
    """

    provider: OpenIdProvider | None
    name: str
    roles: Mapping[str, Role]
    trust_email: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenIdSignIns:
    """Signs in at the provider. The roles of groups are those in the instance's first organization."""

    database: Database
    now: Now
    settings: OpenIdSettings
    passwords: Passwords
    projects: ProjectService
    accounts: AccountService
    sign_ins: SignInService
    origins: KnownOrigins
    journal: SignInJournal
    limits: OpenIdLimits

    @property
    def name(self) -> str:
        """The provider's name for the sign-in page; "" without a provider."""
        return self.settings.name if self.settings.provider else ""

    @property
    def provider(self) -> OpenIdProvider:
        """The provider; raises `NotFound` without one."""
        if self.settings.provider is None:
            raise NotFound("There is no such page.")
        return self.settings.provider

    def begin(self, origin: SignInOrigin) -> tuple[OpenIdAttempt, str]:
        """Return a new attempt, and the provider's address where it goes on."""
        provider = self.provider
        attempt = OpenIdAttempt(state=new_token(), nonce=new_token(), verifier=new_token())
        # Without metadata the provider is asked, which holds one of the few places for such requests.
        with nullcontext() if provider.has_metadata else self.limits.asking(self._caller(origin)):
            return attempt, provider.authorization_url(attempt)

    def finish(self, code: str, attempt: OpenIdAttempt, origin: SignInOrigin, *, replaced: str = "") -> StartedSession:
        """Begin a session for the person who the provider sent back. Raises `Unauthorized` for one without access.

        Also raises the errors of `OpenIdLimits.returning`: an attempt returns once.

        A new person gets an account. Later sign-ins find it by the provider's name of the person, whatever their e-mail
        is then. The highest role of the person's groups replaces the one before.
        """
        identity = self._identity(code, attempt, origin)
        role = self._role(identity)
        unusable = self.passwords.unusable()

        def keep(connection: Connection) -> int:
            user_id = self._user(connection, identity, unusable, may_join=role is not None)
            if role is not None:
                self.accounts.assign_role(connection, organization_id=self._organization_id, user_id=user_id, role=role)
            elif not organizations.roles_of(connection, user_id=user_id):
                raise Unauthorized(NO_ACCESS)
            return user_id

        user_id = self.database.retrying(keep)
        return self.sign_ins.start(user_id, origin, way="OpenID Connect", replaced=replaced, lasts=SESSION)

    def _identity(self, code: str, attempt: OpenIdAttempt, origin: SignInOrigin) -> Identity:
        provider = self.provider
        try:
            with self.limits.returning(attempt, self._caller(origin)):
                return provider.identity(code, attempt)
        except (Unauthorized, RateLimited) as error:
            failure: Failure = "refused" if isinstance(error, RateLimited) else "wrong"
            self.journal.failed(None, address=origin.address, failure=failure)
            raise

    def _caller(self, origin: SignInOrigin) -> SignInCaller:
        """Return the account that signed in with the device before, or the network of a stranger."""
        with self.database.read() as connection:
            account_id = self.origins.known_account(connection, origin)
        if account_id is None:
            return SignInCaller(f"network:{origin.network}", known=False)
        return SignInCaller(f"account:{account_id}", known=True)

    @property
    def _organization_id(self) -> int:
        if (organization_id := self.projects.operators()) is None:
            raise Conflict("There is no organization yet: run `reprise init` first.")
        return organization_id

    def _role(self, identity: Identity) -> Role | None:
        """Return the highest role of the person's groups."""
        roles = self.settings.roles
        given = {roles[group] for group in (*identity.groups, EVERYBODY) if group in roles}
        return max(given, key=list(Role).index, default=None)

    def _user(self, connection: Connection, identity: Identity, unusable: str, *, may_join: bool) -> int:
        """Return the person's account, and link it to the provider; a new one if they may join.

        The first link of an account that is only in other organizations removes its password, and signs out everybody
        who uses it.
        """
        known_as = digest(f"{identity.issuer}\0{identity.subject}")
        if (user_id := users.find_identity(connection, known_as)) is not None:
            return user_id
        if not (identity.email_verified or self.settings.trust_email):
            raise Unauthorized("The provider has not verified your e-mail.")
        email = checked_email(identity.email)
        if user := users.find_by_email(connection, email):
            user_id = user.id
            if self._organization_id not in organizations.roles_of(connection, user_id=user_id):
                # An admin of another organization may have made it by an invitation, and know its password.
                self.sign_ins.give_to_owner(connection, user_id, unusable)
        elif not may_join:
            raise Unauthorized(NO_ACCESS)
        else:
            name = (storable_text(identity.name).strip() or email)[:NAME_MAX]
            user_id = self.accounts.add_user(connection, email, name, unusable)
        try:
            insert_row(connection, users.identities, user_id=user_id, digest=known_as, created_at=self.now())
        except IntegrityError as error:
            raise Conflict("You signed in twice at this moment: try again.") from error
        joins = (self._organization_id,) if may_join else ()
        audit_log.note_of_user(
            connection, self.now(), SYSTEM, Action.IDENTITY_LINKED, user_id=user_id, email=email, joins=joins
        )
        return user_id
