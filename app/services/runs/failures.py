"""Failures of runs: errors as they are stored, and as they are raised again to the caller."""

from __future__ import annotations

from app.errors import Invalid, NotFound, ProviderError, ProviderTimeout, RepriseError, Unavailable
from app.models.runs import RunRow
from app.services.runs.outcome import RunEnd
from app.storable import storable_text

KINDS: dict[str, type[RepriseError]] = {
    "provider_timeout": ProviderTimeout,
    "provider": ProviderError,
    "invalid": Invalid,
    "not_found": NotFound,
    "unavailable": Unavailable,
    "interrupted": Unavailable,
    "not_started": Unavailable,
}
# The model was surely not called, so the Idempotency-Key may be used for another try.
NOT_CALLED = frozenset({"unavailable", "not_started"})
INTERNAL = "internal"

INTERRUPTED = (
    "The run was interrupted: its worker died, and the model may have been called. "
    "To run it again send it with another Idempotency-Key."
)
EXPIRED = "The run was not started within an hour: no worker had time for it."
NOT_STORED = "The model answered, but its answer can't be stored."
NOT_SENT = "The run was not started, as Redis is not available; send it again."


def failed(kind: str, message: str) -> RunEnd:
    return RunEnd(status="failed", error_kind=kind, error=storable_text(message))


def failed_by(error: RepriseError) -> RunEnd:
    kind = next((kind for kind, known in KINDS.items() if isinstance(error, known)), INTERNAL)
    return failed(kind, str(error))


def raise_failure(row: RunRow) -> None:
    """Raise the error of a failed run; return for any other run."""
    if row.status != "failed":
        return
    known = KINDS.get(row.error_kind or "")
    if known is None:
        raise RuntimeError(f"run {row.id} failed by a bug: {row.error}")
    raise known(row.error or "The run failed.")
