"""The tests of each core: twice the input is about twice the work, and no function that loops is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set

import pytest

from tests.support.cores import Core


def cost_tests(
    core: Core, not_growing: Mapping[str, Set[str]], *, may_grow: bool = False
) -> tuple[Callable[[str], None], Callable[[], None], Callable[[], None]]:
    """Return the tests of a core: of the growth of its works, of functions without a work, and of their reasons.

    `not_growing` has the functions that no work makes loop more, by the reason for it. With `may_grow` some of them do,
    if caches are empty.
    """
    reasons = set[str]().union(*not_growing.values())

    @pytest.mark.parametrize("name", core.works)
    def twice_the_input_is_at_most_about_twice_the_work(name: str) -> None:
        assert core.grown(name) == {}

    def each_function_that_loops_is_counted_or_has_a_reason() -> None:
        unseen = core.unseen()
        # A new function that loops fails here: add a work that makes its input larger, or its reason.
        assert unseen <= reasons
        assert may_grow or reasons <= unseen

    def each_reason_is_about_a_function_that_loops() -> None:
        assert reasons <= core.looping()

    return (
        twice_the_input_is_at_most_about_twice_the_work,
        each_function_that_loops_is_counted_or_has_a_reason,
        each_reason_is_about_a_function_that_loops,
    )
