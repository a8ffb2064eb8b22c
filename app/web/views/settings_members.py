"""Settings: the organization's members, and invitations of new ones."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.errors import Invalid
from app.models.memberships import Role
from app.web.presenters.confirm import Confirm
from app.web.presenters.settings import members_page
from app.web.shell import project_path
from app.web.views.settings_keys import SettingsPage
from app.web.visit import Visit


class Members(SettingsPage):
    access = ByRole({"GET": Role.ADMIN, "POST": Role.ADMIN})

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, project_id: int, status: str = falcon.HTTP_200, **more: str
    ) -> None:
        visit: Visit = req.context.visit
        members = self.services.accounts.members(organization_id=visit.organization_id)
        open_ones = self.services.accounts.invitations(organization_id=visit.organization_id)
        page = members_page(project_path(project_id), members, open_ones, **more)
        self.show(req, resp, "settings_members.html", page, status=status)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        visit: Visit = req.context.visit
        email = visit.form.text("email")
        try:
            token = self.services.accounts.invite(
                organization_id=visit.organization_id, email=email, role=_role(visit), actor=visit.actor
            )
        except Invalid as error:
            return self.on_get(req, resp, project_id, status=falcon.HTTP_400, email=email, problem=str(error))
        return self.on_get(req, resp, project_id, link=f"{self.base_url}/join/{token}", link_email=email)


class Member(SettingsPage):
    access = ByRole({"POST": Role.ADMIN})

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, user_id: int) -> None:
        visit: Visit = req.context.visit
        self.services.accounts.change_role(
            organization_id=visit.organization_id, user_id=user_id, role=_role(visit), actor=visit.actor
        )
        self.lead(req, resp, f"{project_path(project_id)}/settings/members", "The role is changed.")


class RemoveMember(SettingsPage):
    access = ByRole({"GET": Role.ADMIN, "POST": Role.ADMIN})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, user_id: int) -> None:
        visit: Visit = req.context.visit
        member = self.services.accounts.member(organization_id=visit.organization_id, user_id=user_id)
        back = f"{project_path(project_id)}/settings/members"
        page = Confirm(
            title=f"Remove {member.name}?",
            words=f"{member.email} is signed out and loses access at once. What they made stays.",
            button="Remove the member",
            action=f"{back}/{user_id}/remove",
            back=back,
        )
        self.show(req, resp, "confirm.html", page)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, user_id: int) -> None:
        visit: Visit = req.context.visit
        self.services.accounts.remove(organization_id=visit.organization_id, user_id=user_id, actor=visit.actor)
        self.lead(req, resp, f"{project_path(project_id)}/settings/members", "The member is removed.")


class WithdrawInvitation(SettingsPage):
    access = ByRole({"POST": Role.ADMIN})

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, invitation_id: int) -> None:
        visit: Visit = req.context.visit
        self.services.accounts.withdraw(
            organization_id=visit.organization_id, invitation_id=invitation_id, actor=visit.actor
        )
        self.lead(req, resp, f"{project_path(project_id)}/settings/members", "The invitation is withdrawn.")


def _role(visit: Visit) -> Role:
    try:
        return Role(visit.form.text("role"))
    except ValueError as error:
        raise Invalid("role: There is no such role.") from error
