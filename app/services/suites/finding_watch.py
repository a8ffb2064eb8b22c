"""Reads the findings of prompts from time to time, for projects with a webhook that wants to hear of new ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from app.database.transactions import Database
from app.errors import ServiceError
from app.models import organizations, prompts, webhooks
from app.models.webhooks import WebhookEvent
from app.services.suites.findings import FindingService
from app.work.remover import SWEEP_S
from app.work.round_robin import RoundRobin

log = structlog.get_logger(__name__)

READ_EVERY_S = 900.0
"""Seconds between two readings of a prompt's findings."""
EVENTS = (WebhookEvent.FINDING_OPENED, WebhookEvent.FINDING_REOPENED)


@dataclass(slots=True, kw_only=True)
class FindingWatch:
    """Without such a webhook, findings are noted when somebody lists them."""

    database: Database
    findings: FindingService
    monotonic: Callable[[], float] = time.monotonic
    _round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)
    # When each prompt was read. A clock that starts reads all of them.
    _read_at: dict[int, float] = field(default_factory=dict, init=False)

    def sweep(self) -> None:
        """Read the prompts of each organization in turn, until all are read or the time is used up."""
        now = self.monotonic()
        with self.database.read() as connection:
            owners = organizations.owners(connection)
            wanted = [id_ for id_ in webhooks.projects_that_want(connection, EVENTS) if id_ in owners]
            projects = {
                prompt_id: project_id
                for project_id in wanted
                for prompt_id in prompts.prompt_ids_of(connection, project_id=project_id)
            }
        self._read_at = {id_: at for id_, at in self._read_at.items() if id_ in projects}
        due = {
            prompt_id: owners[project_id]
            for prompt_id, project_id in projects.items()
            if self._read_at.get(prompt_id, now - READ_EVERY_S) <= now - READ_EVERY_S
        }
        self._round_robin.serve(
            due, lambda id_: self._read(projects[id_], id_), is_over=lambda: self.monotonic() >= now + SWEEP_S
        )

    def _read(self, project_id: int, prompt_id: int) -> bool:
        """Read the findings of a prompt; always returns False, because a prompt has no further work."""
        self._read_at[prompt_id] = self.monotonic()
        try:
            self.findings.watch(project_id=project_id, prompt_id=prompt_id)
        except ServiceError as error:
            log.info("findings_not_read", prompt_id=prompt_id, error=str(error))
        return False
