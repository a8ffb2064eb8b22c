"""The actor of batches of spans, and the delivery that waits for a batch's receipt on behalf of its exporter.

The same actor stores a batch in both modes. A worker calls it for a message of the queue `spans`; the embedded mode
calls it in a thread.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Protocol

import dramatiq
import structlog
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import ResultFailure, ResultMissing, ResultTimeout

from app.concurrency import deadline, lasting_changes
from app.concurrency.quotas import FairSemaphore
from app.errors import Unavailable
from app.redis_store.batches import BODY_S, Mailbox
from app.redis_store.broker import MAX_AGE_MS, WakingBroker
from app.redis_store.middleware import ORGANIZATION_OPTION, for_organization
from app.services.accounts.owners import Owners
from app.services.ingest.batch import BatchForm, Receipt
from app.services.ingest.service import IngestService
from app.services.masking.rules import MaskingRules

log = structlog.get_logger(__name__)

# A batch of another request that is not stored by then may have lost its worker, so that this request sends it again.
JOIN_S = 2
# A batch that was put into the queue is waited for at least so long.
MIN_WAIT_S = 1.0
# More batches than may wait for a place. A thread is started when no other is idle.
THREADS_MAX = 1024
NOT_IN_TIME = "The batch was not stored in time; send it again."

BatchActor = dramatiq.Actor[..., dict[str, Any]]
BatchMessage = Message[dict[str, Any]]


def declare(broker: RedisBroker, ingest: IngestService) -> BatchActor:
    """Declare the actor.

    Dramatiq never retries it: the exporter gets 503 and sends the batch again, and a retry would race with that.
    """

    @dramatiq.actor(
        broker=broker,
        queue_name="spans",
        max_retries=0,
        time_limit=BODY_S * 1000,
        max_age=MAX_AGE_MS,
        store_results=True,
    )
    def store_spans(
        project_id: int, key: str, ticket: str, encoding: str, sealed: bool, fields: dict[str, Any] | None = None
    ) -> dict[str, object]:
        form = BatchForm(**fields) if fields else BatchForm(encoding)
        with deadline.within(BODY_S):
            return asdict(ingest.store_claimed(project_id, key, ticket, form, sealed=sealed))

    return store_spans


class BatchWorkers(Protocol):
    """Execute the actor `store_spans`."""

    def store(self, message: BatchMessage, wait_s: float) -> Receipt | None:
        """Have the actor store the message's batch, and return its receipt; None when there is none in time.

        Raises `Unavailable` when the batch can't be put in work, and in a thread what the actor raised.
        """

    def join(self, message: BatchMessage, wait_s: float) -> Receipt | None:
        """Return the receipt of a message that another request has sent; None when its batch is to be sent again.

        Raises `Unavailable` while the batch is certain to be in work: a second message would store it at the same time.
        """


@dataclass(frozen=True, slots=True)
class QueuedBatches:
    """Executes the actor in the processes that read the queue `spans`."""

    broker: WakingBroker

    def store(self, message: BatchMessage, wait_s: float) -> Receipt | None:
        self.broker.enqueue(message)
        return self._result(message, wait_s)

    def join(self, message: BatchMessage, wait_s: float) -> Receipt | None:
        return self._result(message, min(JOIN_S, wait_s))

    def _result(self, message: BatchMessage, wait_s: float) -> Receipt | None:
        backend = self.broker.get_results_backend()
        try:
            return Receipt(**backend.get_result(message, block=True, timeout=round(wait_s * 1000)))
        except (ResultTimeout, ResultMissing, ResultFailure):
            return None


@dataclass(frozen=True, slots=True)
class BatchesHere:
    """Executes the actor in threads of this process, for the embedded mode, where the queues are in the same process.

    Messages through the queue would add a twentieth to the cost of a batch. `semaphore` limits the batches that are
    stored at once, as a worker's threads do. A batch goes on when its request waits no longer, so that the exporter,
    which sends it again, joins it or finds it stored.
    """

    actor: BatchActor
    semaphore: FairSemaphore
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(THREADS_MAX), init=False)
    _in_work: dict[str, Future[Receipt]] = field(default_factory=dict, init=False)

    def store(self, message: BatchMessage, wait_s: float) -> Receipt | None:
        try:
            stored = self._in_work[message.message_id] = self._threads.submit(self._work, message)
        except RuntimeError as error:  # the process may have no more threads, or is ending
            raise Unavailable("Too much is in work to store the batch; send it again.") from error
        stored.add_done_callback(partial(self._end, message.message_id))
        wait([stored], wait_s)
        return stored.result() if stored.done() else None

    def join(self, message: BatchMessage, wait_s: float) -> Receipt | None:
        if (stored := self._in_work.get(message.message_id)) is None:
            return None
        wait([stored], wait_s)
        if not stored.done():
            raise Unavailable(NOT_IN_TIME)
        return None if stored.exception() else stored.result()

    def _work(self, message: BatchMessage) -> Receipt:
        # As long as the batch's body is kept.
        with self.semaphore.hold(message.options[ORGANIZATION_OPTION], wait_s=BODY_S):
            return Receipt(**self.actor(*message.args))

    def _end(self, message_id: str, stored: Future[Receipt]) -> None:
        self._in_work.pop(message_id, None)
        if error := stored.exception():
            log.warning("batch_not_stored", error=f"{type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDelivery:
    """`wait_s` is how long an exporter waits for its receipt."""

    workers: BatchWorkers
    actor: BatchActor
    mailbox: Mailbox
    rules: MaskingRules
    owners: Owners
    wait_s: int

    def deliver(self, project_id: int, body: bytes, form: BatchForm) -> Receipt:
        """Have a batch stored, and return its receipt; `Unavailable` when there is none in time.

        Its request may last `wait_s` from its beginning, longer than other requests.
        """
        deadline.allow(self.wait_s)
        key = self.mailbox.key_of(project_id, form.name, body)
        sealed = bool(self.rules.of(project_id))
        if sealed:
            body = self.rules.cipher.encrypt(body)
        organization_id = self.owners.of_project(project_id)
        ticket = self.mailbox.ticket(organization_id, body)
        message = self.actor.message(project_id, key, ticket, form.encoding, sealed, *form.message_arguments())
        message = for_organization(message, organization_id)
        until = deadline.end_of_wait(self.wait_s)
        lasting_changes.note()  # the batch may be stored even if this request is refused later
        claim = self.mailbox.put(key, ticket, body, message.message_id)
        if claim.joined:
            receipt = self.workers.join(message.copy(message_id=claim.message_id), until - time.monotonic())
            if receipt is not None:
                return receipt
            self.mailbox.put(key, ticket, body, message.message_id, join=False)
        receipt = self.workers.store(message, max(MIN_WAIT_S, until - time.monotonic()))
        if receipt is None:
            raise Unavailable(NOT_IN_TIME)
        return receipt
