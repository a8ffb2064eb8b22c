"""Hands a batch to its actor and waits for the receipt: 200 means committed, not queued."""

from __future__ import annotations

import time

from dramatiq.results import ResultFailure, ResultMissing, ResultTimeout

from app.actors.store_spans import BatchActor
from app.errors import Unavailable
from app.redis_store.batches import Mailbox
from app.redis_store.broker import WakingBroker
from app.redis_store.ownership import owned
from app.services.accounts.owners import Owners
from app.services.data.masking import MaskingRules
from app.services.traces.ingest import Receipt

# A joined batch that is not stored by then may have lost its worker: it is sent again by whoever waits for it.
JOIN_S = 2


class BatchDelivery:
    def __init__(
        self,
        *,
        broker: WakingBroker,
        actor: BatchActor,
        mailbox: Mailbox,
        rules: MaskingRules,
        owners: Owners,
        wait_s: int,
    ) -> None:
        self._broker = broker
        self._actor = actor
        self._mailbox = mailbox
        self._rules = rules
        self._owners = owners
        self._wait_s = wait_s

    def deliver(self, project_id: int, body: bytes, encoding: str) -> Receipt:
        """Have a batch stored, and return its receipt; `Unavailable` when there is none in time."""
        key = self._mailbox.key_of(project_id, encoding, body)
        sealed = bool(self._rules.of(project_id))
        if sealed:
            body = self._rules.cipher.encrypt(body)
        organization_id = self._owners.of_project(project_id)
        ticket = self._mailbox.ticket(organization_id, body)
        message = owned(self._actor.message(project_id, key, ticket, encoding, sealed), organization_id)
        deadline = time.monotonic() + self._wait_s
        claim = self._mailbox.put(key, ticket, body, message.message_id)
        if claim.joined:
            receipt = self._receipt(message.copy(message_id=claim.message_id), min(JOIN_S, self._wait_s))
            if receipt is not None:
                return receipt
            self._mailbox.put(key, ticket, body, message.message_id, join=False)
        self._broker.enqueue(message)
        receipt = self._receipt(message, max(1, round(deadline - time.monotonic())))
        if receipt is None:
            raise Unavailable("The batch was not stored in time; send it again.")
        return receipt

    def _receipt(self, message: object, wait_s: int) -> Receipt | None:
        backend = self._broker.get_results_backend()
        try:
            return Receipt(**backend.get_result(message, block=True, timeout=wait_s * 1000))
        except (ResultTimeout, ResultMissing, ResultFailure):
            return None
