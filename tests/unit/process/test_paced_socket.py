"""Connections that are waited for only so long."""

import socket
from collections.abc import Iterator

import pytest

from app.process.paced_socket import HEAD_BYTES, PacedSocket, TooSlow, WaitAllowance


@pytest.fixture
def pair() -> Iterator[tuple[PacedSocket, socket.socket]]:
    """(ours, the caller's)"""
    ours, caller = socket.socketpair()
    with PacedSocket(ours, bytes_per_s=1000) as paced, caller:
        yield paced, caller


def test_waiting_uses_the_allowance_up_and_bytes_give_it_back() -> None:
    allowance = WaitAllowance(behind_s=10, bytes_per_s=100)
    allowance.note(waited_s=6, size=200)
    assert allowance.left_s == 10 - 6 + 2


def test_haste_is_no_licence_to_be_slow_later() -> None:
    allowance = WaitAllowance(behind_s=10, bytes_per_s=100)
    allowance.note(waited_s=0, size=1_000_000)
    assert allowance.left_s == 10


def test_a_line_at_the_slowest_rate_is_waited_for_however_long_it_lasts() -> None:
    allowance = WaitAllowance(behind_s=10, bytes_per_s=100)
    for _ in range(10_000):
        allowance.note(waited_s=5, size=500)
    assert allowance.left_s == 10


def test_a_byte_now_and_then_uses_the_allowance_up() -> None:
    allowance = WaitAllowance(behind_s=30, bytes_per_s=16384)
    allowance.note(waited_s=20, size=1)
    allowance.note(waited_s=20, size=1)
    assert allowance.left_s < 0


def test_nothing_is_read_from_or_written_to_a_caller_without_allowance(
    pair: tuple[PacedSocket, socket.socket],
) -> None:
    paced, caller = pair
    caller.sendall(b"late")
    paced.allow(0)
    with pytest.raises(TooSlow):
        paced.recv(10)
    with pytest.raises(TooSlow):
        paced.sendall(b"answer")


def test_a_caller_who_reads_nothing_is_given_up(pair: tuple[PacedSocket, socket.socket]) -> None:
    paced, _ = pair
    paced.allow(0.01)
    with pytest.raises(TooSlow):
        paced.sendall(bytes(50_000_000))


@pytest.mark.parametrize(
    ("sent", "gathered"),
    [
        ([b"GET / HT"], False),
        ([b"GET / HTTP/1.1\r\n\r", b"\n"], True),
        ([b"\r\n", b"GET / HTTP/1.1\r\n\r\nbody"], True),
        ([b"GET / HTTP/1.1\r", b"\nHost: a\r\n"], False),
        ([b"GET / HTTP/1.1\n"], True),
        ([b"x" * (HEAD_BYTES + 1)], True),
    ],
    ids=["part", "in pieces", "empty line", "line in pieces", "bare line feed", "too long"],
)
def test_heads_are_gathered_until_there_is_something_to_answer(
    pair: tuple[PacedSocket, socket.socket], sent: list[bytes], gathered: bool
) -> None:
    paced, caller = pair
    for piece in sent:
        caller.sendall(piece)
        whole = paced.gather()
    assert whole is gathered


def test_what_was_gathered_is_read_first(pair: tuple[PacedSocket, socket.socket]) -> None:
    paced, caller = pair
    caller.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert paced.gather()
    caller.sendall(b"body")
    assert paced.recv(14) == b"GET / HTTP/1.1"
    assert paced.recv(100) == b"\r\n\r\n"
    assert paced.recv(100) == b"body"


def test_the_end_of_a_connection_ends_the_gathering(pair: tuple[PacedSocket, socket.socket]) -> None:
    paced, caller = pair
    caller.sendall(b"GET /")
    caller.shutdown(socket.SHUT_WR)
    assert paced.gather()
    assert (paced.recv(100), paced.recv(100)) == (b"GET /", b"")


def test_after_its_end_nothing_is_read_or_waited_for(pair: tuple[PacedSocket, socket.socket]) -> None:
    paced, caller = pair
    caller.sendall(b"more")
    caller.shutdown(socket.SHUT_WR)
    paced.end()
    assert paced.recv(100) == b""
    assert caller.recv(100) == b""
