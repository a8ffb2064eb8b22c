"""Callers that send or read a byte now and then keep no thread, however many they are."""

import contextlib
import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from tests.support.deployment import EmbeddedServer
from tests.support.waiting import LOOPBACK, wait_until

PROMPTS = "/api/v1/prompts"
THREADS = 4
SLOW = 3 * THREADS
PAUSE_S = 0.2
# What the slow ones here send and read is far less.
SETTINGS = {
    "REPRISE_WEB_THREADS": str(THREADS),
    "REPRISE_WEB_PROCESSES": "1",
    "REPRISE_RATE_LIMIT": "1000000",
    "REPRISE_HEAD_S": "300",
    "REPRISE_SILENCE_S": "1",
    "REPRISE_MIN_BYTES_PER_S": "100000",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Only embedded: gunicorn accepts connections by the same settings in front of every database.

    Waits for heads longer than any test.
    """
    with EmbeddedServer(tmp_path_factory.mktemp("server"), SETTINGS) as server:
        yield server


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Gives a head a second."""
    with EmbeddedServer(tmp_path_factory.mktemp("hasty"), SETTINGS | {"REPRISE_HEAD_S": "1"}) as server:
        yield server


def head(server: EmbeddedServer, *lines: str, method: str = "POST", path: str = PROMPTS, key: str = "") -> bytes:
    key = key or server.client().api_key
    known = ("Host: localhost", f"Authorization: Bearer {key}", "Content-Type: application/json")
    return "\r\n".join([f"{method} {path} HTTP/1.1", *known, *lines, "", ""]).encode()


def connect(server: EmbeddedServer) -> socket.socket:
    return socket.create_connection((LOOPBACK, urlsplit(server.url).port or 0), timeout=120)


@contextlib.contextmanager
def connected(server: EmbeddedServer, count: int = SLOW) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(connect(server)) for _ in range(count)]


@contextlib.contextmanager
def again_and_again(step: Callable[[socket.socket], object], connections: list[socket.socket]) -> Iterator[None]:
    """Make a step on each connection every now and then, until it ends or the block does."""
    stop = threading.Event()

    def dribble() -> None:
        left = list(connections)
        while left and not stop.wait(PAUSE_S):
            for connection in list(left):
                try:
                    step(connection)
                except OSError:
                    left.remove(connection)

    thread = threading.Thread(target=dribble)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def send_a_byte(connection: socket.socket) -> None:
    connection.sendall(b"x")


def take_a_little(connection: socket.socket) -> None:
    """Enough for the sender to go on: of single bytes it does not hear."""
    connection.recv(2048)


def rest(connection: socket.socket) -> bytes:
    """All that comes until the server ends the connection."""
    heard = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            heard += piece
    return bytes(heard)


def first_answer(connection: socket.socket) -> int:
    with http.client.HTTPResponse(connection) as answer:
        answer.begin()
        answer.read()
        return answer.status


def answers(server: EmbeddedServer) -> int:
    return server.client().get(f"{PROMPTS}?limit=1").status


def test_slow_heads_occupy_no_thread(server: EmbeddedServer) -> None:
    whole = head(server, method="GET", path=f"{PROMPTS}?limit=1")
    with connected(server) as slow:
        for connection in slow:
            connection.sendall(whole[:-1])
        assert answers(server) == 200

        # No connection was cut off meanwhile.
        for connection in slow:
            connection.sendall(whole[-1:])
        assert [first_answer(connection) for connection in slow] == [200] * SLOW


def test_silent_connections_occupy_no_thread(server: EmbeddedServer) -> None:
    with connected(server) as silent:
        assert answers(server) == 200
        for connection in silent:
            connection.sendall(head(server, method="GET", path="/health/live"))
        assert [first_answer(connection) for connection in silent] == [200] * SLOW


def test_the_beginning_of_another_request_behind_the_first_occupies_no_thread(server: EmbeddedServer) -> None:
    request = head(server, method="GET", path="/health/live")
    with connected(server) as slow:
        for connection in slow:
            connection.sendall(request + request[:-1])
        assert [first_answer(connection) for connection in slow] == [200] * SLOW
        assert answers(server) == 200

        for connection in slow:
            connection.sendall(request[-1:])
        assert [first_answer(connection) for connection in slow] == [200] * SLOW


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nX-Slow: "], ids=["silent", "dribbling"])
def test_a_head_has_its_time_as_a_whole(hasty: EmbeddedServer, begun: bytes) -> None:
    with connected(hasty) as slow:
        for connection in slow:
            connection.sendall(begun)
        with again_and_again(send_a_byte if begun else lambda _: None, slow):
            assert [rest(connection) for connection in slow] == [b""] * SLOW


def test_the_head_of_a_later_request_has_its_time_too(hasty: EmbeddedServer) -> None:
    request = head(hasty, method="GET", path="/health/live")
    slow: list[socket.socket] = []
    with contextlib.ExitStack() as stack:

        def one_more_is_answered() -> bool:
            connection = stack.enter_context(connect(hasty))
            with contextlib.suppress(ConnectionError):  # this process took longer than a head may
                connection.sendall(request)
                assert first_answer(connection) == 200
                slow.append(connection)
            return len(slow) == SLOW

        wait_until(one_more_is_answered, "the first requests")
        with again_and_again(send_a_byte, slow):
            assert [rest(connection) for connection in slow] == [b""] * SLOW


