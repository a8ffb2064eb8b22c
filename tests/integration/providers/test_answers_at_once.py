"""A process receives long answers within a bound that belongs to all of them."""

import json

import pytest

from app.concurrency.quotas import Quota, Shares
from app.providers.answer_memory import STEP_BYTES, AnswerMemory, HeldAnswer
from app.providers.failures import ProviderFailure
from tests.fakes.models import request
from tests.fakes.upstream import Reply

LONG = " ".join(["x" * 1000] * (3 * STEP_BYTES // 1000))


@pytest.fixture
def memory(models, monkeypatch):
    memory = AnswerMemory(Shares(Quota.of(100 * STEP_BYTES, 25)))
    monkeypatch.setattr(models, "_memory", memory)
    return memory


@pytest.fixture
def full(memory):
    """Fill the memory until the end of the block."""
    place = HeldAnswer(memory, 0)
    place.texts.grow(101 * STEP_BYTES)
    return place


def test_a_long_answer_without_room_fails_and_a_short_one_does_not(upstream, ask, vendor, memory, full):
    upstream.script(Reply(text=LONG), Reply(text="Short."), Reply(text=LONG))
    with full:
        asked = request(upstream, vendor)
        with pytest.raises(ProviderFailure, match="too many long answers"):
            ask(asked)
        assert ask(asked).text == "Short."
    assert memory._shares.taken == 0

    assert ask(request(upstream, vendor)).text == LONG
    assert memory._shares.taken == 0


def test_an_event_counts_before_its_end_has_come(upstream, models, full):
    event = b'data: {"choices": [{"delta": {"content": "' + b"x" * 3 * STEP_BYTES
    upstream.script(Reply(raw=event, headers={"content-type": "text/event-stream"}))
    asked = request(upstream, "OPENAI")
    with full, pytest.raises(ProviderFailure, match="too many long answers"):
        models.complete(asked)


def test_text_that_waits_for_the_end_of_the_stream_is_free_again(upstream, models, memory):
    """Blanks wait for what may be the beginning of thoughts."""
    upstream.script(Reply(raw=stream_of(" " * 2 * STEP_BYTES), headers={"content-type": "text/event-stream"}))
    models.stream(request(upstream, "CUSTOM_OPENAI_COMPATIBLE"), lambda event: None)
    assert memory._shares.taken == 0


def stream_of(text):
    """A stream of OpenAI's with the text in one event."""
    choice = {"delta": {"content": text}, "finish_reason": "stop"}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\ndata: [DONE]\n\n"
