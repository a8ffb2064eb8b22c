"""Reports rejected spans to webhooks: the clock looks for new ones, so that ingest need not write events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from app.database.transactions import Database
from app.models import rejected_spans, webhook_deliveries, webhooks
from app.models.webhooks import UnreportedRejections, WebhookEvent
from app.timestamps import Now

WEBHOOKS_AT_ONCE = 500
"""Webhooks for which one sweep writes an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionNotifier:
    database: Database
    now: Now

    def sweep(self) -> None:
        """Write one event for each webhook with rejected spans that it has not been notified of."""
        # Before new rejections are looked for: SQLite may give them ids that were reported before.
        self.database.retrying(webhooks.forget_reused_ids)
        with self.database.read() as connection:
            waiting = webhooks.unreported_rejections(connection, limit=WEBHOOKS_AT_ONCE)
        for unreported in waiting:
            self.database.retrying(partial(self._notify, unreported=unreported))

    def _notify(self, connection: Connection, unreported: UnreportedRejections) -> None:
        if not webhooks.mark_reported(connection, unreported) or WebhookEvent.SPANS_REJECTED not in unreported.events:
            return
        counts = rejected_spans.rejected_between(
            connection, project_id=unreported.project_id, after_id=unreported.reported_id, last_id=unreported.newest_id
        )
        causes = [{"code": code, "count": count} for code, count in counts.items()]
        webhook_deliveries.add_deliveries(
            connection,
            self.now(),
            WebhookEvent.SPANS_REJECTED,
            {"projectId": unreported.project_id, "rejected": sum(counts.values()), "causes": causes},
            project_id=unreported.project_id,
            webhook_ids=[unreported.webhook_id],
        )
