"""Reports rejected spans to webhooks: the clock looks for new ones, so that ingest need not write events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from app.database.transactions import Database
from app.models import spans, webhook_deliveries, webhooks
from app.models.webhooks import Untold, WebhookEvent
from app.timestamps import Now

WEBHOOKS_AT_ONCE = 500
"""Webhooks for which one sweep writes an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionNotifier:
    database: Database
    now: Now

    def sweep(self) -> None:
        """Write one event for each webhook with rejected spans that it has not been notified of."""
        self.database.retrying(webhooks.forget_reused_ids)
        with self.database.read() as connection:
            waiting = webhooks.untold_rejections(connection, limit=WEBHOOKS_AT_ONCE)
        for untold in waiting:
            self.database.retrying(partial(self._notify, untold=untold))

    def _notify(self, connection: Connection, untold: Untold) -> None:
        if not webhooks.note_told(connection, untold) or WebhookEvent.SPANS_REJECTED not in untold.events:
            return
        counts = spans.rejected_between(
            connection, project_id=untold.project_id, after_id=untold.told_id, last_id=untold.newest_id
        )
        causes = [{"code": code, "count": count} for code, count in counts.items()]
        webhook_deliveries.add_deliveries(
            connection,
            self.now(),
            WebhookEvent.SPANS_REJECTED,
            {"projectId": untold.project_id, "rejected": sum(counts.values()), "causes": causes},
            project_id=untold.project_id,
            webhook_ids=[untold.webhook_id],
        )
