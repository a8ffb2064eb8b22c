"""/api/v1/members and /api/v1/invitations: who may sign in to the organization's pages, and as what."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.api.operation import operation
from app.http.bodies import read_json
from app.schemas.answers import organization as answers
from app.schemas.base import load
from app.schemas.organization import NewInvitationSchema, RoleSchema, dump_invitation, dump_member
from app.services.accounts.service import AccountService

_ROLE, _NEW = RoleSchema(), NewInvitationSchema()


class _Resource:
    def __init__(self, *, accounts: AccountService, body_bytes: int) -> None:
        self._accounts = accounts
        self._body_bytes = body_bytes


class Members(_Resource):
    access = ByKey({"GET": "admin"})

    @operation("The organization's members, in the order they joined", answers={200: answers.Members})
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        found = self._accounts.members(organization_id=req.context.key.organization_id)
        resp.media = {"members": [dump_member(member) for member in found]}


class Member(_Resource):
    """An organization keeps an admin: taking the last one's role is 409."""

    access = ByKey({"GET": "admin", "PATCH": "admin", "DELETE": "admin"})

    @operation("One member", answers={200: answers.Member})
    def on_get(self, req: falcon.Request, resp: falcon.Response, user_id: int) -> None:
        resp.media = dump_member(
            self._accounts.member(organization_id=req.context.key.organization_id, user_id=user_id)
        )

    @operation("Change a member's role", body=RoleSchema, answers={200: answers.Member}, errors=(409,))
    def on_patch(self, req: falcon.Request, resp: falcon.Response, user_id: int) -> None:
        key, role = req.context.key, load(_ROLE, read_json(req, self._body_bytes))["role"]
        self._accounts.change_role(organization_id=key.organization_id, user_id=user_id, role=role, actor=key.actor)
        resp.media = dump_member(self._accounts.member(organization_id=key.organization_id, user_id=user_id))

    @operation("Remove a member and end their sign-ins; what they made stays", answers={204: None}, errors=(409,))
    def on_delete(self, req: falcon.Request, resp: falcon.Response, user_id: int) -> None:
        key = req.context.key
        self._accounts.remove(organization_id=key.organization_id, user_id=user_id, actor=key.actor)
        resp.status = falcon.HTTP_204


class Invitations(_Resource):
    access = ByKey({"GET": "admin", "POST": "admin"})

    @operation("Invitations that nobody has followed yet, newest first", answers={200: answers.Invitations})
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        found = self._accounts.invitations(organization_id=req.context.key.organization_id)
        resp.media = {"invitations": [dump_invitation(invitation) for invitation in found]}

    @operation(
        "Invite somebody; the path of the link is shown this once",
        body=NewInvitationSchema,
        answers={201: answers.CreatedInvitation},
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        key, sent = req.context.key, load(_NEW, read_json(req, self._body_bytes))
        token = self._accounts.invite(organization_id=key.organization_id, actor=key.actor, **sent)
        made = self._accounts.invitation(token)
        resp.status = falcon.HTTP_201
        resp.location = f"/api/v1/invitations/{made.id}"
        resp.media = dump_invitation(made) | {"path": f"/join/{token}"}


class Invitation(_Resource):
    access = ByKey({"GET": "admin", "DELETE": "admin"})

    @operation("One open invitation", answers={200: answers.Invitation})
    def on_get(self, req: falcon.Request, resp: falcon.Response, invitation_id: int) -> None:
        organization_id = req.context.key.organization_id
        found = self._accounts.open_invitation(organization_id=organization_id, invitation_id=invitation_id)
        resp.media = dump_invitation(found)

    @operation("Withdraw an invitation", answers={204: None})
    def on_delete(self, req: falcon.Request, resp: falcon.Response, invitation_id: int) -> None:
        key = req.context.key
        self._accounts.withdraw(organization_id=key.organization_id, invitation_id=invitation_id, actor=key.actor)
        resp.status = falcon.HTTP_204
