"""Both Python clients, and the servers that their tests speak to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.clients.python.fakes import CLIENTS, FakeReprise, client_of
from tests.fakes.json_server import serving


@pytest.fixture(params=CLIENTS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of client in turn."""
    found: str = request.param
    return found


@pytest.fixture
def fake() -> FakeReprise:
    return FakeReprise()


@pytest.fixture
def url(fake: FakeReprise) -> Iterator[str]:
    with serving(fake.answer) as url:
        yield url


@pytest.fixture
def connect(kind: str, url: str) -> Iterator[Callable[..., Any]]:
    """Makes clients of the fake server, with any options, that are closed after the test."""
    with ExitStack() as opened:
        yield lambda **options: opened.enter_context(client_of(kind, options.pop("url", url), **options))
