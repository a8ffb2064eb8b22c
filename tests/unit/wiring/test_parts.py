"""Constructors get their dependencies by type."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial

import pytest

from app.wiring.parts import ServiceParts


@dataclass
class Engine:
    power: int


@dataclass
class Car:
    engine: Engine
    seats: int = 5


@dataclass
class Garage:
    car: Car
    engine: Engine


Engine.__module__ = Car.__module__ = Garage.__module__ = "app.cars"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "app.cars", sys.modules[__name__])


def test_all_that_ask_for_a_type_get_the_same_object() -> None:
    parts = ServiceParts({})
    engine = parts.make(partial(Engine, power=3))
    garage = parts.make(Garage)
    assert garage.engine is engine is garage.car.engine


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        ServiceParts({}).make(Garage)


def test_a_part_that_was_added_is_not_made() -> None:
    parts, engine = ServiceParts({}), Engine(power=3)
    parts.add(engine)
    assert parts.make(Garage).car.engine is engine
