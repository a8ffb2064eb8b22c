"""The states of replays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from sqlalchemy import select

from app.errors import Conflict, Unavailable
from app.models.experiment_replays import COUNTED
from app.models.replays import UNFINISHED, replays
from app.services.replays.claims import ATTEMPTS_MAX, ReplaySweeper
from tests.states.machine import Machine
from tests.states.site import WORKERS, Site, Station
from tests.states.steps import Row, Rows, nth_of

REPLAYS_MAX = 8
PROMPT_TOKENS = 4
"""What the builtin model counts for the question of the site's test case."""


class Claims:
    """Checks the changes of replays: only the worker that has claimed one plays and ends it."""

    def __init__(self, require: Callable[[object, str], None]) -> None:
        self._require = require
        self._owners: dict[str, str] = {}

    def check(self, name: str, before: Row | None, after: Row) -> None:
        if before is None:
            self._require(after["status"] == "queued" and after["claim"] is None, f"{name} has made a replay in work")
            return
        self._check_claim(name, before, after)
        if not is_open(before):
            # A worker may add what it had played when the replay was cancelled.
            self._require(after["status"] == before["status"], f"{name} has ended a replay again")
            self._require(before["status"] == "cancelled", f"{name} has changed a replay that had ended")
        self._require(after["attempts"] <= ATTEMPTS_MAX, "a replay was claimed too often")
        self._require(_is_whole(after), f"{name} has stored {dict(after)}")

    def _check_claim(self, name: str, before: Row, after: Row) -> None:
        token = before["claim"]
        if after["claim"] not in (None, token):
            self._require(token is None and name in WORKERS, f"{name} has claimed a replay in work")
            self._require(after["attempts"] == before["attempts"] + 1, "an attempt is not counted")
            self._owners[after["claim"]] = name
        elif token is not None and name in WORKERS:
            self._require(self._owners[token] == name, f"{name} has changed another worker's replay")
        elif after["status"] in COUNTED:
            self._require(False, f"{name} has ended a replay without a claim")


def is_open(row: Row) -> bool:
    return row["status"] in UNFINISHED


def _is_whole(row: Row) -> bool:
    if row["status"] in COUNTED and not row["has_result"]:
        return False
    return (row["finished_at"] is None) == is_open(row)


def replay_rows(site: Site) -> Rows:
    c = replays.c
    columns = (
        c.id,
        c.status,
        c.claim,
        c.attempts,
        c.result.is_not(None).label("has_result"),
        c.done,
        c.prompt_tokens,
        c.finished_at,
    )
    with site.world.container.database.read() as connection:
        return {row.id: row._mapping for row in connection.execute(select(*columns))}


class Replays(Machine):
    """A replay has one owner, is claimed three times at most, and ends once with its result."""

    dead_after_s = ReplaySweeper.stale_s

    def __init__(self, site: Site) -> None:
        self.claims = Claims(self.require)
        self.accepted: list[int] = []
        super().__init__(site)

    def rows(self) -> Rows:
        return replay_rows(self.site)

    def is_open(self, row: Row) -> bool:
        return is_open(row)

    def check_change(self, name: str, before: Row | None, after: Row) -> None:
        self.claims.check(name, before, after)

    def sweeps(self, station: Station) -> list[Callable[[], object]]:
        return [station.replays.sweep]

    def check_end(self) -> None:
        self.require(set(self.accepted) <= self.before.keys(), "an accepted replay is missing")
        calls = Counter(self.site.outside.questions)["Ping"]
        attempts = sum(row["attempts"] for row in self.before.values())
        self.require(calls <= attempts, f"{calls} calls of a model for {attempts} attempts")
        for row in self.before.values():
            self.require(self._counts_calls(row), f"usage that no calls have: {dict(row)}")

    def _counts_calls(self, row: Row) -> bool:
        """Return whether the usage is that of whole calls: of the last attempt, and at most one of each before it."""
        usage: int = row["prompt_tokens"]
        calls, rest = divmod(usage, PROMPT_TOKENS)
        return rest == 0 and (row["status"] in COUNTED) <= calls <= row["attempts"]

    def asked(self, nth: int) -> Callable[[Station], object]:
        """A caller starts a replay, or cancels one."""
        is_full = len(self.before) == REPLAYS_MAX
        return self.cancelling(nth) if is_full or (self.before and nth == 0) else self.starting()

    def starting(self) -> Callable[[Station], object]:
        def work(station: Station) -> None:
            service, project_id = station.container.services.replays, self.site.world.project_id
            try:
                row = service.start(project_id=project_id, test_case_id=self.site.test_case_id)
            except Unavailable:
                return
            self.accepted.append(row.id)
            station.replays.send([row.id])

        return work

    def cancelling(self, nth: int) -> Callable[[Station], object]:
        replay_id = nth_of(sorted(self.before), nth)

        def work(station: Station) -> None:
            try:
                station.container.services.replays.cancel(project_id=self.site.world.project_id, replay_id=replay_id)
            except (Conflict, Unavailable):
                return

        return work
