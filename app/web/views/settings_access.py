"""Settings: the project's API keys, the organization's members, and invitations of new ones."""

from __future__ import annotations

from datetime import timedelta

from app.errors import Invalid
from app.models.organizations import Role
from app.services.accounts.keys import DEFAULT_SCOPES, SCOPES
from app.services.accounts.projects import checked_name
from app.web.page import Redirect, Reply, SettingsPage, confirm, show
from app.web.visit import Visit

EXPIRIES = [("", "Never"), ("30", "In 30 days"), ("90", "In 90 days"), ("365", "In a year")]
ROLES = [
    ("viewer", "Viewer: reads"),
    ("member", "Member: edits and runs"),
    ("admin", "Admin: changes settings too"),
]


class Keys(SettingsPage):
    refusals = (Invalid,)

    def get(self, visit: Visit, secret: str = "") -> Reply:
        """Keys that work come first, the newest on top; `secret` is a new key, shown this once."""
        now = self.container.now()
        keys = self.services.keys.list(project_id=visit.project_id)
        ordered = sorted(keys, key=lambda key: (not key.valid_at(now), -key.id))
        return show("settings_keys.html", rows=ordered, now=now, usual=DEFAULT_SCOPES, expiries=EXPIRIES, secret=secret)

    def post(self, visit: Visit) -> Reply:
        days = visit.form.choice("expires", dict(EXPIRIES))
        created = self.services.keys.create(
            project_id=visit.project_id,
            name=checked_name(visit.form.text("name")),
            scopes=SCOPES if visit.form.text("admin") else DEFAULT_SCOPES,
            expires_at=self.container.now() + timedelta(days=int(days)) if days else None,
            actor=visit.actor,
        )
        return self.get(visit, created.secret)


class RevokeKey(SettingsPage):
    def get(self, visit: Visit, key_id: int) -> Reply:
        key = self.services.keys.get(project_id=visit.project_id, key_id=key_id)
        return confirm(
            visit,
            title=f"Revoke {key.name}?",
            text=f"Whatever uses the key rp_…{key.last_four} is refused within 5 seconds. This can't be undone.",
            button="Revoke the key",
            back=f"{visit.base}/settings/keys",
        )

    def post(self, visit: Visit, key_id: int) -> Reply:
        self.services.keys.revoke(project_id=visit.project_id, key_id=key_id, actor=visit.actor)
        return Redirect(f"{visit.base}/settings/keys", "The key is revoked.")


class Members(SettingsPage):
    refusals = (Invalid,)

    def get(self, visit: Visit, link: str = "") -> Reply:
        """`link` is that of a new invitation, shown this once."""
        accounts, organization_id = self.services.accounts, visit.organization_id
        return show(
            "settings_members.html",
            members=accounts.members(organization_id=organization_id),
            invitations=accounts.invitations(organization_id=organization_id),
            roles=ROLES,
            link=link,
            link_email=visit.form.text("email"),
        )

    def post(self, visit: Visit) -> Reply:
        token = self.services.accounts.invite(
            organization_id=visit.organization_id,
            email=visit.form.text("email"),
            role=_role(visit),
            actor=visit.actor,
        )
        return self.get(visit, link=f"{self.base_url}/join/{token}")


class Member(SettingsPage):
    def post(self, visit: Visit, user_id: int) -> Reply:
        self.services.accounts.change_role(
            organization_id=visit.organization_id, user_id=user_id, role=_role(visit), actor=visit.actor
        )
        return Redirect(f"{visit.base}/settings/members", "The role is changed.")


class RemoveMember(SettingsPage):
    def get(self, visit: Visit, user_id: int) -> Reply:
        member = self.services.accounts.member(organization_id=visit.organization_id, user_id=user_id)
        return confirm(
            visit,
            title=f"Remove {member.name}?",
            text=f"{member.email} is signed out and loses access at once. What they made stays.",
            button="Remove the member",
            back=f"{visit.base}/settings/members",
        )

    def post(self, visit: Visit, user_id: int) -> Reply:
        self.services.accounts.remove(organization_id=visit.organization_id, user_id=user_id, actor=visit.actor)
        return Redirect(f"{visit.base}/settings/members", "The member is removed.")


class WithdrawInvitation(SettingsPage):
    def post(self, visit: Visit, invitation_id: int) -> Reply:
        self.services.accounts.withdraw(
            organization_id=visit.organization_id, invitation_id=invitation_id, actor=visit.actor
        )
        return Redirect(f"{visit.base}/settings/members", "The invitation is withdrawn.")


def _role(visit: Visit) -> Role:
    try:
        return Role(visit.form.text("role"))
    except ValueError as error:
        raise Invalid("role: There is no such role.") from error
