"""Refused batches are noted once in a while, each address for itself."""

from __future__ import annotations

from typing import Any, cast

import structlog

from app.errors import Unauthorized
from app.services.accounts.keys import KeyService
from app.services.ingest.rejections import (
    ADDRESSES_MAX,
    QUIET_S,
    REASONS_PER_ADDRESS,
    RefusalService,
    RefusedBatch,
    RejectionService,
)


class NoKeys:
    def authenticate(self, _header: str | None) -> Any:
        raise Unauthorized("no key")


def service(times: list[float]) -> RefusalService:
    return RefusalService(
        keys=cast(KeyService, NoKeys()), rejections=cast(RejectionService, None), monotonic=lambda: times[0]
    )


def lines(refusals: RefusalService, *batches: RefusedBatch) -> int:
    with structlog.testing.capture_logs() as logged:
        for batch in batches:
            refusals.note(batch, None, None)
    return len(logged)


def refused(address: str = "a", reason: str = "no key") -> RefusedBatch:
    return RefusedBatch(address, "/v1/traces", 401, reason)


def test_a_reason_is_noted_again_after_the_quiet_time() -> None:
    times = [0.0]
    refusals = service(times)
    assert lines(refusals, refused(), refused()) == 1
    times[0] = QUIET_S - 0.1
    assert lines(refusals, refused()) == 0
    times[0] = QUIET_S
    assert lines(refusals, refused()) == 1


def test_one_address_does_not_hide_another() -> None:
    refusals = service([0.0])
    reasons = [refused(reason=str(number)) for number in range(2 * REASONS_PER_ADDRESS)]
    assert lines(refusals, *reasons) == REASONS_PER_ADDRESS
    assert lines(refusals, refused("b"), refused("b", "another")) == 2


def test_the_memory_of_addresses_is_bounded() -> None:
    refusals = service([0.0])
    assert lines(refusals, *(refused(str(number)) for number in range(ADDRESSES_MAX + 5))) == ADDRESSES_MAX
    assert len(refusals._noted) == ADDRESSES_MAX
    assert lines(refusals, refused("0", "another")) == 1
