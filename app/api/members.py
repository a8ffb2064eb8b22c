"""/api/v1/members and /api/v1/invitations: the people who sign in to the organization's pages, with their roles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.access import ByKey
from app.api.operation import Command, operation
from app.models import invitations, memberships
from app.models.api_keys import ApiKey
from app.schemas import organization as schemas
from app.services.accounts.service import AccountService


@dataclass(frozen=True, slots=True)
class Members:
    access: ClassVar = ByKey({"GET": "admin"})
    accounts: AccountService

    @operation("The organization's members, in the order they joined", answers={200: schemas.Members})
    def on_get(self, key: ApiKey) -> list[memberships.Member]:
        return self.accounts.members(organization_id=key.organization_id)


@dataclass(frozen=True, slots=True)
class Member:
    """An organization keeps an admin: taking the last one's role is 409."""

    access: ClassVar = ByKey({"GET": "admin", "PATCH": "admin", "DELETE": "admin"})
    accounts: AccountService

    @operation("One member", answers={200: schemas.Member})
    def on_get(self, key: ApiKey, user_id: int) -> memberships.Member:
        return self.accounts.member(organization_id=key.organization_id, user_id=user_id)

    @operation("Change a member's role", body=schemas.RoleSchema, answers={200: schemas.Member}, errors=(409,))
    def on_patch(self, key: ApiKey, command: Command, user_id: int) -> memberships.Member:
        organization_id = key.organization_id
        self.accounts.change_role(organization_id=organization_id, user_id=user_id, actor=key.actor, **command)
        return self.accounts.member(organization_id=organization_id, user_id=user_id)

    @operation("Remove a member and end their sign-ins; what they made stays", answers={204: None}, errors=(409,))
    def on_delete(self, key: ApiKey, user_id: int) -> None:
        self.accounts.remove(organization_id=key.organization_id, user_id=user_id, actor=key.actor)


@dataclass(frozen=True, slots=True)
class Invitations:
    access: ClassVar = ByKey({"GET": "admin", "POST": "admin"})
    accounts: AccountService

    @operation("Invitations that nobody has followed yet, newest first", answers={200: schemas.Invitations})
    def on_get(self, key: ApiKey) -> list[invitations.Invitation]:
        return self.accounts.invitations(organization_id=key.organization_id)

    @operation(
        "Invite somebody; the path of the link is shown this once",
        body=schemas.NewInvitationSchema,
        answers={201: schemas.CreatedInvitation},
        location="/api/v1/invitations/{id}",
    )
    def on_post(self, key: ApiKey, command: Command) -> schemas.NewInvitation:
        token = self.accounts.invite(organization_id=key.organization_id, actor=key.actor, **command)
        return schemas.NewInvitation(self.accounts.invitation(token), token)


@dataclass(frozen=True, slots=True)
class Invitation:
    access: ClassVar = ByKey({"GET": "admin", "DELETE": "admin"})
    accounts: AccountService

    @operation("One open invitation", answers={200: schemas.Invitation})
    def on_get(self, key: ApiKey, invitation_id: int) -> invitations.Invitation:
        return self.accounts.open_invitation(organization_id=key.organization_id, invitation_id=invitation_id)

    @operation("Withdraw an invitation", answers={204: None})
    def on_delete(self, key: ApiKey, invitation_id: int) -> None:
        self.accounts.withdraw(organization_id=key.organization_id, invitation_id=invitation_id, actor=key.actor)
