"""One request to a page: who makes it, in which project, with which rights, from which form."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import falcon

from app.access import Access, ByRole, Public, SignedIn, access_of
from app.errors import Forbidden, NotFound, RateLimited
from app.models.audit_log import Actor
from app.models.memberships import Role
from app.models.organizations import Project
from app.redis_store.rate import RateLimiter
from app.services.accounts.projects import ProjectService
from app.services.accounts.sign_ins import SignInService, Viewer
from app.services.accounts.tokens import new_token
from app.web.cookies import FORM_COOKIE, SESSION_COOKIE, Cookies, Flash, read_flash
from app.web.forms import Form, check_csrf, csrf_token, read_form
from app.web.page import Page

# The largest form of those who may not be signed in: an e-mail address, a password, a name.
PUBLIC_FORM_BYTES = 8 * 1024


@dataclass(frozen=True, slots=True)
class Visit:
    """`csrf` is what forms must carry. `viewer` is None on public pages for whom is not signed in.

    `operators` is the organization whose admins operate the instance.
    """

    csrf: str
    viewer: Viewer | None = None
    projects: list[Project] = field(default_factory=list)
    project: Project | None = None
    operators: int | None = None
    flash: Flash | None = None
    form: Form = field(default_factory=lambda: Form({}))

    @property
    def role(self) -> Role | None:
        """The viewer's, in the project's organization."""
        return self.viewer.roles.get(self.project.organization_id) if self.viewer and self.project else None

    @property
    def actor(self) -> Actor:
        """The viewer, as the audit log names them; only where somebody must be signed in."""
        if self.viewer is None:
            raise Forbidden("Sign in first.")
        return self.viewer.actor

    @property
    def organization_id(self) -> int:
        """Of the project in the address; only on pages that have one."""
        if self.project is None:
            raise NotFound("There is no such project.")
        return self.project.organization_id

    def may(self, needed: Role) -> bool:
        return self.role is not None and self.role.covers(needed)


class Admission:
    """Lets a request through to a page: signed in, a member of the project, with the role and the form it takes.

    Puts the `Visit` at `req.context.visit`. Who is not signed in is sent to do so, and comes back after it.
    Requests are counted by user, in however many sessions, or by the client's address where nobody is signed in.
    """

    def __init__(
        self,
        *,
        sign_ins: SignInService,
        projects: ProjectService,
        limiter: RateLimiter,
        cookies: Cookies,
        form_bytes: int,
        files_bytes: int,
    ) -> None:
        self._sign_ins = sign_ins
        self._projects = projects
        self._limiter = limiter
        self._cookies = cookies
        self._form_bytes = form_bytes
        self._files_bytes = files_bytes

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: object, params: dict[str, Any]
    ) -> None:
        access = access_of(resource)
        if not isinstance(access, ByRole | SignedIn) and not isinstance(resource, Page):
            return
        session = req.cookies.get(SESSION_COOKIE, "")
        viewer = self._sign_ins.viewer(session) if session else None
        self._count(req, viewer)
        if viewer is None and not isinstance(access, Public):
            raise falcon.HTTPSeeOther(sign_in_path(req))
        secret = session if viewer else self._form_secret(req, resp)
        projects = self._projects.of(viewer) if viewer else []
        project = _chosen(projects, params.get("project_id"))
        operators = self._projects.operators() if viewer else None
        visit = Visit(csrf_token(secret), viewer, projects, project, operators, read_flash(req))
        req.context.visit = visit
        if isinstance(access, ByRole):
            _require_role(visit, access, req.method)
        if req.method == "POST" and "POST" in access.methods:
            form = self._form(req, secret, access, with_files=getattr(resource, "multipart", False))
            req.context.visit = replace(visit, form=form)

    def _count(self, req: falcon.Request, viewer: Viewer | None) -> None:
        whose = f"user:{viewer.user_id}" if viewer else f"address:{req.remote_addr}"
        allowance = self._limiter.hit(f"page:{whose}")
        if not allowance.allowed:
            seconds = max(1, allowance.reset_s)
            raise RateLimited(f"Over the limit of {allowance.limit} pages per minute. Go on in {seconds} s.", seconds)

    def _form(self, req: falcon.Request, secret: str, access: Access, *, with_files: bool) -> Form:
        limit = self._files_bytes if with_files else self._form_bytes
        form = read_form(req, PUBLIC_FORM_BYTES if isinstance(access, Public) else limit, with_files=with_files)
        check_csrf(form, secret)
        return form

    def _form_secret(self, req: falcon.Request, resp: falcon.Response) -> str:
        """For forms of those who are not signed in: a random token that only their browser has."""
        known = req.cookies.get(FORM_COOKIE)
        if known or req.method == "POST":
            return known or ""
        made = new_token()
        self._cookies.put_form(req, resp, made)
        return made


def _require_role(visit: Visit, access: ByRole, method: str) -> None:
    needed = access.role(method)
    if access.of_operators and visit.organization_id != visit.operators:
        raise falcon.HTTPRouteNotFound
    if needed is not None and not visit.may(needed):
        raise Forbidden(f"This takes the role {needed}; yours is {visit.role}. Ask an admin for it.")


def _chosen(projects: list[Project], project_id: int | None) -> Project | None:
    if project_id is None:
        return None
    for project in projects:
        if project.id == project_id:
            return project
    raise NotFound("There is no such project, or you are no member of its organization.")


def sign_in_path(req: falcon.Request) -> str:
    """The sign-in page, which leads back to what was asked for; a form that was sent is lost."""
    if req.method not in {"GET", "HEAD"} or req.path == "/":
        return "/sign-in"
    query = f"?{req.query_string}" if req.query_string else ""
    return f"/sign-in?next={quote(req.path + query)}"


def safe_path(path: str) -> str:
    """A path of this site, "/" for anything else: nobody is led elsewhere by a link to our sign-in."""
    local = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if local and path.isprintable() else "/"
