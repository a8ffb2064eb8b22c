"""Projects, members, invitations and the audit log, as answers show them."""

from __future__ import annotations

from app.schemas.answers.shapes import choice, integer, many, mapping, one, shape, text, time
from app.schemas.organization import ROLES

Project = shape("Project", {"id": integer(), "name": text(), "createdAt": time()})
Projects = shape("Projects", {"projects": many(Project)})
Member = shape(
    "Member", {"userId": integer(), "name": text(), "email": text(), "role": choice(*ROLES), "createdAt": time()}
)
Members = shape("Members", {"members": many(Member)})
Invitation = shape(
    "Invitation",
    {"id": integer(), "email": text(), "role": choice(*ROLES), "createdAt": time(), "expiresAt": time()},
)
Invitations = shape("Invitations", {"invitations": many(Invitation)})
CreatedInvitation = shape("CreatedInvitation", {"path": text()}, Invitation)
AuditEntry = shape(
    "AuditEntry",
    {
        "id": integer(),
        "projectId": integer(allow_none=True),
        "actor": one(shape("AuditActor", {"kind": choice("user", "api_key", "system"), "name": text()})),
        "action": text(),
        "subject": text(),
        "details": mapping(),
        "createdAt": time(),
    },
)
AuditLog = shape("AuditLog", {"entries": many(AuditEntry), "nextCursor": text(allow_none=True)})
