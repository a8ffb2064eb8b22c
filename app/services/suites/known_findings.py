"""Keeps the findings that were seen, so that they keep their ids, and reports new and reopened ones to webhooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from app.database.transactions import Database, retried
from app.metrics import Metrics
from app.metrics.registry import FINDINGS
from app.models import findings, organizations
from app.models.findings import FindingRow
from app.models.prompts import require_head
from app.models.queries import delete_rows, insert_row, update_rows
from app.models.webhook_deliveries import add_event
from app.models.webhooks import WebhookEvent
from app.suites.findings import Subject
from app.timestamps import Now

KNOWN_MAX = 200
"""Findings of a prompt that are kept."""
NAMED_MAX = 20
"""Findings that an event names."""
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class SeenFinding:
    """A finding that has sessions now; `row` is None for a new one.

    `reopened` is true if the finding was solved, and has new sessions.
    """

    subject: Subject
    row: FindingRow | None
    reopened: bool

    @property
    def comes_back(self) -> bool:
        """Whether the finding is reopened, and its row does not have that yet."""
        return self.reopened and self.row is not None and self.row.state == "solved"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingKeeper:
    database: Database
    now: Now
    metrics: Metrics

    def note(self, *, project_id: int, prompt_id: int, seen: Sequence[SeenFinding]) -> None:
        """Store new findings, and note the solved ones that have come back. Each of the two kinds gets one event.

        A prompt has at most `KNOWN_MAX` rows. Beyond that, a new finding replaces one that has no sessions any more and
        has no decision of a person. A new finding for which there is no room is not stored, and gets no event.
        """
        if not any(finding.row is None or finding.comes_back or self._is_old(finding.row) for finding in seen):
            return
        opened, reopened = self._note(project_id, prompt_id, seen)
        for state, number in (("opened", opened), ("reopened", reopened)):
            if number:
                self.metrics.count(FINDINGS, state, by=number)

    def _is_old(self, row: FindingRow) -> bool:
        return row.changed_at < self.now() - _DAY

    @retried
    def _note(self, project_id: int, prompt_id: int, seen: Sequence[SeenFinding]) -> tuple[int, int]:
        """Note the findings that a reading has seen; returns how many were opened and how many reopened."""
        owner = {"project_id": project_id, "prompt_id": prompt_id}
        digests = {finding.subject.digest: finding for finding in seen}
        with self.database.write() as connection:
            # Of two readings at the same time, the second one finds the rows of the first.
            organizations.lock_owner(connection, project_id)
            require_head(connection, **owner)
            rows = {row.digest: row for row in findings.list_findings(connection, **owner)}
            opened = self._insert(connection, owner, digests, rows)
            reopened = [digest for digest, row in rows.items() if digest in digests and _returns(digests[digest], row)]
            for digest in reopened:
                update_rows(connection, findings.findings, owner | {"digest": digest}, state="open")
            for digest, row in rows.items():
                if digest in digests and self._is_old(row):
                    update_rows(connection, findings.findings, owner | {"digest": digest}, changed_at=self.now())
            self._report(connection, WebhookEvent.FINDING_OPENED, opened, owner)
            self._report(connection, WebhookEvent.FINDING_REOPENED, reopened, owner)
        return len(opened), len(reopened)

    def _insert(
        self,
        connection: Connection,
        owner: Mapping[str, int],
        seen: Mapping[bytes, SeenFinding],
        rows: Mapping[bytes, FindingRow],
    ) -> list[bytes]:
        """Insert the rows of new findings and return their digests."""
        unseen = sorted((row for row in rows.values() if not row.is_decided and row.digest not in seen), key=_age)
        room, opened = KNOWN_MAX - len(rows), list[bytes]()
        for digest, finding in seen.items():
            if digest in rows:
                continue
            if len(opened) >= room + len(unseen):
                break
            if len(opened) >= room:
                remove(connection, unseen[len(opened) - room])
            values = {"digest": digest, "subject": finding.subject, "state": "open", "changed_at": self.now()}
            insert_row(connection, findings.findings, **owner, **values)
            opened.append(digest)
        return opened

    def _report(
        self, connection: Connection, event: WebhookEvent, digests: Sequence[bytes], owner: Mapping[str, int]
    ) -> None:
        if digests:
            ids = [digest.hex() for digest in digests[:NAMED_MAX]]
            data: dict[str, Any] = {"projectId": owner["project_id"], "findings": len(digests), "findingIds": ids}
            add_event(connection, self.now(), event, data, **owner)


def _returns(seen: SeenFinding, row: FindingRow) -> bool:
    """Return whether the finding has come back, unless somebody has decided about it since it was read."""
    return seen.comes_back and seen.row == row


def make_room(connection: Connection, rows: Sequence[FindingRow]) -> bool:
    """Make room for one more row of a prompt; returns False if `KNOWN_MAX` are decided and not solved.

    The oldest without a decision is removed, else the oldest that is solved.
    """
    if len(rows) < KNOWN_MAX:
        return True
    replaceable = [row for row in rows if row.state == "solved" or not row.is_decided]
    if replaceable:
        remove(connection, min(replaceable, key=lambda row: (row.is_decided, _age(row))))
    return bool(replaceable)


def _age(row: FindingRow) -> tuple[datetime, int]:
    return row.changed_at, row.id


def remove(connection: Connection, row: FindingRow) -> None:
    delete_rows(connection, findings.findings, id=row.id, project_id=row.project_id)
