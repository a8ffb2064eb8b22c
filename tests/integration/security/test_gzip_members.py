"""A few megabytes of empty gzip members once held a worker for a minute, and with it everybody's batches."""

from __future__ import annotations

import gzip

from tests.support.exports import export
from tests.support.world import World


def test_a_batch_of_500_000_empty_gzip_members_is_refused_at_once(world: World) -> None:
    answer = world.send(gzip.compress(b"") * 500_000, Content_Encoding="gzip")

    assert answer.status_code == 400
    assert "compressed members" in answer.json["error"]


def test_a_batch_compressed_in_blocks_is_stored(world: World) -> None:
    body = export()
    blocks = [gzip.compress(body[at : at + 1]) for at in range(len(body))]

    assert world.send(b"".join(blocks), Content_Encoding="gzip").status_code == 200
