"""A process receives long answers within a bound that belongs to all of them."""

import pytest

from app.concurrency.quotas import Quota, Shares
from app.providers.answer_room import STEP_BYTES, AnswerPlace, AnswerRoom
from app.providers.failures import ProviderFailure
from tests.fakes.models import request
from tests.fakes.upstream import Reply

LONG = " ".join(["x" * 1000] * (3 * STEP_BYTES // 1000))


@pytest.fixture
def room(models, monkeypatch):
    room = AnswerRoom(Shares(Quota.of(100 * STEP_BYTES, 25)))
    monkeypatch.setattr(models, "_room", room)
    return room


@pytest.fixture
def full(room):
    """Fill the room until the end of the block."""
    place = AnswerPlace(room, 0)
    place.texts.grow(101 * STEP_BYTES)
    return place


def test_a_long_answer_without_room_fails_and_a_short_one_does_not(upstream, ask, vendor, room, full):
    upstream.script(Reply(text=LONG), Reply(text="Short."), Reply(text=LONG))
    with full:
        asked = request(upstream, vendor)
        with pytest.raises(ProviderFailure, match="too many long answers"):
            ask(asked)
        assert ask(asked).text == "Short."
    assert room._shares.taken == 0

    assert ask(request(upstream, vendor)).text == LONG
    assert room._shares.taken == 0


def test_an_event_counts_before_its_end_has_come(upstream, models, full):
    event = b'data: {"choices": [{"delta": {"content": "' + b"x" * 3 * STEP_BYTES
    upstream.script(Reply(raw=event, headers={"content-type": "text/event-stream"}))
    asked = request(upstream, "OPENAI")
    with full, pytest.raises(ProviderFailure, match="too many long answers"):
        models.complete(asked)
