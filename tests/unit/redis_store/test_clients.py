"""While Redis hangs, one caller at a time waits for its time-out, the others fail at once, and none is forgotten."""

import secrets
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import fakeredis
import pytest
import redis

from app.concurrency.breaker import OutageBreaker
from app.metrics import Metrics
from app.metrics.registry import RATE_LIMIT_NOT_COUNTED
from app.redis_store.clients import UNCOPIED_BYTES, CommandPacker, GuardedRedis, RedisClients, connect
from app.redis_store.rate import RateLimiter
from app.redis_store.scripts import Script
from tests.support.redis_server import RedisServer
from tests.support.sentinel import watched_redis
from tests.support.waiting import PATIENCE_S, free_port, wait_until

pytestmark = pytest.mark.slow


class Hanging:
    """Accepts connections as a stopped Redis does, and never answers; counts them."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._accepted: list[socket.socket] = []
        self._peers: list[object] = []
        self._thread = threading.Thread(target=self._accept)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._listening.getsockname()[1]}/0"

    @property
    def asked(self) -> int:
        """The connections before one that is made now: they are accepted in their order."""
        with socket.create_connection(self._listening.getsockname()) as now:
            wait_until(lambda: now.getsockname() in self._peers, "the last one")
            return self._peers.index(now.getsockname())

    def _accept(self) -> None:
        while True:
            try:
                connection, peer = self._listening.accept()
            except OSError:
                return
            self._accepted.append(connection)
            self._peers.append(peer)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()
        for connection in self._accepted:
            connection.close()


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    with Hanging() as server:
        yield server


@pytest.fixture
def clients(hanging: Hanging) -> Iterator[RedisClients]:
    """No time passes for them in which Redis would be asked again."""
    clients = connect(hanging.url, waiters=1, longest_wait_s=1)
    for client in (clients.commands, clients.quick):
        guarded(client).breaker.monotonic = lambda: 0.0
    yield clients
    for client in (clients.commands, clients.quick, clients.waiting):
        client.close()


def guarded(client: redis.Redis) -> GuardedRedis:
    assert isinstance(client, GuardedRedis)
    return client


def test_after_one_time_out_redis_is_asked_no_more(clients: RedisClients, hanging: Hanging) -> None:
    with pytest.raises(redis.TimeoutError):
        clients.quick.get("a")

    for _ in range(50):
        with pytest.raises(redis.ConnectionError, match="not asked again"):
            clients.quick.get("a")
        with pytest.raises(redis.ConnectionError, match="not asked again"), clients.quick.pipeline() as pipe:
            pipe.get("a").get("b").execute()
    assert hanging.asked == 1


def test_a_pipeline_that_times_out_spares_the_others_too(clients: RedisClients, hanging: Hanging) -> None:
    with pytest.raises(redis.TimeoutError), clients.quick.pipeline() as pipe:
        pipe.get("a").get("b").execute()

    with pytest.raises(redis.ConnectionError, match="not asked again"):
        clients.quick.get("a")
    assert hanging.asked == 1


def test_the_rate_limit_lets_all_through_and_only_the_first_waits(clients: RedisClients, hanging: Hanging) -> None:
    metrics = Metrics()
    limiter = RateLimiter(clients, 1, metrics=metrics)

    assert all(limiter.hit(1).allowed for _ in range(50))
    assert metrics.pending() == {(RATE_LIMIT_NOT_COUNTED, (), ""): 50}
    assert hanging.asked == 1


def test_one_client_s_patience_is_not_the_other_s(clients: RedisClients) -> None:
    with pytest.raises(redis.TimeoutError):
        clients.quick.get("a")

    assert guarded(clients.commands).breaker is not guarded(clients.quick).breaker


def test_a_redis_that_refuses_connections_is_asked_each_time() -> None:
    client = connect(f"redis://127.0.0.1:{free_port()}/0", waiters=1, longest_wait_s=1).quick

    for _ in range(3):
        with pytest.raises(redis.ConnectionError, match="refused"):
            client.get("a")


def test_an_error_is_an_answer_of_a_redis_that_is_back(redis_server: RedisServer) -> None:
    now = [0.0]
    client = guarded(connect(redis_server.url(), waiters=1, longest_wait_s=1).quick)
    client.breaker = OutageBreaker(
        "Redis",
        is_outage=client.breaker.is_outage,
        refusal=redis.ConnectionError,
        cool_down_s=1,
        monotonic=lambda: now[0],
    )
    with pytest.raises(redis.TimeoutError), client.breaker.guard():
        raise redis.TimeoutError
    with pytest.raises(redis.ConnectionError):
        client.get("a")
    now[0] = 1

    # A Redis that was restarted knows no scripts: it reports that, and is sent this one.
    assert Script(client, f"return '{secrets.token_hex(4)}'")()
    client.close()


def test_an_answer_of_a_watched_redis_that_comes_too_late_is_dropped(needs_redis: None) -> None:
    with watched_redis() as watched, watched.client() as other:
        client = connect(watched.url(), waiters=1, longest_wait_s=1).commands
        connection = client.connection_pool.get_connection()
        connection.send_command("BLPOP", "list", 0)
        with pytest.raises(redis.TimeoutError):
            connection.read_response(timeout=0.01)
        client.connection_pool.release(connection)

        other.set("key", "value")
        assert client.get("key") == b"value"
        client.close()


def test_a_sentinel_that_hangs_is_asked_once(hanging: Hanging) -> None:
    url = f"{hanging.url.replace('redis://', 'redis+sentinel://').removesuffix('/0')}/reprise/0"

    with pytest.raises(redis.ConnectionError, match="No master found"):
        connect(url, waiters=1, longest_wait_s=1).waiting.ping()
    assert hanging.asked == 1


def test_a_wait_for_a_primary_that_hangs_ends_when_another_one_is_promoted(needs_redis: None) -> None:
    with watched_redis() as watched, ThreadPoolExecutor(1) as pool:
        clients = connect(watched.url(), waiters=1, longest_wait_s=PATIENCE_S)
        connection = clients.commands.connection_pool.get_connection()
        wait = pool.submit(clients.waiting.blpop, ["list"], PATIENCE_S)
        with watched.client() as other:
            wait_until(lambda: other.info("clients")["blocked_clients"], "the wait")
        hanging = watched.primary()
        hanging.pause()
        try:
            with pytest.raises(redis.ConnectionError):
                wait.result()
            # What is sent once more goes to the new one.
            connection.disconnect()
            connection.send_command("PING")
            assert connection.port == watched.primary().port != hanging.port
        finally:
            hanging.resume()
            clients.commands.connection_pool.release(connection)
            clients.close()


def test_the_embedded_mode_has_one_redis_for_all() -> None:
    clients = connect("", waiters=1, longest_wait_s=1)

    assert isinstance(clients.commands, fakeredis.FakeRedis)
    assert clients.commands is clients.quick is clients.waiting


@pytest.mark.services
@pytest.mark.parametrize("size", [0, 10, UNCOPIED_BYTES - 1, UNCOPIED_BYTES, 3 * 1024 * 1024])
def test_values_of_any_size_come_back_as_they_were(redis_server: RedisServer, size: int) -> None:
    value = bytes(range(256)) * (size // 256) + b"\r\n"[: size % 256]
    with redis_server.database() as url:
        client = connect(url, waiters=1, longest_wait_s=1).commands

        client.set("alone é", value, ex=60)
        with client.pipeline(transaction=False) as pipe:
            pipe.set("together", value, px=60_000)
            pipe.incrbyfloat("number", 1.5)
            pipe.execute()

        assert client.mget("alone é", "together", "number") == [value, value, b"1.5"]
        assert client.ttl("alone é") == 60
        client.close()


@pytest.mark.parametrize(("size", "is_copied"), [(UNCOPIED_BYTES - 1, True), (UNCOPIED_BYTES, False)])
def test_a_large_value_is_sent_without_a_copy(size: int, is_copied: bool) -> None:
    value = bytes(size)
    pieces = CommandPacker().pack("SET", "key", value, "EX", 60)
    assert any(piece is value for piece in pieces) is not is_copied
    assert b"".join(pieces) == b"*5\r\n$3\r\nSET\r\n$3\r\nkey\r\n$%d\r\n%b\r\n$2\r\nEX\r\n$2\r\n60\r\n" % (size, value)
