"""The comparison of answers with a reference: what it finds, how often it is wrong, and what it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb, exp
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as replace_struct

from app.experiments.behaviour import EDITION, Behaviour, BehaviourTally, names_of
from app.experiments.behaviour_watch import (
    ALPHA,
    BLOCKS,
    CHANGES_MAX,
    LARGEST_REFERENCE,
    MONTH,
    SMALLEST_REFERENCE,
    AnswerChange,
    ReplayShare,
    WatchedBehaviour,
    changes_between,
    level,
    tail,
)
from app.services.experiments.watch import COMPARED_MAX

CASES, ROUND = 10, 10
SEED = 54
"""The parameters of the comparison were chosen with another seed."""


@dataclass(frozen=True)
class Agent:
    """How often an agent answers how: `spread` is that of the logarithm of its lengths, the others are shares."""

    characters: float = 400
    spread: float = 0.25
    searches_twice: float = 0.2
    books: float = 0.95
    books_first: float = 0.02
    german: float = 0.0

    def answer(self, random: Random) -> Behaviour:
        tools, order = [("search", 2 if random.random() < self.searches_twice else 1)], ["search"]
        if random.random() < self.books:
            tools, order = [("book", 1), *tools], ["search", "book"]
            if random.random() < self.books_first:
                order.reverse()
        language = "de" if random.random() < self.german else "en"
        characters = round(self.characters * exp(random.gauss(0, self.spread)))
        return Behaviour(EDITION, characters, tuple(tools), tuple(order), language)

    def round(self, random: Random) -> list[Behaviour]:
        return [self.answer(random) for _ in range(ROUND)]


NORMAL = Agent()
SAME = Behaviour(EDITION, 350, (("book", 1), ("search", 1)), ("search", "book"), "en")
CHANGES: dict[str, tuple[str, Callable[[Agent], Agent]]] = {
    "answers 30 % longer": ("longer", lambda agent: replace(agent, characters=1.3 * agent.characters)),
    "another order in 20 %": ("order", lambda agent: replace(agent, books_first=agent.books_first + 0.2)),
    "another language in 10 %": ("language", lambda agent: replace(agent, german=0.1)),
}


def after(state: WatchedBehaviour, agent: Agent, random: Random, runs: int) -> WatchedBehaviour:
    for run in range(runs):
        state = state.after_run(agent.round(random), cases=CASES, run=run)
    return state


def first_warning(
    state: WatchedBehaviour, agent: Agent, random: Random, runs: int
) -> tuple[int | None, WatchedBehaviour]:
    for run in range(1, runs + 1):
        state = after(state, agent, random, 1)
        if state.changes:
            return run, state
    return None, state


def with_reference(size: int, agent: Agent, random: Random) -> WatchedBehaviour:
    played = [agent.answer(random) for _ in range(size)]
    return WatchedBehaviour(reference=BehaviourTally.of(played), names=names_of(played))


@pytest.mark.slow
def test_false_warnings_of_ten_test_cases_are_rarer_than_the_bound() -> None:
    random, series, wrong, sizes = Random(SEED), 300, 0, (SMALLEST_REFERENCE, LARGEST_REFERENCE)
    for size in sizes:
        for _ in range(series):
            agent = Agent(
                spread=random.choice((0.05, 0.25, 0.5)),
                searches_twice=random.choice((0.0, 0.1, 0.5)),
                books=random.choice((0.5, 0.95, 1.0)),
                books_first=random.choice((0.0, 0.02, 0.3)),
                german=random.choice((0.0, 0.01)),
            )
            state = with_reference(size, agent, random)
            wrong += first_warning(state, agent, random, MONTH)[0] is not None
        print(f"reference of {size} replays: {wrong} false warnings so far, of {series} months of one test case")
    monthly = 1 - (1 - wrong / series / len(sizes)) ** CASES
    print(f"ten test cases: {monthly:.1%} of months have a false warning, the bound is {ALPHA:.0%}")
    assert monthly <= ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_one_of_ten_test_cases_is_found_within_a_month(change: str) -> None:
    kind, changed = CHANGES[change]
    random, series, shares = Random(SEED), 60, {}
    for size in (SMALLEST_REFERENCE, LARGEST_REFERENCE):
        for spread in (0.25, 0.5) if kind == "longer" else (NORMAL.spread,):
            agent = replace(NORMAL, spread=spread)
            days: list[int] = []
            for _ in range(series):
                state = with_reference(size, agent, random)
                # The change comes anywhere in a block.
                state = after(state, agent, random, random.randrange(BLOCKS[-1]))
                day, state = first_warning(state, changed(agent), random, MONTH)
                if day is not None and kind in {found.kind for found in state.changes}:
                    days.append(day)
            found = [sum(day <= within for day in days) / series for within in (3, 7, 14, MONTH)]
            shares[size, spread] = found[-1]
            figures = ", ".join(f"{share:.0%}" for share in found)
            print(f"{change}, reference of {size}, spread {spread}: found within 3, 7, 14, {MONTH} runs: {figures}")
    assert shares[LARGEST_REFERENCE, NORMAL.spread] >= 0.9


shares = st.integers(1, 60).flatmap(lambda of: st.builds(ReplayShare, st.integers(0, of), st.just(of)))
answers = st.builds(
    Behaviour,
    st.just(EDITION),
    st.sampled_from((0, 90, 100, 400)),
    st.sampled_from(((), (("search", 1),), (("book", 2), ("search", 1)))),
    st.sampled_from(((), ("search",), ("search", "book"), ("book", "search"), ("a, b",), ("b", "a"))),
    st.sampled_from(("en", "de", "")),
)


@given(shares, shares)
def test_the_tail_is_that_of_the_hypergeometric_distribution(recent: ReplayShare, reference: ReplayShare) -> None:
    having, replays = recent.replays + reference.replays, recent.of + reference.of
    ways = sum(
        comb(having, count) * comb(replays - having, recent.of - count)
        for count in range(recent.replays, min(having, recent.of) + 1)
        if count >= recent.of - (replays - having)
    )
    exact = Fraction(ways, comb(replays, recent.of))
    if Fraction(*recent) > Fraction(*reference):
        assert tail(recent, reference) == pytest.approx(float(exact), rel=1e-9)
    else:
        assert tail(recent, reference) == 1


@given(st.lists(answers, min_size=8, max_size=8), st.integers(2, 5), st.sampled_from((0.1, 0.3, 0.6)))
def test_of_all_ways_to_draw_the_later_replays_at_most_the_share_alpha_has_a_change(
    played: list[Behaviour], later: int, alpha: float
) -> None:
    names = names_of(played)
    chosen = list(combinations(range(len(played)), later))
    changed = 0
    for indexes in chosen:
        samples = [
            [each for at, each in enumerate(played) if (at in indexes) == is_later] for is_later in (False, True)
        ]
        changed += any(True for _ in changes_between(*map(BehaviourTally.of, samples), names, alpha))
    assert changed <= alpha * len(chosen)


def test_the_bound_is_divided_by_all_comparisons_of_a_month() -> None:
    compared = [
        max(sum(run % runs == 0 for run in range(first, first + MONTH)) for first in range(30)) for runs in BLOCKS
    ]
    for cases in (1, 10):
        total = sum(count * cases * level(index, cases) for index, count in enumerate(compared))
        assert total == pytest.approx(ALPHA)


@given(st.lists(answers, min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_a_runs_replays_does_not_matter(played: list[Behaviour], random: Random) -> None:
    shuffled = random.sample(played, len(played))
    states = [WatchedBehaviour().after_run(replays, cases=1, run=1) for replays in (played, shuffled)]
    assert states[0] == states[1]


def test_the_reference_grows_by_blocks_without_a_change_and_then_stays() -> None:
    state, sizes = WatchedBehaviour(), []
    for run in range(60):
        state = state.after_run([SAME] * ROUND, cases=CASES, run=run)
        sizes.append(state.reference.replays)
    assert sizes[:11] == [*range(10, 101, 10), 100]
    assert sorted(set(sizes[10:])) == [100, 190, 280, 370]
    assert not state.changes


def test_a_changed_block_does_not_join_the_reference_and_the_warning_keeps_its_first_run() -> None:
    state = WatchedBehaviour()
    for run in range(10):
        state = state.after_run([SAME] * ROUND, cases=CASES, run=run)
    for run in range(10, 40):
        state = state.after_run([replace_struct(SAME, language="de")] * ROUND, cases=CASES, run=run)
    assert state.reference.replays == 100
    (change,) = state.changes
    assert (change.kind, change.name, change.run) == ("language", "de", 10)
    assert change.recent.of > ROUND


def test_replays_without_a_fingerprint_of_this_edition_are_not_compared() -> None:
    state = WatchedBehaviour().after_run([SAME] * ROUND, cases=CASES, run=1)
    older = replace_struct(SAME, edition=EDITION - 1)
    assert state.after_run([older] * ROUND, cases=CASES, run=2) == state
    assert state.after_run([], cases=CASES, run=2) == state
    earlier = replace_struct(state, edition=EDITION - 1)
    assert earlier.after_run([SAME], cases=CASES, run=2).reference.replays == 1


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"characters": 520}, "Answers are longer, about 350 → 530 characters: more than 350 in 10 of 10 replays"),
        ({"characters": 200}, "Answers are shorter, about 350 → 210 characters: fewer than 350 in 10 of 10 replays"),
        ({"tools": (("book", 1), ("search", 3))}, "search is called 2 times or more in 10 of 10 replays"),
        ({"tools": (("book", 1),)}, "search is never called in 10 of 10 replays"),
        ({"order": ("book", "search")}, "Tools are called in the order book → search in 10 of 10 replays"),
        ({"order": ()}, "No tool is called in 10 of 10 replays"),
        ({"language": "de"}, "Answers are in German in 10 of 10 replays"),
        ({"language": ""}, "Answers are in an unknown language in 10 of 10 replays"),
    ],
)
def test_a_change_is_a_sentence(changed: dict[str, Any], text: str) -> None:
    state = WatchedBehaviour()
    for run in range(10):
        state = state.after_run([SAME] * ROUND, cases=CASES, run=run)
    state = state.after_run([replace_struct(SAME, **changed)] * ROUND, cases=CASES, run=10)
    assert [change.text for change in state.changes] == [f"{text}, in the reference in 0 of 100."]


def test_the_first_changes_of_a_test_case_are_kept() -> None:
    state = WatchedBehaviour()
    for run in range(10):
        state = state.after_run([SAME] * ROUND, cases=CASES, run=run)
    many = replace_struct(SAME, tools=tuple((f"tool {n}", 1) for n in range(15)))
    changes = state.after_run([many] * ROUND, cases=CASES, run=10).changes
    assert len(changes) == CHANGES_MAX
    assert replace_struct(state, changes=changes).after_run([SAME] * ROUND, cases=CASES, run=11).changes == changes


def test_rare_orders_and_languages_are_compared_together() -> None:
    state = WatchedBehaviour()
    for run in range(10):
        state = state.after_run([SAME] * ROUND, cases=CASES, run=run)
    rare = [replace_struct(SAME, order=(f"tool {at}",)) for at in range(ROUND)]
    texts = [change.text for change in state.after_run(rare, cases=CASES, run=10).changes]
    assert texts == ["Tools are called in unusual orders in 8 of 10 replays, in the reference in 0 of 100."]


def test_the_state_of_a_usual_test_case_is_small_and_that_of_the_worst_ones_fits_into_a_row() -> None:
    random = Random(SEED)
    usual = after(with_reference(LARGEST_REFERENCE, NORMAL, random), NORMAL, random, BLOCKS[-1] - 1)
    odd = [
        Behaviour(
            EDITION, 2 ** (n % 24), tuple((f"{'🧰' * 90}{n + k}", n % 9 + 1) for k in range(16)), (f"{'🧰' * 90}{n}",)
        )
        for n in range(2000)
    ]
    change = AnswerChange("order", names_of(odd[:1]).popitem()[1], 1, ReplayShare(999, 999), ReplayShare(999, 999))
    worst = WatchedBehaviour(
        changes=(change,) * CHANGES_MAX,
        reference=BehaviourTally.of(odd),
        blocks=(BehaviourTally.of(odd),) * len(BLOCKS),
        names=names_of(odd),
    )
    sizes = [len(msgspec.json.encode(state)) for state in (usual, worst)]
    print(f"{sizes[0]:,} bytes of a usual test case, {sizes[1]:,} of the worst one")
    assert sizes[0] < 2_000
    assert sizes[1] * COMPARED_MAX < 15 * 2**20
