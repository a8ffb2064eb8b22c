"""Answers of vendors are read within bounds, counted in bytes, events and elements."""

import gzip
import zlib

import pytest

from app.providers.bounds import ELEMENTS_MAX, ERROR_BYTES, EVENT_BYTES, EVENT_LINES, STREAM_FACTOR, AnswerReader
from app.providers.failures import ProviderFailure

MIB = 1024 * 1024
LIMIT = MIB


class Sent:
    """A vendor that sends these pieces, and counts what was taken of them."""

    def __init__(self, pieces, status=200, content_encoding=None):
        self.pieces, self.status, self.encoding, self.taken = pieces, status, content_encoding, 0

    def __iter__(self):
        for piece in self.pieces:
            self.taken += len(piece)
            yield piece


def received(sent, *, streamed=False):
    """The pieces that were handed on, and the failure that ended them."""
    reader = AnswerReader(sent.status, sent.encoding, answer_bytes=LIMIT, streamed=streamed)
    pieces = []
    try:
        for piece in reader.read_all(sent):
            pieces.append(piece)  # noqa: PERF402 - those before a failure count
    except ProviderFailure as failed:
        return pieces, str(failed)
    return pieces, None


def bomb(size, level=9):
    """Gzip of so many zeros, in the pieces that a socket gives."""
    packed = gzip.compress(bytes(size), level)
    return [packed[at : at + 65_536] for at in range(0, len(packed), 65_536)]


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_within_its_bounds_comes_as_it_was_sent(streamed):
    said = b'data: {"a": [1, 2]}\n\ndata: [DONE]\n\n' * 20
    for pieces in ([said], [said[at : at + 1] for at in range(len(said))]):
        found, failure = received(Sent(pieces), streamed=streamed)
        assert (b"".join(found), failure) == (said, None)


def test_gzip_is_inflated():
    assert received(Sent([gzip.compress(b'{"a": 1}')], content_encoding="gzip")) == ([b'{"a": 1}'], None)


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
def test_300_kb_of_gzip_do_not_become_300_mb(streamed):
    sent = Sent(bomb(300 * MIB), content_encoding="gzip")
    found, failure = received(sent, streamed=streamed)

    assert "was not read to its end" in failure
    assert sum(map(len, found)) <= LIMIT
    assert max(map(len, found), default=0) <= 65_536
    assert sent.taken <= 65_536


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "identity, gzip"])
def test_an_encoding_that_was_not_asked_for_is_refused(encoding):
    found, failure = received(Sent([gzip.compress(gzip.compress(bytes(MIB)))], content_encoding=encoding))

    assert (found, "other than gzip" in failure) == ([], True)


@pytest.mark.parametrize("body", [b"no gzip", zlib.compress(b"x")])
def test_broken_gzip_is_a_failure(body):
    assert "broken gzip" in received(Sent([body], content_encoding="gzip"))[1]


def test_a_whole_answer_is_read_up_to_its_bound():
    sent = Sent([b"x" * 65_536] * 5000)
    found, failure = received(sent)

    assert f"larger than {LIMIT} bytes" in failure
    assert sum(map(len, found)) <= LIMIT < sent.taken <= LIMIT + 65_536


def test_an_error_is_cut_off_since_its_status_is_enough():
    found, failure = received(Sent([b"x" * 65_536] * 5000, status=500))

    assert (sum(map(len, found)), failure) == (ERROR_BYTES, None)


def test_a_stream_is_read_up_to_another_bound():
    event = b"data: " + b"x" * 65_530 + b"\n\n"
    sent = Sent([event] * 5000)
    found, failure = received(sent, streamed=True)

    assert f"larger than {LIMIT * STREAM_FACTOR} bytes" in failure
    assert LIMIT < sum(map(len, found)) <= LIMIT * STREAM_FACTOR


def test_an_event_that_never_ends_is_given_up():
    sent = Sent([b"data: " + b"x" * 65_530] * 5000)
    found, failure = received(sent, streamed=True)

    assert (found, f"event of more than {LIMIT} bytes" in failure) == ([], True)
    assert sent.taken <= LIMIT + 65_536


def test_tiny_events_count_as_what_they_cost():
    found, failure = received(Sent([b"data: 1\n\n" * 7000] * 5000), streamed=True)

    assert f"larger than {LIMIT * STREAM_FACTOR} bytes" in failure
    assert b"".join(found).count(b"\n\n") <= LIMIT * STREAM_FACTOR / EVENT_BYTES


@pytest.mark.slow
@pytest.mark.parametrize(("streamed", "factor"), [(False, 2), (True, 2 * STREAM_FACTOR)])
def test_an_answer_in_pieces_of_a_byte_is_given_up_before_it_costs_minutes(streamed, factor):
    most = factor * LIMIT // EVENT_BYTES
    sent = Sent([b" "] * (most + 100))
    assert "comes in too many pieces" in received(sent, streamed=streamed)[1]
    assert sent.taken == most + 1
    assert received(Sent([b" "] * most), streamed=streamed)[1] is None


def test_no_more_of_an_error_is_received_than_is_read():
    sent = Sent([b"x" * 8] * (ERROR_BYTES // 8 + 100), status=400)
    found, failure = received(sent)
    assert (b"".join(found), failure, sent.taken) == (b"x" * ERROR_BYTES, None, ERROR_BYTES)


def test_the_lines_of_an_event_are_bounded():
    lines = b"data: 1\n" * EVENT_LINES
    assert received(Sent([lines + b"\n"]), streamed=True)[1].endswith("was not read to its end.")
    assert received(Sent([lines]), streamed=True)[1] is None
    assert received(Sent([lines + b"data: 1\n"]), streamed=True)[1].endswith("was not read to its end.")


@pytest.mark.parametrize("streamed", [False, True])
def test_the_elements_of_one_piece_of_json_are_bounded(streamed):
    assert "lists, objects and members" in received(Sent([b"[]," * (ELEMENTS_MAX // 2 + 1)]), streamed=streamed)[1]
    assert received(Sent([b"[]," * (ELEMENTS_MAX // 2)]), streamed=streamed)[1] is None


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_events_are_handed_on_whole_however_they_come(ending):
    said = b"event: x" + ending + b"data: 1" + ending + ending
    found, _ = received(Sent([bytes([one]) for one in said * 3]), streamed=True)

    assert found == [said] * 3
