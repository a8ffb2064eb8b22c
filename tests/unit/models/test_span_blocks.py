"""The content of blocks: scopes and bodies of spans, which are found by their places."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.models.compression import compress_thoroughly
from app.models.span_bodies import (
    HEAD_BYTES,
    NAME_OF_BLOCK,
    RewrittenSpan,
    SpanKey,
    block_of,
    join_block,
    joined_by_turn,
    name_of_block,
    read_all,
    read_block,
    size_of,
    size_of_block,
)

SPANS = st.lists(
    st.builds(
        RewrittenSpan,
        trace_id=st.sampled_from([b"a" * 16, b"b" * 16]),
        span_id=st.binary(min_size=8, max_size=8),
        prompt_id=st.just(1),
        scope=st.text(st.characters(codec="utf-8"), max_size=255),
        raw=st.binary(max_size=90),
    ),
    min_size=1,
    unique_by=lambda span: (span.trace_id, span.span_id),
)


def stored(spans: list[RewrittenSpan], block_id: int = 7) -> tuple[bytes, dict[SpanKey, bytes]]:
    """Return a block, and the stored bodies of its spans."""
    content, places = join_block(spans)
    forms = {
        (span.trace_id, span.span_id): name_of_block(block_id) + place
        for span, place in zip(spans, places, strict=True)
    }
    return compress_thoroughly(content), forms


def turn(*bodies: bytes) -> list[RewrittenSpan]:
    return [RewrittenSpan(b"t" * 16, number.to_bytes(8, "big"), 1, "test", raw) for number, raw in enumerate(bodies)]


@given(SPANS)
@example(turn(b"", b""))
@example(turn(b'{"spanId":1}' * 9000, b"\1"))
def test_every_body_and_every_scope_come_back_as_they_were(spans: list[RewrittenSpan]) -> None:
    block, forms = stored(spans)
    assert {(key, scope, raw) for key, scope, raw in read_block(block, forms)} == {
        ((span.trace_id, span.span_id), span.scope, span.raw) for span in spans
    }
    assert sum(size_of(form[:HEAD_BYTES], len(form)) for form in forms.values()) == size_of_block(
        block[:HEAD_BYTES], len(block)
    )


@given(st.integers(min_value=1, max_value=2**47))
def test_the_block_of_a_body_is_known_by_its_start(block_id: int) -> None:
    assert len(name_of_block(block_id)) == NAME_OF_BLOCK
    assert block_of(name_of_block(block_id)) == block_id


def test_spans_in_rows_and_in_blocks_are_read_together() -> None:
    first, second = turn(b'{"a":1}' * 20, b'{"a":2}' * 20), [RewrittenSpan(b"u" * 16, b"u" * 8, 1, "other", b"{}")]
    block, forms = stored(second)
    in_rows = joined_by_turn(first)
    scopes = {(span.trace_id, span.span_id): span.scope for span in first}
    read = {(key, scope, raw) for key, scope, raw in read_all(in_rows | forms, scopes, {}, {7: block})}
    assert read == {((span.trace_id, span.span_id), span.scope, span.raw) for span in first + second}


def test_a_missing_block_is_an_error() -> None:
    _, forms = stored(turn(b"{}"))
    with pytest.raises(ValueError, match="the block of a span is missing"):
        list(read_all(forms, {}, {}, {}))


@pytest.mark.parametrize(
    "damage", [lambda form: form + b"\0", lambda form: form[:-1], lambda form: form[:-1] + b"\xff"]
)
def test_another_place_is_an_error(damage: object) -> None:
    block, forms = stored(turn(b'{"a":1}', b'{"a":2}'))
    assert callable(damage)
    damaged = {key: damage(form) for key, form in forms.items()}
    with pytest.raises(ValueError, match="another place in its block"):
        list(read_block(block, damaged))


def test_a_damaged_block_is_an_error() -> None:
    block, forms = stored(turn(b'{"a":1}' * 50, b'{"a":2}' * 50))
    with pytest.raises(ValueError, match="damaged"):
        list(read_block(block[:-2], forms))
