"""Searches an order of steps and faults that breaks the promises of a machine."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import Flaky
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
    tried: list[Machine] = []

    def new() -> Machine:
        tried.append(machine(site))
        return tried[-1]

    chosen = settings(SEARCH, max_examples=examples)
    try:
        run_state_machine_as_test(new if chosen_seed is None else seed(chosen_seed)(new), settings=chosen)
    except (Broken, Flaky) as error:
        # What was broken once is broken, even if it breaks elsewhere when Hypothesis tries it again: processes have
        # cached more by then. Hypothesis' own error has the steps.
        for number, example in enumerate(tried, start=1):
            if example.problem:
                example.problem.example = number
                raise example.problem from error
        raise


def examples_until_broken(site: Site, machine: type[Machine], chosen_seed: int) -> int | None:
    """Return the number of the example that breaks a promise; None if there is none among `EXAMPLES`."""
    try:
        search(site, machine, chosen_seed)
    except Broken as broken:
        return broken.example
    return None