def test_who_falls_silent_in_the_middle_of_a_header_is_cut_off_without_a_word_in_the_log(hasty: EmbeddedServer) -> None:
    with connected(hasty, 1) as [connection]:
        connection.sendall(b"GET / HTTP/1.1\r\nHos")

        assert rest(connection) == b""
    assert "Socket error" not in hasty.process.output_tail()


@pytest.mark.parametrize(
    "body", ["Content-Length: 1000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nfffff\r\n"], ids=["length", "chunks"]
)
def test_slow_bodies_are_cut_off_and_others_are_answered(server: EmbeddedServer, body: str) -> None:
    with connected(server) as slow:
        for connection in slow:
            connection.sendall(head(server)[:-2] + body.encode())
        with again_and_again(send_a_byte, slow):
            assert answers(server) == 200
            assert [rest(connection)[9:12] for connection in slow] == [b"400"] * SLOW


def test_slow_forms_of_strangers_are_cut_off_and_others_are_answered(server: EmbeddedServer) -> None:
    form = b"POST /sign-in HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    with connected(server) as slow:
        for connection in slow:
            connection.sendall(form + b"Content-Length: 8000\r\n\r\n")
        with again_and_again(send_a_byte, slow):
            assert answers(server) == 200
            assert [rest(connection)[9:12] for connection in slow] == [b"400"] * SLOW


def test_who_is_refused_hears_so_before_the_slow_body_and_is_cut_off(server: EmbeddedServer) -> None:
    with connected(server, 2 * SLOW) as slow:
        for connection in slow:
            connection.sendall(head(server, "Content-Length: 1000000", key="unknown"))
        with again_and_again(send_a_byte, slow):
            assert answers(server) == 200
            assert [first_answer(connection) for connection in slow] == [401] * 2 * SLOW
            assert [rest(connection) for connection in slow] == [b""] * 2 * SLOW


def test_slow_readers_are_cut_off_and_others_are_answered(server: EmbeddedServer) -> None:
    values = [{"name": "v", "content": "&" * 10_000, "isDefault": True}]
    long = {"name": "long", "value": "{{k}}" * 190, "placeholders": [{"key": "k", "values": values}]}
    prompt_id = server.client().post(PROMPTS, long).json()["prompt"]["id"]
    request = head(server, "Content-Length: 0", path=f"{PROMPTS}/{prompt_id}/render")
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(socket.socket()) for _ in range(SLOW)]
        for connection in slow:
            # Far less than the ten megabytes of the answer fit into the buffers on the way.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((LOOPBACK, urlsplit(server.url).port))
            connection.sendall(request)
        with again_and_again(take_a_little, slow):
            assert answers(server) == 200
        # The last ones are served together with the other caller, and are read whole if they are read now.
        assert sum(len(rest(connection)) < 9_000_000 for connection in slow) > SLOW - THREADS


def test_a_caller_who_never_closes_does_not_keep_others_from_being_accepted(server: EmbeddedServer) -> None:
    with connected(server, 30) as idle:
        for connection in idle:
            connection.sendall(b"hello\r\n\r\n")
        assert answers(server) == 200
        assert [first_answer(connection) for connection in idle] == [400] * 30
        assert [rest(connection) for connection in idle] == [b""] * 30


def test_a_body_of_crumbs_is_refused(server: EmbeddedServer) -> None:
    chunks = b"1\r\n \r\n" * 20_000 + b"0\r\n\r\n"
    with connected(server, 1) as [connection]:
        connection.sendall(head(server, "Transfer-Encoding: chunked") + chunks)
        assert first_answer(connection) == 400


def test_a_head_without_an_end_is_refused(server: EmbeddedServer) -> None:
    with connected(server, 1) as [connection]:
        connection.sendall(b"GET / HTTP/1.1\r\n" + b"X-Long: 1\r\n" * 6500)
        assert first_answer(connection) == 431


@pytest.mark.parametrize("padding", [8192, 16384])
def test_requests_in_a_row_are_answered_however_long_they_are(server: EmbeddedServer, padding: int) -> None:
    """Reads of connections have such sizes: a request may end exactly where one does."""
    bare = head(server, "A: ", "B: ", "C: ", method="GET", path="/health/live", key="k")
    third, over = divmod(padding - len(bare), 3)
    padded = [f"{name}: {'x' * size}" for name, size in (("A", third), ("B", third), ("C", third + over))]
    request = head(server, *padded, method="GET", path="/health/live", key="k")
    assert len(request) == padding
    with connected(server, 1) as [connection]:
        connection.sendall(request * 5)
        assert [next_status(connection) for _ in range(5)] == [200] * 5


def next_status(connection: socket.socket) -> int:
    """Read one of several answers that may have come together, byte by byte, so that nothing of the next is read."""
    heard = bytearray()
    while not heard.endswith(b"\r\n\r\n"):
        heard += connection.recv(1)
    length = int(heard.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while length:
        length -= len(connection.recv(length))
    return int(heard[9:12])


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/join/unknown"])
def test_forms_of_strangers_are_small(server: EmbeddedServer, path: str) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = server.client("").post(path, body=b"email=" + b"a" * 10_000, headers=form)
    assert answer.status == 413
