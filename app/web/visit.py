"""A request to a page: its viewer, project, rights and form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from urllib.parse import urlencode

from app.errors import Forbidden, Invalid, ServiceError, require
from app.models.audit_log import Actor
from app.models.organizations import Project, Role
from app.services.accounts.sign_in_attempts import SignInOrigin
from app.services.accounts.sign_ins import Viewer
from app.web.cookies import Flash
from app.web.forms import Form
from app.web.lists import ListOrigin, Pages, pages_of


@dataclass(frozen=True, slots=True)
class Visit:
    """What the middleware knows about a request. Templates see it as `visit`.

    `csrf` is the token that forms must contain. `zone` is the time zone of the browser. `viewer` is None without a
    sign-in. `project` is the project in the address; on pages without one it is the viewer's first project, or None.
    Admins of the organization `operators` operate the instance. `query` has the last value of each field. `session`
    is the browser's session token. `once` is a secret that the previous form made. `attempt` is the browser's sign-in
    at an OpenID provider. `problem` is the reason why a sent form is shown again.
    """

    csrf: str
    path: str = "/"
    zone: tzinfo = UTC
    query: Mapping[str, str] = field(default_factory=dict)
    session: str = ""
    origin: SignInOrigin = SignInOrigin("")
    viewer: Viewer | None = None
    projects: Sequence[Project] = ()
    project: Project | None = None
    operators: int | None = None
    flash: Flash | None = None
    once: str = ""
    attempt: str = ""
    form: Form = field(default_factory=lambda: Form({}))
    problem: ServiceError | None = None

    @property
    def sent(self) -> Form:
        """The form to show again; empty unless there is a problem with it."""
        return self.form if self.problem else Form({})

    @property
    def actor(self) -> Actor:
        """The viewer as the audit log names them; raises `Forbidden` without a sign-in."""
        if self.viewer is None:
            raise Forbidden("Sign in first.")
        return self.viewer.actor

    @property
    def own_project(self) -> Project:
        """The project in the address; raises `NotFound` without one."""
        return require(self.project, "There is no such project.")

    @property
    def project_id(self) -> int:
        return self.own_project.id

    @property
    def organization_id(self) -> int:
        return self.own_project.organization_id

    @property
    def base(self) -> str:
        """The project's path, "" without a project."""
        return project_path(self.project.id) if self.project else ""

    @property
    def role(self) -> Role | None:
        """The viewer's role in the project's organization."""
        return self.viewer.roles.get(self.project.organization_id) if self.viewer and self.project else None

    def may(self, needed: Role) -> bool:
        return self.role is not None and self.role.covers(needed)

    @property
    def can_edit(self) -> bool:
        return self.may(Role.MEMBER)

    @property
    def can_administer(self) -> bool:
        return self.may(Role.ADMIN)

    @property
    def operates(self) -> bool:
        """Whether the project belongs to the organization that operates the instance."""
        return self.project is not None and self.project.organization_id == self.operators

    def identifier(self, name: str) -> int | None:
        """Return a positive number of the query, None if it is missing; raises `Invalid` for anything else."""
        text = self.query.get(name)
        if text is not None and not (text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) < 2**63):
            raise Invalid(f'The "{name}" parameter is invalid. The value must be an integer.')
        return int(text) if text else None

    def pages(self, next_cursor: object) -> Pages:
        """Return the links below a list, with this page's filters. `next_cursor` is None on the last page."""
        return pages_of(self.query, next_cursor)

    def to_entry(self, *, of_sessions: bool = False) -> str:
        """Return the end of the address of an entry of the list on this page: the entry's page leads back here."""
        return ListOrigin(urlencode(self.query), of_sessions).to_entry

    @property
    def came_from(self) -> ListOrigin:
        """The list that led to the entry on this page; without one the unfiltered log."""
        return ListOrigin.read(self.query.get("list", ""))


def project_path(project_id: int) -> str:
    return f"/projects/{project_id}"
