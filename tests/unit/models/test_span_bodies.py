"""Bodies of spans that are compressed by the turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.models import span_bodies
from app.models.compression import PLAIN, ZSTD_1, compress, compress_quickly
from app.models.span_bodies import (
    HEAD_BYTES,
    IN_HOLDER,
    JOINED,
    RewrittenSpan,
    SpanKey,
    joined_by_turn,
    own_scope,
    read,
    read_whole,
    scope_of,
    size_of,
)
from app.otlp.decode import decode
from bench.varied import LONGER, conversations

TRACES = st.sampled_from([b"a" * 16, b"b" * 16])


def key_of(span: RewrittenSpan) -> SpanKey:
    return span.trace_id, span.span_id


def turn(*bodies: bytes, prompt_id: int = 1) -> list[RewrittenSpan]:
    return [
        RewrittenSpan(b"t" * 16, number.to_bytes(8, "big"), prompt_id, "test", raw) for number, raw in enumerate(bodies)
    ]


def said(words: str, spans: int = 3) -> list[RewrittenSpan]:
    return turn(*(json.dumps({"spanId": f"{number:016x}", "said": words}).encode() for number in range(spans)))


@given(
    st.lists(
        st.builds(
            RewrittenSpan,
            trace_id=TRACES,
            span_id=st.binary(min_size=8, max_size=8),
            prompt_id=st.sampled_from([1, 2]),
            scope=st.sampled_from(["", "test", "\1"]),
            raw=st.binary(max_size=90),
        ),
        unique_by=key_of,
    )
)
@example(turn(b"", b"", b""))
@example(turn(b"\0", b"\1", b"\2", b"\3"))
@example(turn(*[b'{"emoji": "\xf0\x9f\xa6\x8a", "nul": "\\u0000"}'] * 20))
def test_every_body_and_every_scope_come_back_as_they_were(spans: list[RewrittenSpan]) -> None:
    assert_comes_back(spans)
    with patch.object(span_bodies, "JOINED_BYTES", 100), patch.object(span_bodies, "JOINED_AT_ONCE_BYTES", 200):
        assert_comes_back(spans)


def assert_comes_back(spans: list[RewrittenSpan]) -> None:
    forms = joined_by_turn(spans)
    assert dict(read(forms, {})) == {key_of(span): span.raw for span in spans}
    own = {key_of(span): own_scope(span.scope, forms[key_of(span)]) for span in spans}
    assert {key: scope_of(key, form, own) for key, form in forms.items()} == {
        key_of(span): span.scope for span in spans
    }


def test_the_scope_of_a_turn_is_stored_once() -> None:
    spans = said("hello " * 20)
    spans[2] = spans[2]._replace(scope="")
    forms = joined_by_turn(spans)
    assert [own_scope("test", forms[key_of(span)]) for span in spans] == ["test", "", "test"]


@pytest.mark.slow
def test_spans_of_a_turn_need_half_of_what_they_need_separately() -> None:
    batches = islice(conversations(1, seed=1, start_ns=10**18, longer=LONGER), 60)
    spans = [span for batch in batches for span in decode(batch).spans]
    together = sum(map(len, joined_by_turn(spans).values()))
    assert together < 0.6 * sum(map(len, compress_quickly([span.raw for span in spans])))


def test_spans_of_other_prompts_and_large_ones_are_stored_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = said("hello " * 20, 2)
    other = second._replace(prompt_id=2)
    assert [form[:1] for form in joined_by_turn([first, other]).values()] == [ZSTD_1, ZSTD_1]
    monkeypatch.setattr(span_bodies, "JOINED_BYTES", len(first.raw) + len(second.raw) - 1)
    assert [form[:1] for form in joined_by_turn([first, second]).values()] == [ZSTD_1, ZSTD_1]
    monkeypatch.setattr(span_bodies, "JOINED_BYTES", len(first.raw) + len(second.raw))
    assert [form[:1] for form in joined_by_turn([first, second]).values()] == [JOINED, IN_HOLDER]


def test_what_does_not_become_shorter_is_stored_unchanged() -> None:
    assert list(joined_by_turn(turn(b"{}", b"\1")).values()) == [b"{}", PLAIN + b"\1"]


def test_the_beginning_of_a_row_has_the_size_of_its_bodies() -> None:
    spans = [
        *said("hello " * 20),
        RewrittenSpan(b"u" * 16, b"s" * 8, 1, "", b'{"a": 1}'),
        RewrittenSpan(b"v" * 16, b"s" * 8, 1, "", b"a" * 99),
    ]
    sizes = [size_of(form[:HEAD_BYTES], len(form)) for form in joined_by_turn(spans).values()]
    assert sizes == [sum(len(span.raw) for span in spans[:3]), 0, 0, 8, 99]
    with pytest.raises(ValueError, match="damaged"):
        size_of(JOINED + b"no frame at all", 15)


def test_a_span_is_read_with_only_its_holder() -> None:
    spans = said("hello " * 20)
    forms = joined_by_turn(spans)
    holder, last = key_of(spans[0]), key_of(spans[2])
    assert dict(read({last: forms[last]}, {holder: forms[holder]})) == {last: spans[2].raw}


def test_what_lies_in_a_row_is_whole_if_all_of_it_is_there() -> None:
    spans = said("hello " * 20)
    alone = RewrittenSpan(b"u" * 16, b"s" * 8, 1, "", b"{}")
    forms = joined_by_turn([*spans, alone])
    assert read_whole(forms) == {key_of(span): span.raw for span in (*spans, alone)}
    for span in spans:
        others = {key: form for key, form in forms.items() if key != key_of(span)}
        assert read_whole(others) == {key_of(alone): b"{}"}


def test_removing_a_holder_removes_its_spans() -> None:
    spans = said("hello " * 20)
    forms = joined_by_turn(spans)
    del forms[key_of(spans[0])]
    assert dict(read(forms, {})) == {}


@pytest.mark.parametrize("tail", [b"\2", b"\1\1"])
def test_a_place_that_has_another_length_is_an_error(tail: bytes) -> None:
    spans = said("hello " * 20)
    spans[2] = spans[2]._replace(scope="")
    forms = joined_by_turn(spans)
    forms[key_of(spans[2])] += tail
    with pytest.raises(ValueError, match="damaged"):
        dict(read(forms, {}))


def without_the_last(form: bytes) -> bytes:
    return form[:-1]


def of_another_span(_form: bytes) -> bytes:
    return compress(b"Of another time" * 20)


def of_shorter_ones(_form: bytes) -> bytes:
    return next(iter(joined_by_turn(said("hi", 2)).values()))


@pytest.mark.parametrize("damage", [without_the_last, of_another_span, of_shorter_ones])
def test_a_damaged_body_is_an_error(damage: Callable[[bytes], bytes]) -> None:
    spans = said("hello " * 20)
    forms = joined_by_turn(spans)
    forms[key_of(spans[0])] = damage(forms[key_of(spans[0])])
    with pytest.raises(ValueError, match="damaged"):
        dict(read(forms, {}))


def test_bodies_in_a_format_of_a_newer_release_are_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match="newer release"):
        dict(read({(b"t" * 16, b"s" * 8): b"\7..."}, {}))
