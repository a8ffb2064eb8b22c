"""Places at an OpenID provider: how many each caller has, and who gets a free one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from app.errors import Unavailable
from app.services.accounts.provider_places import CallerLimits, ProviderPlaces, SignInCaller
from tests.support.waiting import PATIENCE_S, wait_until

HELD, WAITING = CallerLimits(all=6, strangers=4, each=2), CallerLimits(all=5, strangers=3, each=2)
KNOWN = [SignInCaller(f"account:{number}", known=True) for number in range(9)]
STRANGERS = [SignInCaller(f"network:{number}", known=False) for number in range(9)]


def places(wait_s: float = 0) -> ProviderPlaces:
    return ProviderPlaces(held=HELD, waiting=WAITING, wait_s=wait_s)


def admitted(places: ProviderPlaces, callers: list[SignInCaller]) -> list[bool]:
    """Return for each caller whether it gets a place while the callers before it keep theirs."""
    answers = []
    with ExitStack() as held:
        for caller in callers:
            try:
                held.enter_context(places.of(caller))
                answers.append(True)
            except Unavailable:
                answers.append(False)
    return answers


@contextmanager
def waiting(places: ProviderPlaces, callers: list[SignInCaller]) -> Iterator[list[SignInCaller]]:
    """Let the callers wait one after the other; yield the list of callers that got a place, in this order."""
    served: list[SignInCaller] = []

    def serve(caller: SignInCaller) -> None:
        with places.of(caller):
            served.append(caller)

    with ThreadPoolExecutor(len(callers)) as threads:
        for number, caller in enumerate(callers):
            threads.submit(serve, caller)
            wait_until(lambda number=number: len(places._line) == number + 1, "the caller waits")
        yield served


def test_each_caller_has_few_places() -> None:
    assert admitted(places(), [STRANGERS[0]] * 3 + [KNOWN[0]] * 3) == [True, True, False] * 2


def test_a_part_of_the_places_is_for_known_callers() -> None:
    assert admitted(places(), [*STRANGERS[:5], *KNOWN[:3]]) == [True] * 4 + [False] + [True] * 2 + [False]


def test_known_callers_may_have_all_places() -> None:
    assert admitted(places(), [*KNOWN[:7], STRANGERS[0]]) == [True] * 6 + [False] * 2


def test_places_are_free_again() -> None:
    shared = places()

    for _ in range(3):
        assert admitted(shared, [*STRANGERS[:4], *KNOWN[:2]]) == [True] * 6


def test_an_error_frees_the_place() -> None:
    shared = places()
    for _ in range(3):
        with pytest.raises(ValueError, match="x"), shared.of(STRANGERS[0]):
            raise ValueError("x")

    assert admitted(shared, [STRANGERS[0]] * 2) == [True, True]


def test_who_waits_gets_the_next_place_in_the_order_of_arrival() -> None:
    shared = places(wait_s=PATIENCE_S)
    with ExitStack() as held, ExitStack() as last:
        for caller in STRANGERS[:3]:
            held.enter_context(shared.of(caller))
        last.enter_context(shared.of(STRANGERS[3]))
        with waiting(shared, STRANGERS[4:7]) as served:
            last.close()

        assert served == STRANGERS[4:7]
    assert shared._line == []


def test_a_caller_that_may_have_no_more_holds_up_no_other_one_in_the_line() -> None:
    shared = places(wait_s=PATIENCE_S)
    with ExitStack() as held, ExitStack() as last:
        for caller in [STRANGERS[0], STRANGERS[0], STRANGERS[1]]:
            held.enter_context(shared.of(caller))
        last.enter_context(shared.of(STRANGERS[2]))
        with waiting(shared, [STRANGERS[0], STRANGERS[3]]) as served:
            last.close()
            wait_until(lambda: served, "a place is handed on")
            assert served == [STRANGERS[3]]
            held.close()
    assert served == [STRANGERS[3], STRANGERS[0]]


def test_few_of_a_caller_and_of_strangers_wait() -> None:
    shared = places(wait_s=PATIENCE_S)
    with ExitStack() as held:
        for caller in [STRANGERS[0], STRANGERS[0], STRANGERS[1], STRANGERS[2], KNOWN[0], KNOWN[1]]:
            held.enter_context(shared.of(caller))
        with waiting(shared, [STRANGERS[0], STRANGERS[0], STRANGERS[1], KNOWN[2], KNOWN[3]]) as served:
            for caller in (STRANGERS[0], STRANGERS[3], KNOWN[4]):
                with pytest.raises(Unavailable, match="Too many people sign in"), shared.of(caller):
                    pass
            held.close()

    assert len(served) == 5


def test_who_waited_in_vain_leaves_the_line() -> None:
    shared = places()
    with shared.of(STRANGERS[0]), shared.of(STRANGERS[0]):
        for _ in range(9):
            with pytest.raises(Unavailable), shared.of(STRANGERS[0]):
                pass

    assert shared._line == []
    assert admitted(shared, [STRANGERS[0]] * 2) == [True, True]
