"""The embedded mode stores batches in threads of the process that answers: how they wait, join and fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict

import dramatiq
import pytest
from dramatiq import Message
from dramatiq.brokers.stub import StubBroker

from app.actors.spans import BatchesHere
from app.concurrency.quotas import FairSemaphore, Quota
from app.errors import Unavailable
from app.redis_store.middleware import for_organization
from app.services.ingest.batch import Receipt
from tests.support.waiting import PATIENCE_S, wait_until

GREEDY, OTHER = 1, 2
STORED = Receipt("stored", stored=1)


class Actor:
    """An actor that waits until it is let go on, and then stores its batch or raises."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go_on = threading.Semaphore(0)
        self.error: Exception | None = None
        self.declared = dramatiq.actor(self.store, broker=StubBroker(), actor_name="store_spans")

    def store(self, batch: str) -> dict[str, object]:
        self.begun.append(batch)
        assert self.go_on.acquire(timeout=PATIENCE_S)
        if self.error:
            raise self.error
        return asdict(STORED)

    def message(self, batch: str, organization_id: int = GREEDY) -> Message[dict[str, object]]:
        return for_organization(self.declared.message(batch), organization_id)


@pytest.fixture
def actor() -> Actor:
    return Actor()


@pytest.fixture
def here(actor: Actor) -> BatchesHere:
    """One place for an organization, and one more for others."""
    return BatchesHere(actor.declared, FairSemaphore(Quota.of(1, 25)))


@pytest.fixture
def submit() -> Iterator[Callable[..., Future[Receipt | None]]]:
    with ThreadPoolExecutor(8) as pool:
        yield pool.submit


def until_waiting(here: BatchesHere, message: Message[dict[str, object]], count: int) -> None:
    waiting = here._in_work[message.message_id]._waiters
    wait_until(lambda: len(waiting) == count, f"{count} requests that wait for the batch")


def test_a_batch_is_stored_and_its_receipt_returned(actor: Actor, here: BatchesHere) -> None:
    actor.go_on.release()
    message = actor.message("a")
    assert here.store(message, 1) == STORED
    assert here.join(message, 1) is None  # its claim is gone, so no caller asks


def test_an_organization_waits_for_its_place_and_another_one_does_not(
    actor: Actor, here: BatchesHere, submit: Callable[..., Future[Receipt | None]]
) -> None:
    first = submit(here.store, actor.message("first"), PATIENCE_S)
    wait_until(lambda: actor.begun == ["first"], "the first batch")
    second = submit(here.store, actor.message("second"), PATIENCE_S)
    other = submit(here.store, actor.message("other", OTHER), PATIENCE_S)
    wait_until(lambda: actor.begun == ["first", "other"], "the other organization's batch")
    actor.go_on.release(3)
    assert [one.result(PATIENCE_S) for one in (first, second, other)] == [STORED] * 3
    assert actor.begun == ["first", "other", "second"]


def test_a_batch_that_finds_no_place_in_time_waits_on_without_its_request(
    actor: Actor, here: BatchesHere, submit: Callable[..., Future[Receipt | None]]
) -> None:
    first = submit(here.store, actor.message("first"), PATIENCE_S)
    wait_until(lambda: actor.begun, "the first batch")
    message = actor.message("second")
    assert here.store(message, 0) is None
    joined = submit(here.join, message, PATIENCE_S)
    until_waiting(here, message, 1)
    actor.go_on.release(2)
    assert [first.result(PATIENCE_S), joined.result(PATIENCE_S)] == [STORED, STORED]
    assert actor.begun == ["first", "second"]


def test_a_batch_that_finds_no_place_while_its_body_is_kept_is_refused(
    actor: Actor, here: BatchesHere, submit: Callable[..., Future[Receipt | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.actors.spans.BODY_S", 0.01)
    first = submit(here.store, actor.message("first"), PATIENCE_S)
    wait_until(lambda: actor.begun, "the first batch")
    with pytest.raises(Unavailable):
        here.store(actor.message("second"), PATIENCE_S)
    actor.go_on.release()
    assert first.result(PATIENCE_S) == STORED
    assert actor.begun == ["first"]


def test_a_request_that_waits_no_longer_leaves_its_batch_in_work(actor: Actor, here: BatchesHere) -> None:
    message = actor.message("a")
    assert here.store(message, 0) is None
    wait_until(lambda: actor.begun == ["a"], "the batch")
    with pytest.raises(Unavailable, match="not stored in time"):
        here.join(message, 0)  # not a reason to begin it again
    actor.go_on.release()
    wait_until(lambda: not here._in_work, "its end")


def test_the_same_batch_of_another_request_gets_the_receipt_of_the_first(
    actor: Actor, here: BatchesHere, submit: Callable[..., Future[Receipt | None]]
) -> None:
    message = actor.message("a")
    first = submit(here.store, message, PATIENCE_S)
    wait_until(lambda: actor.begun, "the batch")
    joined = submit(here.join, message, PATIENCE_S)
    until_waiting(here, message, 2)
    actor.go_on.release()
    assert (first.result(PATIENCE_S), joined.result(PATIENCE_S)) == (STORED, STORED)


def test_one_that_has_joined_learns_at_once_that_the_first_has_failed(
    actor: Actor, here: BatchesHere, submit: Callable[..., Future[Receipt | None]]
) -> None:
    actor.error = ZeroDivisionError()
    message = actor.message("a")
    first = submit(here.store, message, PATIENCE_S)
    wait_until(lambda: actor.begun, "the batch")
    joined = submit(here.join, message, PATIENCE_S)
    until_waiting(here, message, 2)
    actor.go_on.release()
    assert joined.result(PATIENCE_S) is None
    with pytest.raises(ZeroDivisionError):
        first.result(PATIENCE_S)
