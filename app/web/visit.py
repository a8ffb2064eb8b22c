"""A request to a page: its viewer, project, rights and form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.errors import Forbidden, Invalid, ServiceError, require
from app.models.audit_log import Actor
from app.models.organizations import Project, Role
from app.services.accounts.sign_in_attempts import SignInOrigin
from app.services.accounts.sign_ins import Viewer
from app.web.cookies import Flash
from app.web.forms import Form
from app.web.lists import Pages, list_query, pages_of


@dataclass(frozen=True, slots=True)
class Visit:
    """What the middleware knows about a request. Templates see it as `visit`.

    `csrf` is the token that forms must contain. `viewer` is None without a sign-in. `project` is the project in the
    address; on pages without one it is the viewer's first project, or None. Admins of the organization `operators`
    operate the instance. `query` has the last value of each field. `session` is the browser's session token. `once`
    is a secret that the previous form made. `problem` is the reason why a sent form is shown again.
    """

    csrf: str
    path: str = "/"
    query: Mapping[str, str] = field(default_factory=dict)
    session: str = ""
    origin: SignInOrigin = SignInOrigin("")
    viewer: Viewer | None = None
    projects: Sequence[Project] = ()
    project: Project | None = None
    operators: int | None = None
    flash: Flash | None = None
    once: str = ""
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

    @property
    def to_entry(self) -> str:
        """Return the query for links to entries. With it the entries' pages lead back to this page of the list."""
        chosen = list_query(self.query)
        return f"?{chosen}" if chosen else ""

    @property
    def to_list(self) -> str:
        """Return the query that leads from an entry's page back to its list; "" if no list led to the entry."""
        chosen = self.query.get("list")
        return f"?{chosen}" if chosen else ""


def project_path(project_id: int) -> str:
    return f"/projects/{project_id}"
