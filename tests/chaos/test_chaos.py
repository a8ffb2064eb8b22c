"""Processes die under load, and all acknowledged work is kept: the short form of `make chaos`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.backups import Backup
from tests.chaos.faults import FAULTS
from tests.chaos.load import Load, Promised
from tests.chaos.losses import LOSSES
from tests.chaos.system import AnySystem, SingleSystem, running_system
from tests.chaos.trial import READY_AT_ALL_S, lost_or_doubled, run_trial
from tests.support.waiting import wait_until

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


def test_each_planted_loss_is_noticed(system: SingleSystem) -> None:
    """The losses are planted in a restored copy, because later trials check all rows of the database."""
    with Load(system) as load, Backup(system, load) as backup:
        wait_until(lambda: _is_enough(load.promised_until_now()), "work of each kind")
        backup.begin()
    assert backup.wrong(lost_or_doubled) == []

    missed: list[str] = []

    def plant(copy: AnySystem, promised: Promised) -> list[str]:
        for loss in LOSSES:
            statements, problem = loss(copy, promised)
            before = lost_or_doubled(copy, promised)
            for statement in statements:
                copy.rows(statement)
            if problem in before or problem not in lost_or_doubled(copy, promised):
                missed.append(loss.__name__)
        return []

    wrong = backup.wrong(plant)

    assert missed == []
    assert len(wrong) == 1, "reprise doctor notices the losses, too"


def _is_enough(promised: Promised) -> bool:
    return len(promised.traces) > 1 and len(promised.runs) > 2 and len(promised.replays) > 0
