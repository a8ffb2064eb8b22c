"""Sends a batch to its actor and waits for the receipt, since 200 tells the exporter that the batch is committed."""

from __future__ import annotations

import time
from dataclasses import dataclass

from dramatiq.results import ResultFailure, ResultMissing, ResultTimeout

from app.actors import BatchActor
from app.errors import Unavailable
from app.redis_store.batches import Mailbox
from app.redis_store.broker import WakingBroker
from app.redis_store.ownership import owned
from app.services.accounts.projects import Owners
from app.services.data.masking import MaskingRules
from app.services.traces.ingest import Receipt

# A batch of another request that is not stored by then may have lost its worker, so that this request sends it again.
JOIN_S = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDelivery:
    """`wait_s` is how long an exporter waits for its receipt."""

    broker: WakingBroker
    actor: BatchActor
    mailbox: Mailbox
    rules: MaskingRules
    owners: Owners
    wait_s: int

    def deliver(self, project_id: int, body: bytes, encoding: str) -> Receipt:
        """Have a batch stored, and return its receipt; `Unavailable` when there is none in time."""
        key = self.mailbox.key_of(project_id, encoding, body)
        sealed = bool(self.rules.of(project_id))
        if sealed:
            body = self.rules.cipher.encrypt(body)
        organization_id = self.owners.of_project(project_id)
        ticket = self.mailbox.ticket(organization_id, body)
        message = owned(self.actor.message(project_id, key, ticket, encoding, sealed), organization_id)
        deadline = time.monotonic() + self.wait_s
        claim = self.mailbox.put(key, ticket, body, message.message_id)
        if claim.joined:
            receipt = self._receipt(message.copy(message_id=claim.message_id), min(JOIN_S, self.wait_s))
            if receipt is not None:
                return receipt
            self.mailbox.put(key, ticket, body, message.message_id, join=False)
        self.broker.enqueue(message)
        receipt = self._receipt(message, max(1, round(deadline - time.monotonic())))
        if receipt is None:
            raise Unavailable("The batch was not stored in time; send it again.")
        return receipt

    def _receipt(self, message: object, wait_s: int) -> Receipt | None:
        backend = self.broker.get_results_backend()
        try:
            return Receipt(**backend.get_result(message, block=True, timeout=wait_s * 1000))
        except (ResultTimeout, ResultMissing, ResultFailure):
            return None
