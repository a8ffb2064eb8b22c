"""/api/v1/projects, /api-keys, /members, /invitations, /audit-log and /data-policy of an organization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.access import ByKey
from app.api.operation import Command, operation
from app.cursors import Page
from app.models import organizations
from app.models.api_keys import ApiKey
from app.models.audit_log import AuditEntry
from app.models.data_policies import DataPolicy
from app.schemas import organization as schemas
from app.schemas.base import PageQuerySchema
from app.services.accounts.keys import KeyService
from app.services.accounts.projects import AuditService, ProjectService
from app.services.accounts.service import AccountService
from app.services.data.policies import DataPolicyService


@dataclass(frozen=True, slots=True)
class _Projects:
    tag: ClassVar = "Projects"
    projects: ProjectService


class Projects(_Projects):
    access = ByKey({"GET": "admin", "POST": "admin"})

    @operation("The organization's projects, oldest first", answers={200: schemas.Projects})
    def on_get(self, key: ApiKey) -> list[organizations.Project]:
        return self.projects.list(organization_id=key.organization_id)

    @operation(
        "Make another project",
        body=schemas.ProjectSchema,
        answers={201: schemas.Project},
        location="/api/v1/projects/{id}",
    )
    def on_post(self, key: ApiKey, command: Command) -> organizations.Project:
        project_id = self.projects.create(organization_id=key.organization_id, actor=key.actor, **command)
        return self.projects.get(organization_id=key.organization_id, project_id=project_id)


class Project(_Projects):
    access = ByKey({"GET": "admin", "PATCH": "admin"})

    @operation("One project", answers={200: schemas.Project})
    def on_get(self, key: ApiKey, project_id: int) -> organizations.Project:
        return self.projects.get(organization_id=key.organization_id, project_id=project_id)

    @operation("Rename a project", body=schemas.ProjectSchema, answers={200: schemas.Project})
    def on_patch(self, key: ApiKey, command: Command, project_id: int) -> organizations.Project:
        self.on_get(key, project_id)  # NotFound for another organization's
        self.projects.rename(project_id=project_id, actor=key.actor, **command)
        return self.on_get(key, project_id)


@dataclass(frozen=True, slots=True)
class ProjectApiKeys(_Projects):
    """A project's further keys can be managed at /api/v1/api-keys with a key made here."""

    access: ClassVar = ByKey({"POST": "admin"})
    keys: KeyService

    @operation(
        "Make an API key of any project of the organization; its secret is shown this once",
        body=schemas.NewKeySchema,
        answers={201: schemas.CreatedApiKey},
        location="/api/v1/api-keys/{id}",
    )
    def on_post(self, key: ApiKey, command: Command, project_id: int) -> schemas.MadeKey:
        self.projects.get(organization_id=key.organization_id, project_id=project_id)
        new = self.keys.create_with(key, project_id=project_id, **command)
        return schemas.MadeKey(self.keys.get(project_id=project_id, key_id=new.id), new.secret)


@dataclass(frozen=True, slots=True)
class _Keys:
    tag: ClassVar = "Keys"
    keys: KeyService


class ApiKeys(_Keys):
    """Reading takes the scope `write`, too: a list of keys is only of use to callers that make and revoke them."""

    access = ByKey({"GET": "write", "POST": "write"})

    @operation("The project's API keys, revoked and expired ones too", answers={200: schemas.ApiKeys})
    def on_get(self, key: ApiKey) -> list[ApiKey]:
        return self.keys.list(project_id=key.project_id)

    @operation(
        "Make an API key; its secret is shown this once",
        body=schemas.NewKeySchema,
        answers={201: schemas.CreatedApiKey},
        location="/api/v1/api-keys/{id}",
    )
    def on_post(self, key: ApiKey, command: Command) -> schemas.MadeKey:
        new = self.keys.create_with(key, **command)
        return schemas.MadeKey(self.keys.get(project_id=key.project_id, key_id=new.id), new.secret)


