"""The client's time to render is linear in the text, also in one that is made to be slow."""

from __future__ import annotations

import pytest
from reprise_client.markdown.conversion import to_xml

from tests.support.markdown import HOSTILE
from tests.support.operations import calls_of


def work(text: str, *, at_most: int = 0) -> int:
    return calls_of(lambda: to_xml(text), at_most=at_most)


@pytest.mark.parametrize("name", HOSTILE)
def test_twice_the_text_needs_at_most_twice_the_work(name: str) -> None:
    make = HOSTILE[name]
    n = 4_000 // len(make(1)) + 1
    bound = 2 * work(make(n)) + 200
    assert work(make(2 * n), at_most=bound) <= bound
