"""No order of steps, faults and deaths breaks the promises of runs, replays, experiments, deliveries and schedules."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.states.conftest import MACHINES
from tests.states.faults import PLANTED
from tests.states.machine import Machine
from tests.states.search import search
from tests.states.site import Site
from tests.states.steps import Broken

EXAMPLES = 10
"""Most planted faults are found in so many."""


@pytest.mark.parametrize("machine", MACHINES)
def test_all_promises_hold(site: Site, machine: type[Machine]) -> None:
    search(site, machine, examples=EXAMPLES)


@pytest.mark.parametrize("site", ["embedded"], indirect=True)
@pytest.mark.parametrize("plant", PLANTED)
def test_a_planted_fault_is_noticed(
    site: Site, monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    plant(monkeypatch)

    with pytest.raises(Broken):
        search(site, PLANTED[plant])
