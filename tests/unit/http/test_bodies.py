"""A body is read as far as it may be long, whatever it says of its length."""

from __future__ import annotations

import io

import falcon
import pytest
from falcon.testing import create_environ

from app.errors import TooLarge
from app.http.bodies import CHUNK, read_capped


def chunked(body: bytes) -> tuple[falcon.Request, io.BytesIO]:
    """A request that announces no length, and what its body is read from."""
    environ, sent = create_environ(method="POST"), io.BytesIO(body)
    environ |= {"wsgi.input": sent, "wsgi.input_terminated": True}
    environ.pop("CONTENT_LENGTH", None)
    return falcon.Request(environ), sent


@pytest.mark.parametrize("size", [0, 1, 100, CHUNK, 2 * CHUNK + 1])
def test_a_body_of_the_largest_size_is_read_to_its_end(size: int) -> None:
    request, _ = chunked(b"x" * size)
    assert read_capped(request, size) == b"x" * size


@pytest.mark.parametrize("limit", [0, 100, CHUNK, CHUNK + 1])
def test_of_a_longer_one_no_more_is_read_than_shows_that(limit: int) -> None:
    request, sent = chunked(b"x" * (limit + 10 * CHUNK))
    with pytest.raises(TooLarge):
        read_capped(request, limit)
    assert sent.tell() == limit + 1
