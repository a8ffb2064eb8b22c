"""Finds the organizations that own projects, runs and replays, for shares of capacity among organizations."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Table

from app.caches import BoundedCache
from app.db import Database
from app.errors import require
from app.models import organizations
from app.models.replays import replays
from app.models.runs import runs

PROJECTS_MAX = 10_000


class Owners:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._of_projects: BoundedCache[int] = BoundedCache(PROJECTS_MAX)

    def of_project(self, project_id: int) -> int:
        """The id of the project's organization, which never changes; `NotFound` if there is no such project."""
        known = self._of_projects.get(project_id)
        if known is not None:
            return known
        with self._database.read() as connection:
            found = require(organizations.find_organization(connection, project_id), "There is no such project.")
        self._of_projects.put(project_id, found, weight=1)
        return found

    def of_runs(self, run_ids: Collection[int]) -> dict[int, int]:
        """{run id: organization id} of the runs that exist."""
        return self._of(runs, run_ids)

    def of_replays(self, replay_ids: Collection[int]) -> dict[int, int]:
        """{replay id: organization id} of the replays that exist."""
        return self._of(replays, replay_ids)

    def _of(self, table: Table, ids: Collection[int]) -> dict[int, int]:
        with self._database.read() as connection:
            return organizations.organizations_of(connection, table, ids)
