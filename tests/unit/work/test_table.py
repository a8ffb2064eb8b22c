"""Two that want the same row never both get it, and who has lost a row changes nothing in it any more."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import insert, select

from app.database.transactions import Database
from app.models import organizations
from app.models.queries import insert_row
from app.work.table import Claim
from tests.unit.work.conftest import JOBS, NOW, WORK

LATER = NOW + timedelta(seconds=10)


def claim(database: Database, job: int, token: str = "mine", now: datetime = NOW) -> Claim | None:
    claimed = database.retrying(lambda connection: WORK.claim(connection, [job], token=token, now=now))
    return Claim(job, token, now) if claimed else None


def claimed(database: Database, job: int, token: str = "mine") -> Claim:
    found = claim(database, job, token)
    assert found is not None
    return found


def finish(database: Database, held: Claim, status: str = "done", *, only_if_stale: bool = False) -> bool:
    return database.retrying(
        lambda connection: WORK.finish(connection, held, {"status": status}, now=LATER, only_if_stale=only_if_stale)
    )


def touch(database: Database, held: Claim, now: datetime = LATER, **values: Any) -> int:
    with database.write() as connection:
        return WORK.touch(connection, {held.row_id: held.token}, now=now, values=values)


def release(database: Database, held: Claim, *, only_if_stale: bool = False) -> bool:
    with database.write() as connection:
        return WORK.release(connection, held, only_if_stale=only_if_stale)


def stored(database: Database, job: int) -> Any:
    with database.read() as connection:
        return connection.execute(select(JOBS).where(JOBS.c.id == job)).one()


def test_of_many_that_claim_at_once_one_gets_the_row(database: Database, job: int) -> None:
    together = threading.Barrier(6)

    def attempt(n: int) -> Claim | None:
        together.wait()
        return claim(database, job, f"worker {n}")

    with ThreadPoolExecutor(6) as pool:
        won = [held for held in pool.map(attempt, range(6)) if held]

    assert [held.token for held in won] == [stored(database, job).claim]
    assert (stored(database, job).status, stored(database, job).attempts) == ("running", 1)


def test_a_claim_is_listed_until_its_row_has_ended(database: Database, job: int) -> None:
    with database.read() as connection:
        assert [row.id for row in WORK.list_waiting(connection, limit=10)] == [job]
    held = claimed(database, job)
    with database.read() as connection:
        assert (WORK.list_claims(connection), WORK.list_waiting(connection, limit=10)) == ([held], [])
    assert finish(database, held)
    with database.read() as connection:
        assert (WORK.list_claims(connection), WORK.list_waiting(connection, limit=10)) == ([], [])


def test_one_organization_with_thousands_of_waiting_rows_hides_no_row_of_another(database: Database) -> None:
    """The first one has two projects, of which one has a single row, too."""
    with database.write() as connection:
        for id_ in (1, 2):
            insert_row(connection, organizations.organizations, id=id_, name="", created_at=NOW)
        for id_, owner in ((1, 1), (2, 2), (3, 1)):
            values = {"id": id_, "organization_id": owner, "name": "", "created_at": NOW}
            insert_row(connection, organizations.projects, **values)
        waiting = {"status": "queued", "created_at": NOW}
        connection.execute(insert(JOBS), [{"id": id_, "project_id": 1, **waiting} for id_ in range(1, 3001)])
        newer = {"status": "queued", "created_at": LATER}
        connection.execute(insert(JOBS), [{"id": 9000 + id_, "project_id": id_, **newer} for id_ in (2, 3)])
    with database.read() as connection:
        listed = WORK.list_waiting(connection, limit=100)
    assert [row.id for row in listed] == [*range(1, 26), 9002, 9003]


def test_a_released_row_is_claimed_again_and_keeps_its_first_start(database: Database, job: int) -> None:
    assert release(database, claimed(database, job, "first"))
    assert claim(database, job, "second", LATER)

    row = stored(database, job)
    assert (row.claim, row.attempts, row.started_at, row.alive_at) == ("second", 2, NOW, LATER)


def test_a_heartbeat_of_a_lost_claim_changes_nothing(database: Database, job: int) -> None:
    first = claimed(database, job, "first")
    release(database, first)
    claimed(database, job, "second")

    assert touch(database, first, done=7) == 0
    assert (stored(database, job).alive_at, stored(database, job).done) == (NOW, 0)


def test_a_finish_that_runs_twice_ends_the_row_once(database: Database, job: int) -> None:
    held = claimed(database, job)

    assert (finish(database, held, "done"), finish(database, held, "failed")) == (True, False)
    assert stored(database, job).status == "done"


def test_a_worker_that_has_moved_is_not_swept(database: Database, job: int) -> None:
    seen = claimed(database, job)
    assert touch(database, seen) == 1

    assert not finish(database, seen, "failed", only_if_stale=True)
    assert not release(database, seen, only_if_stale=True)
    assert finish(database, seen, "done"), "its owner may"


def test_of_a_sweep_and_the_owner_who_finishes_at_once_one_ends_the_row(database: Database, job: int) -> None:
    held = claimed(database, job)
    together = threading.Barrier(2)

    def end(by_sweep: bool) -> bool:
        together.wait()
        return finish(database, held, "failed" if by_sweep else "done", only_if_stale=by_sweep)

    with ThreadPoolExecutor(2) as pool:
        swept, finished = pool.map(end, (True, False))

    assert swept != finished
    assert stored(database, job).status == ("failed" if swept else "done")


def test_a_waiting_row_that_is_ended_is_claimed_by_no_worker(database: Database, job: int) -> None:
    def end() -> bool:
        with database.write() as connection:
            return WORK.finish_waiting(connection, job, {"status": "failed"}, now=LATER)

    assert (end(), end()) == (True, False)
    assert claim(database, job) is None


def test_a_claimed_row_is_not_ended_as_one_that_waits(database: Database, job: int) -> None:
    claimed(database, job)
    with database.write() as connection:
        assert not WORK.finish_waiting(connection, job, {"status": "failed"}, now=LATER)
