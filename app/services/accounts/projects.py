"""Projects of organizations, the owners of runs and replays, and the audit log."""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Table

from app.concurrency.caches import BoundedCache
from app.database.transactions import Database, retried
from app.errors import Invalid, NotFound, require
from app.models import audit_log, organizations
from app.models.audit_log import Action, Actor, AuditEntry
from app.models.judge_audits import judge_audits
from app.models.organizations import Project
from app.models.queries import insert_row, update_rows
from app.models.replays import replays
from app.models.runs import runs
from app.pagination import ListPage, page_by_id
from app.timestamps import Now

PROJECT_NAME_MAX = 128
PROJECTS_OF_ORGANIZATION = 200
"""Projects of one organization; if it already has more, they are kept."""


@dataclass(slots=True, kw_only=True)
class ProjectService:
    """Projects of organizations. The first organization of an instance, that of its operators, is remembered."""

    database: Database
    now: Now
    _operators: int | None = field(default=None, init=False)

    def operators(self) -> int | None:
        """Return the id of the instance's first organization: its admins are the operators, and it is never removed."""
        if self._operators is None:
            with self.database.read() as connection:
                self._operators = organizations.first_organization(connection)
        return self._operators

    def of(self, organization_ids: Container[int]) -> list[Project]:
        """Return the projects of these organizations, oldest first."""
        with self.database.read() as connection:
            return [p for p in organizations.list_projects(connection) if p.organization_id in organization_ids]

    def oldest(self) -> int:
        """Return the id of the instance's first project; `NotFound` while there is none."""
        with self.database.read() as connection:
            for project in organizations.list_projects(connection):
                return project.id
        raise NotFound("There is no project yet: run `reprise init`.")

    def get(self, *, organization_id: int, project_id: int) -> Project:
        with self.database.read() as connection:
            project = organizations.require_project(connection, project_id)
        if project.organization_id != organization_id:
            raise NotFound("There is no such project.")
        return project

    @retried
    def create(self, *, organization_id: int, name: str, actor: Actor) -> int:
        """Create a project; raises `Invalid` for an invalid name, and beyond `PROJECTS_OF_ORGANIZATION`."""
        name, now = checked_name(name), self.now()
        with self.database.write() as connection:
            organizations.lock_organization(connection, organization_id)
            if organizations.count_projects(connection, organization_id) >= PROJECTS_OF_ORGANIZATION:
                raise Invalid(f"name: An organization has at most {PROJECTS_OF_ORGANIZATION} projects.")
            values = {"organization_id": organization_id, "name": name, "created_at": now}
            project_id = insert_row(connection, organizations.projects, **values)
            audit_log.note(connection, now, actor, Action.PROJECT_CREATED, name, project_id=project_id)
        return project_id

    @retried
    def rename(self, *, project_id: int, name: str, actor: Actor) -> None:
        name = checked_name(name)
        with self.database.write() as connection:
            old = organizations.require_project(connection, project_id).name
            update_rows(connection, organizations.projects, {"id": project_id}, name=name)
            now = self.now()
            audit_log.note(
                connection, now, actor, Action.PROJECT_RENAMED, name, project_id=project_id, details={"old": old}
            )


def checked_name(name: str) -> str:
    name = name.strip()
    if not 1 <= len(name) <= PROJECT_NAME_MAX or "\0" in name:
        raise Invalid(f"name: Use 1 to {PROJECT_NAME_MAX} characters.")
    return name


PROJECTS_MAX = 10_000


class Owners:
    """Finds the organization that owns a project, a run, a replay or an audit; those of projects are cached."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._of_projects: BoundedCache[int] = BoundedCache(PROJECTS_MAX)

    def of_project(self, project_id: int) -> int:
        """Return the id of the project's organization, which never changes; `NotFound` if there is no such project."""
        known = self._of_projects.get(project_id)
        if known is not None:
            return known
        with self._database.read() as connection:
            organization_id = require(
                organizations.find_organization(connection, project_id), "There is no such project."
            )
        self._of_projects.put(project_id, organization_id, weight=1)
        return organization_id

    def of_runs(self, run_ids: Collection[int]) -> dict[int, int]:
        """Return {run id: organization id} of the runs that exist."""
        return self._of(runs, run_ids)

    def of_replays(self, replay_ids: Collection[int]) -> dict[int, int]:
        """Return {replay id: organization id} of the replays that exist."""
        return self._of(replays, replay_ids)

    def of_audits(self, audit_ids: Collection[int]) -> dict[int, int]:
        """Return {audit id: organization id} of the audits that exist."""
        return self._of(judge_audits, audit_ids)

    def _of(self, table: Table, ids: Collection[int]) -> dict[int, int]:
        with self._database.read() as connection:
            return organizations.organizations_of(connection, table, ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditService:
    """Reads the audit logs of organizations."""

    database: Database

    def page(self, *, organization_id: int, limit: int = 50, cursor: str | None = None) -> ListPage[AuditEntry]:
        """Return a page of entries, newest first."""
        with self.database.read() as connection:
            read = partial(audit_log.list_entries, connection, organization_id=organization_id)
            return page_by_id(read, limit=limit, cursor=cursor)
