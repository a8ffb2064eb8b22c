"""The navigation beside every page of a project."""

from __future__ import annotations

from dataclasses import dataclass

from app.models.organizations import Role
from app.web.visit import Visit

# Section, label, path below the project, the role that sees it.
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
    label: str
    href: str
    current: bool


def navigation(visit: Visit, section: str) -> list[Link]:
    """The links that the viewer's role may follow; `section` is the one that is marked as current."""
    return [
        Link(name, label, f"{visit.base}/{path}", name == section)
        for name, label, path, role in NAVIGATION
        if visit.may(role) and (name != "operations" or visit.operates)
    ]
