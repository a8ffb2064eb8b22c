"""A body is read up to its limit, whatever length it announces."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import falcon
import pytest
from falcon.testing import create_environ
from hypothesis import given
from hypothesis import strategies as st

from app.concurrency import deadline
from app.errors import Invalid, TooLarge
from app.http import bodies
from app.http.bodies import BODY_ELEMENTS_MAX, CHUNK, has_more_elements, read_capped, read_json
from tests.support.interpreter import held_s

MOST_S = 0.05


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


@pytest.mark.parametrize(
    ("body", "value"), [(b'\xef\xbb\xbf{"a": "\xef\xbb\xbf"}', {"a": "\ufeff"}), (b"\xef\xbb\xbf", {})]
)
def test_a_byte_order_mark_before_json_is_left_out(body: bytes, value: object) -> None:
    assert read_json(falcon.Request(create_environ(method="POST", body=body)), 100, optional=True) == value


@pytest.mark.parametrize("item", [b"[]", b"{}", b"[[[]]]", b'{"":0}', b"[" * 900 + b"]" * 900])
def test_json_of_as_many_lists_and_objects_as_are_read_keeps_the_interpreter_less_than_50_ms(item: bytes) -> None:
    marks = 1 + sum(map(item.count, (b",", b"[", b"{")))
    most = BODY_ELEMENTS_MAX // marks

    def read(count: int) -> None:
        body = b"[" + b",".join([item] * count) + b"]"
        read_json(falcon.Request(create_environ(method="POST", body=body)), len(body))

    assert held_s(lambda: read(most), at_most=MOST_S) < MOST_S
    with pytest.raises(Invalid, match=str(BODY_ELEMENTS_MAX)):
        read(most + 2)


@pytest.mark.parametrize("limit", [0, 100, CHUNK, CHUNK + 1])
def test_of_a_longer_one_no_more_is_read_than_shows_that(limit: int) -> None:
    request, sent = chunked(b"x" * (limit + 10 * CHUNK))
    with pytest.raises(TooLarge):
        read_capped(request, limit)
    assert sent.tell() == limit + 1


class Slow(io.BytesIO):
    """Needs a minute for each piece, on a clock that others read."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def read(self, size: int | None = -1, /) -> bytes:
        self.now += 60
        return super().read(size)


def test_the_time_to_receive_a_body_is_not_counted_toward_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    request, _ = chunked(b"")
    slow = request.env["wsgi.input"] = Slow(b"x" * 100)
    monkeypatch.setattr(deadline, "time", slow)
    request = falcon.Request(request.env)
    with deadline.within(5):
        read_capped(request, 100)
        assert slow.now > 5
        assert deadline.left_s(math.inf) == 5


texts = st.text(st.sampled_from(',[{"\\\\:]} \n\u00e9a'))
documents = st.recursive(
    st.one_of(st.none(), st.integers(), texts),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(texts, inner)),
)


def marks_of(value: Any) -> int:
    """The brackets that begin a list or object, and the commas, of a value in JSON."""
    if not isinstance(value, list | dict):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(0, len(value) - 1) + sum(map(marks_of, inner))


@given(documents, st.booleans(), st.integers(1, 9))
def test_elements_are_counted_outside_of_texts(document: Any, is_ascii: bool, piece: int) -> None:
    body, count = json.dumps(document, ensure_ascii=is_ascii).encode(), marks_of(document)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "_PIECE", piece)
        assert not has_more_elements(body, count)
        assert has_more_elements(body, count - 1)
