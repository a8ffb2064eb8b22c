"""An organization's projects, members, invitations and audit log."""

from __future__ import annotations

from typing import Any, NamedTuple

from marshmallow import fields, post_load, validate

from app.models import invitations
from app.models.memberships import Role
from app.schemas.answer import Answer, choice, integer, itself, many, mapping, one, part, text, time
from app.schemas.base import StrictSchema, Text
from app.services.accounts.projects import NAME_MAX
from app.services.accounts.service import EMAIL_MAX

ROLES = tuple(role.value for role in Role)


class ProjectSchema(StrictSchema):
    name = Text(required=True, minimum=1, maximum=NAME_MAX, trim=True)


class RoleSchema(StrictSchema):
    role = fields.String(required=True, validate=validate.OneOf(ROLES))

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        return data | {"role": Role(data["role"])}


class NewInvitationSchema(RoleSchema):
    email = Text(required=True, maximum=EMAIL_MAX)


class Project(Answer):
    id = integer()
    name = text()
    created_at = time()


class Projects(Answer):
    projects = many(Project, get=itself)


class Member(Answer):
    user_id = integer()
    name = text()
    email = text()
    role = choice(*ROLES)
    created_at = time()


class Members(Answer):
    members = many(Member, get=itself)


class Invitation(Answer):
    id = integer()
    email = text()
    role = choice(*ROLES)
    created_at = time()
    expires_at = time()


class Invitations(Answer):
    invitations = many(Invitation, get=itself)


class NewInvitation(NamedTuple):
    """An invitation with its secret token."""

    invitation: invitations.Invitation
    token: str


class CreatedInvitation(Answer):
    invitation = part(Invitation, "invitation")
    path = text(get=lambda new: f"/join/{new.token}")


class AuditActor(Answer):
    kind = choice("user", "api_key", "system", attribute="actor_kind")
    name = text(attribute="actor_name")


class AuditEntry(Answer):
    id = integer()
    project_id = integer(allow_none=True)
    actor = one(AuditActor, get=itself)
    action = text()
    subject = text()
    details = mapping()
    created_at = time()


class AuditLog(Answer):
    entries = many(AuditEntry)
    next_cursor = text(allow_none=True)
