"""Scripts are sent once, and by their digest from then on."""

import fakeredis
import pytest
import redis

from app.redis_store.scripts import Script
from tests.support.redis_server import RedisServer

_PAIR = "return {KEYS[1], ARGV[1]}"


@pytest.fixture(params=["fake", "real"])
def client(request):
    if request.param == "fake":
        yield fakeredis.FakeRedis(version=(7,))
        return
    server: RedisServer = request.getfixturevalue("redis_server")
    with redis.Redis.from_url(server.url()) as client:
        yield client


def test_a_script_gets_its_keys_and_arguments_whether_redis_knows_it_or_not(client):
    client.script_flush()
    script = Script(client, _PAIR)

    assert [script(["a"], ["\N{SNOWMAN}"]) for _ in range(2)] == [[b"a", "\N{SNOWMAN}".encode()]] * 2
    client.script_flush()
    assert script(["b"], [7]) == [b"b", b"7"]


def test_what_a_script_does_is_done_once(client):
    client.delete("times")
    client.script_flush()
    script = Script(client, "return redis.call('INCR', KEYS[1])")

    assert [script(["times"]), script(["times"])] == [1, 2]


def test_an_error_of_the_script_is_raised(client):
    with pytest.raises(redis.ResponseError):
        Script(client, "return redis.call('NO-SUCH-COMMAND')")()
