"""/api/v1/projects, /api-keys, /members, /invitations, /audit-log and /data-policy of an organization."""

from __future__ import annotations

from app.api.operation import Command, Resource, operation
from app.models import organizations
from app.models.api_keys import ApiKey
from app.models.audit_log import AuditEntry
from app.models.data_policies import DataPolicy
from app.pagination import ListPage
from app.schemas import organization as schemas
from app.schemas.base import PageQuerySchema
from app.services.accounts.projects import PROJECTS_OF_ORGANIZATION


class Projects(Resource, tag="Projects", GET="admin", POST="admin"):
    @operation("The organization's projects, oldest first", answers={200: schemas.Projects})
    def on_get(self, key: ApiKey) -> list[organizations.Project]:
        return self.services.projects.of([key.organization_id])

    @operation(
        f"Make a project; an organization has at most {PROJECTS_OF_ORGANIZATION}",
        body=schemas.ProjectSchema,
        answers={201: schemas.ProjectAnswerSchema},
        location="/api/v1/projects/{id}",
    )
    def on_post(self, key: ApiKey, command: Command) -> organizations.Project:
        project_id = self.services.projects.create(organization_id=key.organization_id, actor=key.actor, **command)
        return self.services.projects.get(organization_id=key.organization_id, project_id=project_id)


class ProjectResource(Resource, tag="Projects", GET="admin", PATCH="admin"):
    @operation("One project", answers={200: schemas.ProjectAnswerSchema})
    def on_get(self, key: ApiKey, project_id: int) -> organizations.Project:
        return self.services.projects.get(organization_id=key.organization_id, project_id=project_id)

    @operation("Rename a project", body=schemas.ProjectSchema, answers={200: schemas.ProjectAnswerSchema})
    def on_patch(self, key: ApiKey, command: Command, project_id: int) -> organizations.Project:
        self.on_get(key, project_id)  # raises NotFound for a project of another organization
        self.services.projects.rename(project_id=project_id, actor=key.actor, **command)
        return self.on_get(key, project_id)


class ProjectApiKeys(Resource, tag="Projects", POST="admin"):
    """With a key made here, further keys of the project can be managed at /api/v1/api-keys."""

    @operation(
        "Make an API key of any project of the organization; its secret is shown only once",
        body=schemas.NewKeySchema,
        answers={201: schemas.CreatedApiKey},
        location="/api/v1/api-keys/{id}",
    )
    def on_post(self, key: ApiKey, command: Command, project_id: int) -> schemas.MadeKey:
        self.services.projects.get(organization_id=key.organization_id, project_id=project_id)
        new = self.services.keys.create_with(key, project_id=project_id, **command)
        return schemas.MadeKey(self.services.keys.get(project_id=project_id, key_id=new.id), new.secret)


class ApiKeys(Resource, tag="Keys", GET="write", POST="write"):
    """Reading requires the scope `write`, too: only callers that make and revoke keys need the list."""

    @operation("The project's API keys, including revoked and expired ones", answers={200: schemas.ApiKeys})
    def on_get(self, key: ApiKey) -> list[ApiKey]:
        return self.services.keys.list(project_id=key.project_id)

    @operation(
        "Make an API key; its secret is shown only once",
        body=schemas.NewKeySchema,
        answers={201: schemas.CreatedApiKey},
        location="/api/v1/api-keys/{id}",
    )
    def on_post(self, key: ApiKey, command: Command) -> schemas.MadeKey:
        new = self.services.keys.create_with(key, **command)
        return schemas.MadeKey(self.services.keys.get(project_id=key.project_id, key_id=new.id), new.secret)


class ApiKeyResource(Resource, tag="Keys", GET="write", DELETE="write"):
    @operation("One API key", answers={200: schemas.ApiKeySchema})
    def on_get(self, key: ApiKey, key_id: int) -> ApiKey:
        return self.services.keys.get(project_id=key.project_id, key_id=key_id)

    @operation("Revoke an API key; it stops working everywhere within 5 seconds", answers={204: None})
    def on_delete(self, key: ApiKey, key_id: int) -> None:
        self.services.keys.revoke_with(key, key_id=key_id)


