"""A site of processes on both backends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import pytest

from tests.states.delivering import Deliveries
from tests.states.experimenting import Experiments
from tests.states.machine import Machine
from tests.states.replaying import Replays
from tests.states.running import Runs
from tests.states.scheduling import Schedules
from tests.states.site import NO_QUEUES, Site, site_of
from tests.support.backends import empty_servers
from tests.support.world import running, settings_for

MACHINES: Sequence[type[Machine]] = (Runs, Replays, Experiments, Deliveries, Schedules)


@pytest.fixture(
    scope="package", params=["embedded", pytest.param("services", marks=[pytest.mark.services, pytest.mark.slow])]
)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp(request.param)
    with (
        empty_servers(request) if request.param == "services" else nullcontext({}) as urls,
        running(settings_for(home, **urls), queues=NO_QUEUES) as container,
        site_of(container) as site,
    ):
        for machine in MACHINES:
            machine(site).warm_up()
        yield site
