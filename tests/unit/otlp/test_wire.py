"""Taking protobuf apart costs what its length allows, whatever is in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Invalid
from app.otlp.wire import WIRE_FIELDS_MAX, WireWalk


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def walked(body: bytes) -> list[tuple[int, bytes]]:
    return [(number, bytes(content)) for number, content in WireWalk().fields(memoryview(body))]


@given(st.lists(st.tuples(st.integers(1, 2**29 - 1), st.binary(max_size=300))))
def test_fields_come_back_in_their_order(fields: list[tuple[int, bytes]]) -> None:
    assert walked(b"".join(field(number, content) for number, content in fields)) == fields


def test_numbers_are_skipped() -> None:
    numbers = varint(1 << 3) + varint(2**63) + varint(2 << 3 | 1) + bytes(8) + varint(3 << 3 | 5) + bytes(4)
    assert walked(numbers + field(4, b"x") + numbers) == [(4, b"x")]


@given(st.binary(max_size=200))
def test_any_bytes_are_walked_or_refused(body: bytes) -> None:
    try:
        found = walked(body)
    except Invalid:
        return
    assert sum(len(content) for _, content in found) <= len(body)


@pytest.mark.parametrize(
    "body",
    [
        b"\x0a",
        b"\x0a\x05abc",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\xff" * 50,
        b"\x09abc",
        b"\x0b\x0c",
        b"\x0f",
        b"{}",
    ],
    ids=["no length", "cut", "a huge length", "no end", "cut number", "a group", "an unknown type", "JSON"],
)
def test_what_is_no_message_is_refused(body: bytes) -> None:
    with pytest.raises(Invalid, match="no OTLP protobuf"):
        walked(body)


@pytest.mark.slow
def test_no_more_fields_are_walked_than_a_body_may_have() -> None:
    assert len(walked(field(1, b"") * WIRE_FIELDS_MAX)) == WIRE_FIELDS_MAX
    with pytest.raises(Invalid, match=f"more than {WIRE_FIELDS_MAX}"):
        walked(field(1, b"") * (WIRE_FIELDS_MAX + 1))
