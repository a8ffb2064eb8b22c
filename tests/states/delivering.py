"""The states of webhook deliveries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from sqlalchemy import select

from app.errors import Unavailable
from app.models.webhook_deliveries import webhook_deliveries
from app.services.webhooks.deliveries import PAUSES_S, RESERVED_FOR
from tests.states.machine import Machine
from tests.states.site import WEB, WORKERS, Site, Station
from tests.states.steps import Row, Rows, nth_of

EVENTS_MAX = 3
WAITS_S = (30, RESERVED_FOR.total_seconds(), 86_400)
ATTEMPTS_MAX = 1 + len(PAUSES_S)


class Deliveries(Machine):
    """An event is sent at least once and noted; each request belongs to an attempt, and none follows the note."""

    dead_after_s = 0.0

    def __init__(self, site: Site) -> None:
        self.accepted: list[int] = []
        self.noted: dict[str, int] = {}
        super().__init__(site)

    def rows(self) -> Rows:
        c = webhook_deliveries.c
        columns = (c.id, c.event_id, c.status, c.attempts, c.due_at, c.status_code, c.finished_at)
        with self.site.world.container.database.read() as connection:
            return {row.id: row._mapping for row in connection.execute(select(*columns))}

    def is_open(self, row: Row) -> bool:
        return bool(row["status"] == "waiting")

    def check_change(self, name: str, before: Row | None, after: Row) -> None:
        if before is None:
            self.require(name == WEB and self.is_open(after), f"{name} has made a delivery")
            return
        self.require(self.is_open(before), f"{name} has changed a delivery that had ended")
        self.require(name in WORKERS, f"{name} has changed a delivery")
        self.require(before["attempts"] <= after["attempts"] <= ATTEMPTS_MAX, "attempts are lost")
        self.require((after["finished_at"] is None) == self.is_open(after), "a delivery without the time of its end")
        if after["status"] == "delivered":
            self.require((after["event_id"], 200) in self.site.outside.received, "an event was never received")
        if after["status"] == "failed":
            self.require(after["attempts"] == ATTEMPTS_MAX, "a delivery has failed too early")

    def check(self) -> None:
        requests = Counter(event_id for event_id, _ in self.site.outside.received)
        for row in self.before.values():
            sent = requests[row["event_id"]]
            self.require(sent <= row["attempts"], f"{sent} requests in {row['attempts']} attempts")

    def sweeps(self, station: Station) -> list[Callable[[], object]]:
        return [station.webhooks.sweep]

    def check_end(self) -> None:
        self.require(set(self.accepted) <= self.before.keys(), "an accepted event is missing")

    def do_round(self) -> None:
        """At the end, pauses and reservations of any length are over."""
        super().do_round()
        if self.is_settling:
            self.site.time.seconds += max(*PAUSES_S, RESERVED_FOR.total_seconds())

    def asked(self, nth: int) -> Callable[[Station], object]:
        webhook_id, project_id = self.site.webhook_id, self.site.world.project_id

        def work(station: Station) -> None:
            try:
                row = station.container.services.webhooks.test(project_id=project_id, webhook_id=webhook_id)
            except Unavailable:
                return
            self.accepted.append(row.id)

        return work

    def change_outside(self, nth: int) -> None:
        """The receiver answers otherwise, and a pause or a reservation ends."""
        self.site.outside.status = 500 if nth % 3 == 0 else 200
        self.site.time.seconds += nth_of(WAITS_S, nth)
