"""A job of the clock leaves the processor to batches that come in, but not for ever."""

from __future__ import annotations

import fakeredis

from app.concurrency.quotas import Quota
from app.redis_store.batches import BUSY_S, Mailbox
from app.work.work_time import LAGGING_S, WorkTime


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def worked_s(work_time: WorkTime, clock: Clock) -> float:
    """Seconds that a job with work for ever works at one call, in pieces of one."""
    work_time.begin()
    began = clock.now_s
    clock.now_s += 1
    while not work_time.is_over:
        clock.now_s += 1
    return clock.now_s - began


def test_a_job_uses_a_tenth_of_its_time_while_batches_come_in() -> None:
    clock = Clock()
    assert worked_s(WorkTime(50, lambda: False, clock), clock) == 50
    assert worked_s(WorkTime(50, lambda: True, clock), clock) == 5


def test_a_job_may_leave_more_of_its_time_to_batches() -> None:
    clock = Clock()
    work_time = WorkTime(50, lambda: True, clock, busy_part=0.02)
    assert work_time.gives_way
    assert worked_s(work_time, clock) == 1

    clock.now_s += LAGGING_S

    assert not work_time.gives_way
    assert worked_s(work_time, clock) == 50


def test_batches_that_come_in_end_what_a_job_does() -> None:
    clock = Clock()
    until = clock.now_s + 20
    assert worked_s(WorkTime(50, lambda: clock.now_s >= until, clock), clock) == 20


def test_a_job_that_lags_behind_uses_all_of_its_time_until_it_has_caught_up() -> None:
    clock = Clock()
    work_time = WorkTime(50, lambda: True, clock)
    worked_s(work_time, clock)
    clock.now_s += LAGGING_S
    assert worked_s(work_time, clock) == worked_s(work_time, clock) == 50

    work_time.caught_up()

    assert worked_s(work_time, clock) == 5


def test_a_process_is_busy_while_it_receives_batches_or_stores_them() -> None:
    clock = Clock()
    mailbox = mailbox_on(fakeredis.FakeRedis(version=(7,)), clock)
    seen = [mailbox.is_busy()]

    mailbox.note_use()
    seen.append(mailbox.is_busy())
    clock.now_s += BUSY_S
    seen.append(mailbox.is_busy())

    assert seen == [False, True, False]


def test_every_process_is_busy_while_a_batch_waits_anywhere() -> None:
    """The clock is a separate process, which stores none."""
    redis, clock = fakeredis.FakeRedis(version=(7,)), Clock()
    web, other = mailbox_on(redis, clock), mailbox_on(redis, clock)
    ticket = web.ticket(1, b"{}")

    web.put("key", ticket, b"{}", "message")
    waits = other.is_busy()
    web.done("key", ticket)

    assert (waits, other.is_busy()) == (True, False)


def test_no_caller_waits_for_what_a_lost_redis_does_not_report() -> None:
    server = fakeredis.FakeServer(version=(7,))
    mailbox = mailbox_on(fakeredis.FakeRedis(server=server), Clock())
    server.connected = False

    assert not mailbox.is_busy()


def mailbox_on(client: fakeredis.FakeRedis, clock: Clock) -> Mailbox:
    return Mailbox(client, batches=Quota.of(8, 25), size=Quota.within(1000, 25), monotonic=clock)
