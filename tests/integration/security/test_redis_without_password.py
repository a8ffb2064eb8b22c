"""The Redis of the compose file, as started there, lets no client in without the password."""

from pathlib import Path

import pytest
import redis
import yaml

from tests.support.deployment import ROOT
from tests.support.process import ChildProcess
from tests.support.waiting import LOOPBACK, accepts, free_port

COMMAND = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())["services"]["redis"]["command"]


@pytest.mark.program("redis-server")
def test_a_stranger_on_the_network_reads_nothing(tmp_path: Path) -> None:
    secret, port = tmp_path / "redis_conf", free_port()
    secret.write_text("requirepass hard-to-guess\n")
    argv = [str(secret) if word == "/run/secrets/redis_conf" else word for word in COMMAND]
    here = ["--port", str(port), "--bind", LOOPBACK, "--dir", str(tmp_path)]
    with ChildProcess("redis", [*argv, *here], log=tmp_path / "redis.log", ready=lambda: accepts(port)):
        with redis.Redis(host=LOOPBACK, port=port) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
        with redis.Redis.from_url(f"redis://:hard-to-guess@{LOOPBACK}:{port}/0") as known:
            assert known.ping()
            assert known.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
            assert known.config_get("requirepass") == {"requirepass": "hard-to-guess"}
