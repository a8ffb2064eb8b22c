"""The message of a run's end carries the run exactly as stored, so that no row is read for its caller."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import msgspec
import pytest

from app.services.runs.records import RECORD_MAX, read_record, write_record
from tests.fakes.models import MODELS
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, run
from tests.integration.runs.test_runs_faults import started
from tests.support.waiting import wait_until

WAIT_S = 120


@pytest.fixture
def service(world):
    return world.container.services.runs


@pytest.fixture
def announced(service, monkeypatch):
    """The records of the runs that end."""
    records, announce = [], service.ending.completions.announce

    def note(run_id, record=b""):
        records.append(record)
        announce(run_id, record)

    monkeypatch.setattr(service.ending.completions, "announce", note)
    return records


@pytest.fixture
def rows_read(service, monkeypatch):
    """Each reading of a run's row is noted here."""
    read, get = [], type(service).get

    def note(self, **which):
        read.append(which["run_id"])
        return get(self, **which)

    monkeypatch.setattr(type(service), "get", note)
    return read


def answer_awaited(world, upstream, text):
    """The answer of a run that ends when its caller waits for it."""
    caller_waits = threading.Event()
    upstream.script(Reply(text=text, held=caller_waits))
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(run, world, prompt(world, model="gpt-4o-mini"))
        wait_until(lambda: world.container.services.runs.ending.completions._waiting, "the caller's wait")
        caller_waits.set()
        return answer.result(WAIT_S)


def stored(world, answer):
    run_id = int(answer.headers["X-Run-Id"])
    return world.container.services.runs.get(project_id=world.project_id, run_id=run_id)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(text="Sunny 🌞 \0 <b>"),
        Reply(status=400, message="No luck"),
        Reply(tool_calls=[("look_up", {"order": 7, "deep": [{"a": 1.5, "b": None}]})]),
        Reply(text="one two", cached=2, reasoning_tokens=1),
    ],
    ids=["text", "failed", "tool call", "tokens"],
)
def test_the_record_of_a_run_is_the_run_that_is_stored(world, upstream, announced, reply):
    upstream.script(reply)
    answer = run(world, prompt(world, model="gpt-4o-mini"))

    assert read_record(announced[-1]) == stored(world, answer)


def test_that_of_a_run_which_another_model_answered_names_that_model(world, upstream, announced):
    upstream.script(Reply(status=400), Reply(text="From the second."))
    answer = run(world, prompt(world, model=MODELS["OPENAI"], fallbackModelName=MODELS["ANTHROPIC"]))

    assert read_record(announced[-1]) == stored(world, answer)
    assert read_record(announced[-1]).vendor == "ANTHROPIC"


def test_a_caller_that_waits_is_answered_without_its_row(world, upstream, rows_read):
    answer = answer_awaited(world, upstream, "Sunny")

    assert (answer.json["answer"], rows_read) == ("Sunny", [])


def test_a_long_answer_is_read_from_its_row(world, upstream, announced, rows_read):
    said = "word " * RECORD_MAX
    answer = answer_awaited(world, upstream, said)

    assert answer.json["answer"] == said
    assert announced == [b""]
    assert rows_read == [int(answer.headers["X-Run-Id"])]


def test_a_record_that_cannot_be_read_is_read_from_its_row(world, upstream, service, rows_read, monkeypatch):
    announce = service.ending.completions.announce
    other = msgspec.msgpack.encode({"columns": "of another version"})
    monkeypatch.setattr(service.ending.completions, "announce", lambda run_id, record: announce(run_id, other))

    assert answer_awaited(world, upstream, "Sunny").json["answer"] == "Sunny"
    assert rows_read


def test_only_what_a_record_can_hold_is_written_to_one(world, service):
    row = service.get(project_id=world.project_id, run_id=started(world).run_id)
    assert read_record(write_record(row)) == row

    large = msgspec.structs.replace(row.request, config={"seed": 1 << 70})
    for too_much in (replace(row, request=large), replace(row, question="🌞" * (RECORD_MAX // 4))):
        assert write_record(too_much) == b""
    assert read_record(b"") is None
