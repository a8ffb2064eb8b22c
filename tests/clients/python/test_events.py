"""Server-sent events are the same in pieces of any size, and a long one is searched once."""

from __future__ import annotations

from itertools import pairwise
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reprise_client import events
from reprise_client.errors import UnreachableError
from reprise_client.events import Event, EventReader

STREAM = b": hello\n\nevent: token\r\ndata: a\r\ndata: b\r\nid: 1\r\n\r\n\n\ndata: \xc3\xa9\n\ndata: cut"
EVENTS = [Event("token", "a\nb", "1"), Event("message", "é", "")]


@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_events_are_the_same_in_pieces_of_any_size(cuts: list[int]) -> None:
    reader, places = EventReader(), [0, *sorted(cuts), len(STREAM)]

    pieces = [STREAM[start:end] for start, end in pairwise(places)]
    assert [event for piece in pieces for event in reader.feed(piece)] == EVENTS


def test_an_event_of_many_lines_is_searched_once() -> None:
    reader, line = EventReader(), b"data: " + b"x" * 100 + b"\n"
    pattern = mock.Mock(wraps=events._END)

    with mock.patch.object(events, "_END", pattern):
        for _ in range(1_000):
            assert list(reader.feed(line)) == []

    searched = [len(line) * number - call.args[1] for number, call in enumerate(pattern.search.call_args_list, 1)]
    assert max(searched) <= len(line) + 3


def test_an_event_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "EVENT_MAX", 1_000)
    reader = EventReader()
    assert list(reader.feed(b"data: x\n" * 100)) == []
    with pytest.raises(UnreachableError, match="more than 1000 bytes"):
        list(reader.feed(b"data: x\n" * 100))
