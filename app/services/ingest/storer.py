"""The interface of the processes that store batches of spans, and their states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from app.services.ingest.batch import BatchForm, Receipt, StoredKeys

StorerState = Literal["ready", "starting", "hanging"]
STATES: tuple[StorerState, ...] = ("ready", "starting", "hanging")


class Storer(Protocol):
    """The processes that store batches for this one."""

    def __call__(
        self, project_id: int, body: bytes, form: BatchForm, stored_keys: StoredKeys, /
    ) -> tuple[Receipt, StoredKeys]:
        """Store a batch in another process; returns its receipt, and the keys by which a second delivery is recognised.

        `stored_keys` are the keys that an earlier delivery of the same body returned. Raises what
        `IngestService.store_repeatable` raises, and `BatchLost` if it is unknown whether the batch is stored.
        """

    def states(self) -> Mapping[StorerState, int]:
        """Return the number of processes in each state, including 0."""
