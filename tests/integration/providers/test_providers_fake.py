"""The fake upstream as a separate process, as benchmarks and black-box tests start it."""

import json
import subprocess
import sys
from urllib.request import Request, urlopen

import pytest

from tests.fakes.models import request
from tests.fakes.upstream import Upstream


@pytest.fixture
def process():
    command = [sys.executable, "-m", "tests.fakes.upstream", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        yield running.stdout.readline().strip()
        running.terminate()


def test_it_is_scripted_and_read_over_http(process, models):
    replies = json.dumps([{"text": "as told", "latency_s": 0.01}]).encode()
    urlopen(Request(f"{process}/script", data=replies)).close()
    there = Upstream(port=int(process.rpartition(":")[2]))

    assert models.complete(request(there, "ANTHROPIC")).text == "as told"
    assert models.complete(request(there, "ANTHROPIC")).text == "echo: Say hello."

    with urlopen(f"{process}/requests") as answer:
        assert [recorded["vendor"] for recorded in json.load(answer)] == ["ANTHROPIC", "ANTHROPIC"]


def test_only_the_key_it_accepts_gets_through(upstream, models):
    upstream.accepts = "sk-other"
    try:
        with pytest.raises(Exception, match=r"Incorrect API key provided: \*\*\*"):
            models.complete(request(upstream, "OPENAI"))
    finally:
        upstream.accepts = None
