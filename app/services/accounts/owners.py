"""The organizations that own projects, runs, replays and audits."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Table

from app.concurrency.caches import BoundedCache
from app.database.transactions import Database
from app.errors import require
from app.models import organizations
from app.models.judge_audits import judge_audits
from app.models.replays import replays
from app.models.runs import runs

CACHED_PROJECTS = 10_000


class Owners:
    """Finds the organization that owns a project, a run, a replay or an audit; those of projects are cached."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._of_projects: BoundedCache[int] = BoundedCache(CACHED_PROJECTS)

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
