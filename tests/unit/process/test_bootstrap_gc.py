"""A process that is built: what it consists of is no garbage, and is not searched for any."""

import gc
from collections.abc import Iterator

import pytest

from app.process.bootstrap import OBJECTS_BETWEEN_COLLECTIONS, freeze_gc


@pytest.fixture(autouse=True)
def _unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_existing_objects_are_frozen_and_later_ones_are_still_collected() -> None:
    there: list[object] = []
    gc.disable()
    freeze_gc()
    assert gc.isenabled()
    later: list[object] = []
    later.append(later)

    watched = {id(thing) for thing in gc.get_objects()}
    assert id(there) not in watched
    assert id(later) in watched
    assert gc.get_threshold()[0] == OBJECTS_BETWEEN_COLLECTIONS
    del later
    assert gc.collect() >= 1
