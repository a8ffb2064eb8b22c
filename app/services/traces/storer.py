"""The interface of the processes that store batches of spans, and their states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from app.services.traces.form import BatchForm, Receipt

StorerState = Literal["ready", "starting", "hanging"]
STATES: tuple[StorerState, ...] = ("ready", "starting", "hanging")


class Storer(Protocol):
    def __call__(self, project_id: int, body: bytes, form: BatchForm, note: bytes, /) -> tuple[Receipt, bytes]:
        """Store a batch as `IngestService.store_noted` does; raises `BatchLost` when it can't tell whether it has."""

    def states(self) -> Mapping[StorerState, int]:
        """Return the number of processes in each state, 0 among them."""
