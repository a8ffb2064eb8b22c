"""The memory of a process for the answers that it receives at once."""

import pytest

from app.concurrency.quotas import Quota, Shares
from app.providers.answer_memory import AT_ONCE_BYTES, STEP_BYTES, AnswerMemory, HeldAnswer
from app.providers.failures import ProviderFailure

PLACES = 10 * STEP_BYTES


@pytest.fixture
def memory() -> AnswerMemory:
    return AnswerMemory(Shares(Quota.of(PLACES, 25)))


def taken(memory: AnswerMemory) -> int:
    return memory._shares.taken


def test_both_parts_of_an_answer_count_until_its_end(memory: AnswerMemory) -> None:
    with HeldAnswer(memory, 1) as place:
        assert taken(memory) == 0
        place.received.grow(STEP_BYTES + 1)
        place.texts.grow(3 * STEP_BYTES)
        assert taken(memory) == 3 * STEP_BYTES
        assert (place.received.until, place.texts.until) == (2 * STEP_BYTES, 3 * STEP_BYTES)
    assert taken(memory) == 0


def test_an_answer_without_room_is_refused_and_one_of_another_organization_is_not(memory: AnswerMemory) -> None:
    with HeldAnswer(memory, 1) as long, HeldAnswer(memory, 1) as refused, HeldAnswer(memory, 2) as other:
        long.texts.grow(PLACES)
        with pytest.raises(ProviderFailure, match="too many long answers"):
            refused.received.grow(3 * STEP_BYTES)
        other.texts.grow(2 * STEP_BYTES)
        assert (long.held, refused.held, other.held) == (PLACES - STEP_BYTES, 0, STEP_BYTES)
    assert taken(memory) == 0


def test_what_a_failed_answer_had_is_free_again(memory: AnswerMemory) -> None:
    with pytest.raises(ProviderFailure), HeldAnswer(memory, 1) as place:
        fail_after(place, PLACES)
    assert taken(memory) == 0


def fail_after(place: HeldAnswer, size: int) -> None:
    place.texts.grow(size)
    raise ProviderFailure("broken")


def test_a_process_has_room_for_several_of_the_longest_answers() -> None:
    memory = AnswerMemory()
    with HeldAnswer(memory, 1) as first, HeldAnswer(memory, 1) as second:
        for place in (first, second):
            place.received.grow(16 * 1024 * 1024)
        assert taken(memory) < AT_ONCE_BYTES
