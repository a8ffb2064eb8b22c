"""What surrounds every page: the navigation, the projects, who is signed in, and what was just done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.models.memberships import Role
from app.models.organizations import Project
from app.services.accounts.sign_ins import Viewer
from app.web.cookies import Flash

if TYPE_CHECKING:
    from app.web.visit import Visit

# Section, words, path below the project, the role that sees it.
OPERATIONS = ("operations", "Operations", "operations", Role.ADMIN)
NAVIGATION = (
    ("start", "Getting started", "start", Role.VIEWER),
    ("prompts", "Prompts", "prompts", Role.VIEWER),
    ("rejected", "Rejected spans", "rejected-spans", Role.VIEWER),
    ("usage", "Usage", "usage", Role.VIEWER),
    OPERATIONS,
    ("settings", "Settings", "settings/keys", Role.ADMIN),
)


@dataclass(frozen=True, slots=True)
class Link:
    section: str
    words: str
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class Shell:
    """`can_edit` and `can_administer` are the viewer's rights in the project; `base` is the project's path."""

    csrf: str
    viewer: Viewer | None
    project: Project | None
    projects: list[Project]
    base: str
    links: tuple[Link, ...]
    section: str
    flash: Flash | None
    can_edit: bool
    can_administer: bool

    @classmethod
    def of(cls, visit: Visit, section: str = "") -> Shell:
        project = visit.project or (visit.projects[0] if visit.projects else None)
        base = project_path(project.id) if project else ""
        role = visit.viewer.roles.get(project.organization_id) if visit.viewer and project else None
        operated = project is not None and project.organization_id == visit.operators
        entries = [entry for entry in NAVIGATION if operated or entry is not OPERATIONS]
        seen = [entry for entry in entries if role and role.covers(entry[3])]
        return cls(
            csrf=visit.csrf,
            viewer=visit.viewer,
            project=project,
            projects=visit.projects,
            base=base,
            links=tuple(Link(name, words, f"{base}/{path}", name == section) for name, words, path, _ in seen),
            section=section,
            flash=visit.flash,
            can_edit=role is not None and role.covers(Role.MEMBER),
            can_administer=role is Role.ADMIN,
        )


def project_path(project_id: int) -> str:
    return f"/projects/{project_id}"
