"""What spans cost on disk, all included: conversations of which no two are alike, in a separate database."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from app.wiring.container import Container
from bench.storage import costs, mysql_sizes, sqlite_size
from tests.support.world import running_on, settings_for


@pytest.fixture(params=["embedded", pytest.param("services", marks=pytest.mark.services)])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Container]:
    with running_on(request, tmp_path, settings_for) as container:
        yield container


def test_a_span_of_a_short_conversation_costs_few_bytes(empty: Container, request: pytest.FixtureRequest) -> None:
    """Of texts as long as the recorded ones; docs/capacity.md has the figures of more spans, and of longer texts."""
    is_sqlite = empty.database.is_sqlite
    sizes = sqlite_size if is_sqlite else partial(mysql_sizes, request.getfixturevalue("mariadb"))
    assert costs(empty, sizes, spans=1_000, longer=1).whole <= (700 if is_sqlite else 850)
