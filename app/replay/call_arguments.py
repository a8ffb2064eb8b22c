"""The arguments of a call as they are compared."""

from __future__ import annotations

from app.values.budget import UNLIMITED, WorkBudget
from app.values.composed import composed


def arguments_of(arguments: object, budget: WorkBudget = UNLIMITED) -> object:
    """Return a call's arguments with texts in NFC; a call without any has `{}`, however that was recorded."""
    return {} if arguments is None or arguments == "" else composed(arguments, budget)
