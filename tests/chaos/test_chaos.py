"""Processes die under load, and all acknowledged work is kept: the short form of `make chaos`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.backups import Backup
from tests.chaos.faults import FAULTS
from tests.chaos.load import Load
from tests.chaos.system import SingleSystem, running_system
from tests.chaos.trial import READY_AT_ALL_S, lost_or_doubled, run_trial

SHORT = ("the spans worker killed", "Redis emptied", "MariaDB killed", "the disk full", "all clocks an hour ahead")


@pytest.fixture(scope="module")
def system(needs_mariadb: None, needs_redis: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SingleSystem]:
    with running_system(tmp_path_factory.mktemp("chaos")) as running:
        yield running


@pytest.mark.parametrize("name", SHORT)
def test_every_promise_is_kept(system: SingleSystem, name: str) -> None:
    # How soon it is ready again, and all has ended, is measured where nothing else runs.
    trial = run_trial(
        system,
        name,
        FAULTS[name],
        before_s=0.5,
        during_s=1,
        after_s=0.5,
        ready_within_s=READY_AT_ALL_S,
        settled_within_s=READY_AT_ALL_S,
    )

    assert trial.wrong == ()
    assert trial.batches > 0


def test_a_backup_without_an_acknowledged_batch_is_noticed(system: SingleSystem) -> None:
    with Load(system) as load, Backup(system, load) as backup:
        backup.begin()
    assert backup.wrong(lost_or_doubled) == []

    backup.promised.traces.add("0" * 32)
    assert backup.wrong(lost_or_doubled) == ["the restored backup: 1 acknowledged batches are lost"]
