"""Requests about an organization's projects, members and invitations, and all of them as JSON, its audit log too."""

from __future__ import annotations

from typing import Any

from marshmallow import fields, post_load, validate

from app.models.audit_log import AuditEntry
from app.models.invitations import Invitation
from app.models.memberships import Member, Role
from app.models.organizations import Project
from app.schemas.base import StrictSchema, Text
from app.services.accounts.projects import NAME_MAX
from app.services.accounts.service import EMAIL_MAX
from app.timestamps import iso

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


def dump_project(project: Project) -> dict[str, Any]:
    return {"id": project.id, "name": project.name, "createdAt": iso(project.created_at)}


def dump_member(member: Member) -> dict[str, Any]:
    return {
        "userId": member.user_id,
        "name": member.name,
        "email": member.email,
        "role": member.role,
        "createdAt": iso(member.created_at),
    }


def dump_invitation(invitation: Invitation) -> dict[str, Any]:
    return {
        "id": invitation.id,
        "email": invitation.email,
        "role": invitation.role,
        "createdAt": iso(invitation.created_at),
        "expiresAt": iso(invitation.expires_at),
    }


def dump_entry(entry: AuditEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "projectId": entry.project_id,
        "actor": {"kind": entry.actor_kind, "name": entry.actor_name},
        "action": entry.action,
        "subject": entry.subject,
        "details": entry.details,
        "createdAt": iso(entry.created_at),
    }
