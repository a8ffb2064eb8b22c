"""Middleware of the pages: identifies the viewer of a request, and admits or refuses it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import falcon

from app.encryption import new_token
from app.errors import Forbidden, RateLimited, require
from app.http.access import Access, ByRole, BySession, Public, access_of
from app.models.organizations import Project
from app.redis_store.rate import RateLimiter
from app.services.accounts.projects import ProjectService
from app.services.accounts.sign_in_attempts import SignInOrigin
from app.services.accounts.sign_ins import SignInService, Viewer
from app.web.cookies import (
    DEVICE_COOKIE,
    FORM_COOKIE,
    ONCE_COOKIE,
    OPENID_COOKIE,
    SESSION_COOKIE,
    Cookies,
    read_account,
    read_flash,
)
from app.web.forms import Form, check_csrf, csrf_token, read_form
from app.web.page import Page
from app.web.visit import Visit
from app.web.zones import read_zone

# The largest form for visitors who are not signed in: an e-mail address, a password, a name.
PUBLIC_FORM_BYTES = 8 * 1024


@dataclass(frozen=True, slots=True)
class Admission:
    """Admits a request to a page if the viewer is signed in, a member of the project, and has the required role.

    Sets `req.context.visit` to the `Visit`. Browsers that are not signed in are redirected to the sign-in, and back
    afterwards. Requests are counted by user over all sessions, or by the client's network without a sign-in.
    `form_bytes` limits forms without files, `files_bytes` forms with files.
    """

    sign_ins: SignInService
    projects: ProjectService
    limiter: RateLimiter
    cookies: Cookies
    form_bytes: int
    files_bytes: int

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: object, params: dict[str, Any]
    ) -> None:
        access = access_of(resource)
        if not isinstance(access, ByRole | BySession) and not isinstance(resource, Page):
            return
        session = req.cookies.get(SESSION_COOKIE, "")
        viewer = self.sign_ins.viewer(session) if session else None
        origin = SignInOrigin(req.remote_addr, req.cookies.get(DEVICE_COOKIE, ""), read_account(req))
        self._count(origin, viewer)
        if viewer is None and not isinstance(access, Public):
            raise falcon.HTTPSeeOther(sign_in_path(req, resource))
        secret = session if viewer else self._form_secret(req, resp)
        projects = self.projects.of(viewer.roles) if viewer else []
        visit = Visit(
            csrf=csrf_token(secret),
            path=req.path,
            zone=read_zone(req),
            query={name: value if isinstance(value, str) else value[-1] for name, value in req.params.items()},
            session=session,
            origin=origin,
            viewer=viewer,
            projects=projects,
            project=_chosen(projects, params.get("project_id")),
            operators=self.projects.operators() if viewer else None,
            # A form's answer can be a preview, and the viewer would miss messages in it. The next page shows them.
            flash=read_flash(req) if req.method == "GET" else None,
            once=req.cookies.get(ONCE_COOKIE, ""),
            attempt=req.cookies.get(OPENID_COOKIE, ""),
        )
        req.context.visit = visit
        if isinstance(access, ByRole):
            _require_role(visit, access, req.method)
        if req.method == "POST" and "POST" in access.methods:
            form = self._form(req, secret, access, with_files=getattr(resource, "multipart", False))
            req.context.visit = replace(visit, form=form)

    def _count(self, origin: SignInOrigin, viewer: Viewer | None) -> None:
        caller = f"user:{viewer.user_id}" if viewer else f"network:{origin.network}"
        allowance = self.limiter.hit(f"page:{caller}")
        if not allowance.allowed:
            seconds = max(1, allowance.reset_s)
            raise RateLimited(f"Over the limit of {allowance.limit} pages per minute. Go on in {seconds} s.", seconds)

    def _form(self, req: falcon.Request, secret: str, access: Access, *, with_files: bool) -> Form:
        limit = self.files_bytes if with_files else self.form_bytes
        form = read_form(req, PUBLIC_FORM_BYTES if isinstance(access, Public) else limit, with_files=with_files)
        check_csrf(form, secret)
        return form

    def _form_secret(self, req: falcon.Request, resp: falcon.Response) -> str:
        """Return the secret of a form without a session: a random token in a cookie of this browser."""
        known = req.cookies.get(FORM_COOKIE)
        if known or req.method == "POST":
            return known or ""
        token = new_token()
        self.cookies.put(req, resp, FORM_COOKIE, token)
        return token


def _require_role(visit: Visit, access: ByRole, method: str) -> None:
    needed = access.needed(method)
    if access.of_operators and not visit.operates:
        raise falcon.HTTPRouteNotFound
    if needed is not None and not visit.may(needed):
        raise Forbidden(f"This requires the role {needed}; yours is {visit.role}. Ask an admin for it.")


def _chosen(projects: list[Project], project_id: int | None) -> Project | None:
    """Return the viewer's project with this id, or the first without an id. Raises `NotFound` for others' projects."""
    if project_id is None:
        return projects[0] if projects else None
    chosen = next((project for project in projects if project.id == project_id), None)
    return require(chosen, "There is no such project, or you are no member of its organization.")


def sign_in_path(req: falcon.Request, resource: object) -> str:
    """Return the address of the sign-in, which redirects to the requested page. It tells whether a form was lost."""
    query = f"?{req.query_string}" if req.query_string else ""
    fields = []
    if hasattr(resource, "on_get") and req.path != "/":
        fields.append(f"next={quote(req.path + query)}")
    if req.method not in {"GET", "HEAD"}:
        fields.append("unsent=form")
    return f"/sign-in?{'&'.join(fields)}" if fields else "/sign-in"
