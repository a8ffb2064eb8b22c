"""Searches an order of steps and faults that breaks the promises of a machine."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import FlakyFailure
from hypothesis.stateful import run_state_machine_as_test

from tests.states.machine import Machine
from tests.states.site import Site
from tests.states.steps import Broken

EXAMPLES = 30
"""Examples in which each planted fault must be found."""
SEARCH = settings(
    max_examples=EXAMPLES,
    stateful_step_count=40,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
"""The same examples each time."""


def search(site: Site, machine: type[Machine], chosen_seed: int | None = None, *, examples: int = EXAMPLES) -> None:
    """Try examples; raises `Broken` for the first that breaks a promise."""

    def new() -> Machine:
        return machine(site)

    chosen = settings(SEARCH, max_examples=examples)
    try:
        run_state_machine_as_test(new if chosen_seed is None else seed(chosen_seed)(new), settings=chosen)
    except FlakyFailure as flaky:
        # What was broken once is broken; what processes have cached meanwhile may hide it.
        raise flaky.exceptions[0] from flaky


def examples_until_broken(site: Site, machine: type[Machine], chosen_seed: int) -> int | None:
    """Return the number of the example that breaks a promise; None if there is none among `EXAMPLES`."""
    tried: list[Machine] = []

    class Counted(machine):  # type: ignore[misc, valid-type]
        def __init__(self, site: Site) -> None:
            super().__init__(site)
            tried.append(self)

    try:
        search(site, Counted, chosen_seed)
    except Broken:
        return 1 + next(number for number, example in enumerate(tried) if example.is_broken)
    return None
