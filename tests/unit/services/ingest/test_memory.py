"""Large batches of a process wait for memory, and small ones and those of other organizations do not wait for them."""

from __future__ import annotations

import gzip
import os
from unittest import mock

import pytest

from app.concurrency.quotas import NoFreePlace
from app.errors import Invalid, TooLarge
from app.services.ingest import memory as batch_memory
from app.services.ingest.memory import SMALL_BYTES, BatchMemory

MOST = 16 * SMALL_BYTES
LARGE = gzip.compress(bytes(MOST))
OURS, OF_OTHERS = 1, 2


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> BatchMemory:
    monkeypatch.setattr(batch_memory, "WAIT_S", 0.0)
    owners = mock.Mock(of_project=lambda project_id: project_id)
    return BatchMemory(owners=owners, batch_bytes=MOST)


def test_a_batch_is_decompressed_when_there_is_memory_for_it(memory: BatchMemory) -> None:
    with memory.opened(OURS, LARGE, "gzip") as plain:
        assert len(plain) == MOST
        with (
            mock.patch.object(batch_memory, "inflate", wraps=batch_memory.inflate) as inflated,
            pytest.raises(NoFreePlace),
            memory.opened(OURS, LARGE, "gzip"),
        ):
            pass
        assert [call.kwargs["limit"] for call in inflated.mock_calls] == [SMALL_BYTES]
    with memory.opened(OURS, LARGE, "gzip") as plain:
        assert len(plain) == MOST


def test_batches_that_fit_together_do_not_wait(memory: BatchMemory) -> None:
    half = os.urandom(MOST // 2)
    with memory.opened(OURS, half, ""), memory.opened(OURS, gzip.compress(half), "gzip") as plain:
        assert plain == half
        with pytest.raises(NoFreePlace), memory.opened(OURS, os.urandom(SMALL_BYTES + 1), ""):
            pass


def test_a_small_batch_and_one_of_another_organization_find_memory(memory: BatchMemory) -> None:
    with memory.opened(OURS, LARGE, "gzip"):
        with memory.opened(OURS, b"x" * SMALL_BYTES, "identity") as plain:
            assert len(plain) == SMALL_BYTES
        with memory.opened(OF_OTHERS, gzip.compress(bytes(2 * SMALL_BYTES)), "gzip") as plain:
            assert len(plain) == 2 * SMALL_BYTES


@pytest.mark.parametrize(
    ("body", "encoding", "error"),
    [
        (bytes(MOST + 1), "", TooLarge),
        (gzip.compress(bytes(MOST + 1)), "gzip", TooLarge),
        (LARGE[:-9], "gzip", Invalid),
        (b"no gzip", "gzip", Invalid),
    ],
)
def test_a_batch_that_is_refused_holds_no_memory(
    memory: BatchMemory, body: bytes, encoding: str, error: type[Exception]
) -> None:
    for _ in range(2):
        with pytest.raises(error), memory.opened(OURS, body, encoding):
            pass
    with memory.opened(OURS, LARGE, "gzip"):
        pass
