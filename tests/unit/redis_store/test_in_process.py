"""In the Redis of the embedded mode a change wakes those who may wait for it, and no other caller."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

import pytest
import redis
from fakeredis._core._database import Database

from app.concurrency.quotas import Quota
from app.redis_store import keys
from app.redis_store.in_process import in_process_client
from app.redis_store.keys import QueueKeys
from app.redis_store.shared_window import SharedWindow
from app.redis_store.slots import ModelSlots
from tests.support.waiting import wait_until

QUEUE = QueueKeys("runs")
WAIT_S = 600


@pytest.fixture
def client() -> Iterator[redis.Redis]:
    with in_process_client() as client:
        yield client


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[Database]:
    """The servers' databases, once for each time that all who are blocked there were woken."""
    woken: list[Database] = []
    wake_all = Database.wake_all

    def note(database: Database) -> None:
        woken.append(database)
        wake_all(database)

    monkeypatch.setattr(Database, "wake_all", note)
    return woken


def test_fakeredis_has_the_version_of_the_undocumented_parts_in_use() -> None:
    """After a change of version: read what `in_process` extends, then change this.

    That is _core/_database.py and commands_mixins/scripting_mixin.py.
    """
    assert version("fakeredis") == "2.40.0"


@pytest.mark.parametrize(
    ("wait", "change"),
    [
        pytest.param(
            lambda client: client.blpop([QUEUE.wake("a")], WAIT_S),
            lambda client: client.lpush(QUEUE.wake("a"), 1),
            id="an idle process",
        ),
        pytest.param(
            lambda client: client.xread({keys.run_events(1): "0"}, block=WAIT_S * 1000),
            lambda client: client.xadd(keys.run_events(1), {"kind": "text"}),
            id="a follower of a run",
        ),
        pytest.param(
            lambda client: client.blpop(["0123456789abcdef"], WAIT_S),
            lambda client: client.lpush("0123456789abcdef", 1),
            id="a result with a digest as its key",
        ),
    ],
)
def test_a_client_that_waits_is_woken(
    client: redis.Redis, wait: Callable[[redis.Redis], object], change: Callable[[redis.Redis], object]
) -> None:
    found: list[object] = []
    waiting = threading.Thread(target=lambda: found.append(wait(client)), daemon=True)
    waiting.start()
    server = client.connection_pool.connection_kwargs["server"]
    wait_until(lambda: any(socket._blocked for socket in server.sockets), "a client that is blocked")
    change(client)
    waiting.join(WAIT_S / 2)

    assert len(found) == 1
    assert found[0]


@pytest.mark.parametrize(
    "key",
    [
        keys.METRICS_TOTAL,
        keys.METRICS_GAUGES,
        keys.metrics_minute(1),
        keys.rate(1),
        keys.ingest_rate(1),
        keys.epoch(1),
        keys.model_slots("model"),
        keys.model_slots_of("model", 1),
        keys.workers("runs"),
        keys.BATCH_TICKETS,
        keys.batch_body("1"),
        keys.batch_message("1"),
        keys.batch_stored("1"),
        QUEUE.arrived,
        QueueKeys("runs.DQ").arrived,
        QUEUE.messages,
        QUEUE.idle,
        QUEUE.organizations,
        QUEUE.of_organization("1"),
        QUEUE.fetched("a"),
    ],
)
def test_no_client_waits_for_keys_that_are_only_read(key: str) -> None:
    assert not keys.may_be_waited_for(key.encode())


def test_a_change_that_no_caller_waits_for_wakes_none(client: redis.Redis, woken: list[Database]) -> None:
    window = SharedWindow(client, 60)
    slots = ModelSlots(client, quota=Quota.of(4, 25))

    window.hit(1)
    with slots.of("model", 1, timeout_s=1):
        client.set(keys.epoch(1), b"epoch")
    client.hset(QUEUE.messages, "1:a", b"message")
    client.rpush(QUEUE.arrived, "1:a")

    assert woken == []
    client.lpush(QUEUE.wake("a"), 1)
    assert len(woken) == 1


def test_a_transaction_that_watches_a_key_sees_its_change(client: redis.Redis) -> None:
    with client.pipeline() as pipe:
        pipe.watch(keys.epoch(1))
        client.set(keys.epoch(1), b"other")
        pipe.multi()
        pipe.get(keys.epoch(1))
        with pytest.raises(redis.WatchError):
            pipe.execute()


def test_threads_that_connect_at_once_share_one_database(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = 3
    made = threading.Barrier(threads)
    make = Database.__init__

    def make_late(database: Database, lock: threading.Lock) -> None:
        if threading.current_thread() is not threading.main_thread():
            made.wait(WAIT_S)
        make(database, lock)

    monkeypatch.setattr(Database, "__init__", make_late)
    with in_process_client() as client, ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda name: client.set(name, 1), range(threads)))

        assert client.dbsize() == threads


def test_a_script_is_compiled_when_it_is_first_executed(client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    window = SharedWindow(client, 60)
    window.hit(1)
    compiled: list[bytes] = []
    runtime = client.connection_pool.connection_kwargs["server"]._lua_runtime
    monkeypatch.setattr(runtime, "compile", compiled.append, raising=False)

    assert [window.hit(key).remaining for key in (1, 1, 2)] == [58, 57, 59]
    assert compiled == []


def test_each_execution_of_a_script_has_its_keys_arguments_and_answer(client: redis.Redis) -> None:
    script = "local n = redis.call('INCRBY', KEYS[1], ARGV[1]) return {n, KEYS[1], #ARGV, redis.status_reply('so')}"

    assert client.eval(script, 1, "a", 2) == [2, b"a", 1, b"so"]
    assert client.eval(script, 1, "b", 3, 4) == [3, b"b", 2, b"so"]
    assert client.eval(script, 1, "a", 2) == [4, b"a", 1, b"so"]


def test_a_script_that_fails_raises_each_time(client: redis.Redis) -> None:
    client.set("text", "abc")
    for _ in range(2):
        with pytest.raises(redis.ResponseError, match="not an integer"):
            client.eval("return redis.call('INCR', KEYS[1])", 1, "text")
        with pytest.raises(redis.ResponseError):
            client.eval("this is no Lua", 0)