class ApiKeyResource(_Keys):
    access = ByKey({"GET": "write", "DELETE": "write"})

    @operation("One API key", answers={200: schemas.ApiKey})
    def on_get(self, key: ApiKey, key_id: int) -> ApiKey:
        return self.keys.get(project_id=key.project_id, key_id=key_id)

    @operation("Revoke an API key, everywhere within 5 seconds", answers={204: None})
    def on_delete(self, key: ApiKey, key_id: int) -> None:
        self.keys.revoke_with(key, key_id=key_id)


@dataclass(frozen=True, slots=True)
class _Members:
    tag: ClassVar = "Members"
    accounts: AccountService


class Members(_Members):
    access = ByKey({"GET": "admin"})

    @operation("The organization's members, in the order they joined", answers={200: schemas.Members})
    def on_get(self, key: ApiKey) -> list[organizations.Member]:
        return self.accounts.members(organization_id=key.organization_id)


class Member(_Members):
    """An organization keeps an admin: taking the last one's role is 409."""

    access = ByKey({"GET": "admin", "PATCH": "admin", "DELETE": "admin"})

    @operation("One member", answers={200: schemas.Member})
    def on_get(self, key: ApiKey, user_id: int) -> organizations.Member:
        return self.accounts.member(organization_id=key.organization_id, user_id=user_id)

    @operation("Change a member's role", body=schemas.RoleSchema, answers={200: schemas.Member}, errors=(409,))
    def on_patch(self, key: ApiKey, command: Command, user_id: int) -> organizations.Member:
        organization_id = key.organization_id
        self.accounts.change_role(organization_id=organization_id, user_id=user_id, actor=key.actor, **command)
        return self.accounts.member(organization_id=organization_id, user_id=user_id)

    @operation("Remove a member and end their sign-ins; what they made stays", answers={204: None}, errors=(409,))
    def on_delete(self, key: ApiKey, user_id: int) -> None:
        self.accounts.remove(organization_id=key.organization_id, user_id=user_id, actor=key.actor)


class Invitations(_Members):
    access = ByKey({"GET": "admin", "POST": "admin"})

    @operation("Invitations that nobody has followed yet, newest first", answers={200: schemas.Invitations})
    def on_get(self, key: ApiKey) -> list[organizations.Invitation]:
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


class Invitation(_Members):
    access = ByKey({"GET": "admin", "DELETE": "admin"})

    @operation("One open invitation", answers={200: schemas.Invitation})
    def on_get(self, key: ApiKey, invitation_id: int) -> organizations.Invitation:
        return self.accounts.open_invitation(organization_id=key.organization_id, invitation_id=invitation_id)

    @operation("Withdraw an invitation", answers={204: None})
    def on_delete(self, key: ApiKey, invitation_id: int) -> None:
        self.accounts.withdraw(organization_id=key.organization_id, invitation_id=invitation_id, actor=key.actor)


@dataclass(frozen=True, slots=True)
class AuditLog:
    """It takes the scope `admin`, as it names members and covers all projects."""

    tag: ClassVar = "Audit log"
    access: ClassVar = ByKey({"GET": "admin"})
    audit: AuditService

    @operation("The organization's audit log, newest first", query=PageQuerySchema, answers={200: schemas.AuditLog})
    def on_get(self, key: ApiKey, command: Command) -> Page[AuditEntry]:
        return self.audit.page(organization_id=key.organization_id, **command)


@dataclass(frozen=True, slots=True)
class DataPolicyResource:
    tag: ClassVar = "Data policy"
    access: ClassVar = ByKey({"GET": "read", "PUT": "write"})
    policies: DataPolicyService

    @operation("How long the project keeps what, and what it masks", answers={200: schemas.DataPolicy})
    def on_get(self, key: ApiKey) -> DataPolicy:
        return self.policies.get(project_id=key.project_id)

    @operation(
        "Set how long the project keeps what, and what it masks",
        body=schemas.DataPolicySchema,
        answers={200: schemas.DataPolicy},
    )
    def on_put(self, key: ApiKey, command: DataPolicy) -> DataPolicy:
        self.policies.put(project_id=key.project_id, policy=command, actor=key.actor)
        return command
