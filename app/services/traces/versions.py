"""Counts the newest sessions of a prompt by version, so that a version that some agents try can be compared."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from app.db import Database
from app.errors import require
from app.models import prompts, sessions
from app.models.sessions import SessionRange
from app.services.traces.logs import summarise

# As many as the longest page of a log lists.
COMPARED = 200


@dataclass(slots=True)
class VersionSessions:
    """The number of sessions with turns of one version, and of those among them in which a span has an error."""

    sessions: int = 0
    with_errors: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionComparison:
    database: Database

    def by_version(self, *, project_id: int, prompt_id: int) -> dict[str, VersionSessions]:
        """Count the newest `COMPARED` sessions by each version that their spans name, as the log lists it."""
        with self.database.read() as connection:
            head = prompts.find_head(connection, project_id=project_id, prompt_id=prompt_id)
            require(head, "There is no such prompt.")
            newest = sessions.list_sessions(connection, SessionRange(prompt_id), limit=COMPARED)
            summaries = summarise(connection, newest)
        found: dict[str, VersionSessions] = defaultdict(VersionSessions)
        for summary in summaries:
            for version in summary.prompt_versions:
                found[version].sessions += 1
                found[version].with_errors += summary.errors > 0
        return found