class MembersResource(Resource, tag="Members", GET="admin"):
    @operation("The organization's members, in the order they joined", answers={200: schemas.Members})
    def on_get(self, key: ApiKey) -> list[organizations.Member]:
        return self.services.accounts.members(organization_id=key.organization_id)


class MemberResource(Resource, tag="Members", GET="admin", PATCH="admin", DELETE="admin"):
    """An organization keeps at least one admin. Removing the last one or their role answers 409."""

    @operation("One member", answers={200: schemas.MemberSchema})
    def on_get(self, key: ApiKey, user_id: int) -> organizations.Member:
        return self.services.accounts.member(organization_id=key.organization_id, user_id=user_id)

    @operation("Change a member's role", body=schemas.RoleSchema, answers={200: schemas.MemberSchema}, errors=(409,))
    def on_patch(self, key: ApiKey, command: Command, user_id: int) -> organizations.Member:
        organization_id = key.organization_id
        self.services.accounts.change_role(organization_id=organization_id, user_id=user_id, actor=key.actor, **command)
        return self.services.accounts.member(organization_id=organization_id, user_id=user_id)

    @operation("Remove a member and sign them out; everything that they made stays", answers={204: None}, errors=(409,))
    def on_delete(self, key: ApiKey, user_id: int) -> None:
        self.services.accounts.remove(organization_id=key.organization_id, user_id=user_id, actor=key.actor)


class Invitations(Resource, tag="Members", GET="admin", POST="admin"):
    @operation("Open invitations, newest first", answers={200: schemas.Invitations})
    def on_get(self, key: ApiKey) -> list[organizations.Invitation]:
        return self.services.accounts.invitations(organization_id=key.organization_id)

    @operation(
        "Invite somebody; the path of the link is shown only once",
        body=schemas.NewInvitationSchema,
        answers={201: schemas.CreatedInvitation},
        location="/api/v1/invitations/{id}",
    )
    def on_post(self, key: ApiKey, command: Command) -> schemas.NewInvitation:
        token = self.services.accounts.invite(organization_id=key.organization_id, actor=key.actor, **command)
        return schemas.NewInvitation(self.services.accounts.invitation(token), token)


class InvitationResource(Resource, tag="Members", GET="admin", DELETE="admin"):
    @operation("One open invitation", answers={200: schemas.InvitationSchema})
    def on_get(self, key: ApiKey, invitation_id: int) -> organizations.Invitation:
        return self.services.accounts.open_invitation(organization_id=key.organization_id, invitation_id=invitation_id)

    @operation("Withdraw an invitation", answers={204: None})
    def on_delete(self, key: ApiKey, invitation_id: int) -> None:
        self.services.accounts.withdraw(
            organization_id=key.organization_id, invitation_id=invitation_id, actor=key.actor
        )


class AuditLog(Resource, tag="Audit log", GET="admin"):
    """Requires the scope `admin`, because it names members and covers all projects."""

    @operation("The organization's audit log, newest first", query=PageQuerySchema, answers={200: schemas.AuditLog})
    def on_get(self, key: ApiKey, command: Command) -> ListPage[AuditEntry]:
        return self.services.audit.page(organization_id=key.organization_id, **command)


class DataPolicyResource(Resource, tag="Data policy", GET="read", PUT="write"):
    @operation(
        "The data policy: how long the project keeps data, and what it masks",
        answers={200: schemas.DataPolicyAnswerSchema},
    )
    def on_get(self, key: ApiKey) -> DataPolicy:
        return self.services.data_policies.get(project_id=key.project_id)

    @operation(
        "Set the data policy: how long the project keeps data, and what it masks",
        body=schemas.DataPolicySchema,
        answers={200: schemas.DataPolicyAnswerSchema},
    )
    def on_put(self, key: ApiKey, command: DataPolicy) -> DataPolicy:
        self.services.data_policies.put(project_id=key.project_id, policy=command, actor=key.actor)
        return command
