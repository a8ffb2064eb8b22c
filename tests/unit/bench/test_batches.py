"""The sizes of the batches that `bench.worst` sends."""

from __future__ import annotations

import gzip

from app.otlp.inflate import MEMBERS_MAX
from bench.worst import batches
from bench.worst.case import Ask, Case

CASE = Case(batches.TRACES, "members", lambda _stage: Ask())


def test_a_batch_of_more_members_than_are_read_counts_with_its_size() -> None:
    body = gzip.compress(b"a") * (MEMBERS_MAX + 1)
    batches.note(CASE, Ask(body=body, headers=batches.GZIP))
    assert batches._plain_bytes[CASE] == len(body)


def test_a_batch_counts_with_its_inflated_size() -> None:
    batches.note(CASE, Ask(body=gzip.compress(b"a" * 100_000), headers=batches.GZIP))
    assert batches._plain_bytes[CASE] == 100_000
