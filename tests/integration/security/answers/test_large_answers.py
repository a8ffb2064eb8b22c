"""An answer that would fill the memory of a process ends as a stored failure of the provider, however it is packed."""

import gzip
from functools import cache

import pytest

from app.providers.bounds import ANSWER_BYTES
from tests.fakes.models import MODELS
from tests.fakes.wire import Reply
from tests.integration.replays.recording import THANKS, make_case, replayed
from tests.integration.replays.recording import prompt as prompt_with_tools
from tests.integration.replays.recording import record as record_session
from tests.integration.runs.asking import prompt, record, run
from tests.integration.runs.test_runs_streaming import events, stream
from tests.support.backends import SQLITE_CONTAINER

# No answer that is too large gets as far as a database.
pytestmark = SQLITE_CONTAINER
UNREAD = "was not read to its end"
REPLIES = ("packed", "plain")


@cache
def large(name):
    """Made when a test asks for it: packing lasts seconds, and each process of a test run imports this file."""
    if name == "plain":
        return Reply(raw=b'{"choices": "' + b"x" * (ANSWER_BYTES + 1) + b'"}')
    bomb = gzip.compress(b'{"choices": "' + bytes(314_000_000) + b'"}')
    return Reply(raw=bomb, headers={"content-encoding": "gzip"})


@pytest.mark.parametrize("vendor", ["OPENAI", "ANTHROPIC", "GOOGLE"])
@pytest.mark.parametrize("name", REPLIES)
def test_300_kb_of_gzip_that_are_314_mb_end_a_run_as_a_stored_failure(world, upstream, vendor, name):
    upstream.script(large(name))
    answer = run(world, prompt(world, model=MODELS[vendor]))

    assert (answer.status_code, UNREAD in answer.json["error"]) == (502, True)
    assert record(world, answer)["error"] == {"kind": "provider", "message": answer.json["error"]}


@pytest.mark.parametrize("vendor", ["OPENAI", "ANTHROPIC", "GOOGLE"])
@pytest.mark.parametrize("name", REPLIES)
def test_they_end_a_stream_as_well(world, upstream, vendor, name):
    upstream.script(large(name))
    found = events(stream(world, prompt(world, model=MODELS[vendor])))

    assert (found[-1][0], found[-1][2]["status"], UNREAD in found[-1][2]["error"]) == ("error", 502, True)


def test_they_end_a_replay_as_well(world, upstream):
    case_id = make_case(world, record_session(world, prompt_with_tools(world), [THANKS]))["id"]
    upstream.script(large("packed"))
    replay = replayed(world, case_id)

    assert (replay["status"], UNREAD in replay["turns"][0]["error"]) == ("error", True)
