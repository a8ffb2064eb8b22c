"""Creates objects with the parts that their constructors ask for by type.

Values that no type identifies, such as numbers, are given by their names in a `partial` of the constructor, which mypy
checks. A part always has exactly the type that is asked for.
"""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass
from functools import partial
from typing import Any, TypeVar, get_type_hints

T = TypeVar("T")


class ServiceParts:
    """The objects that constructors may ask for, one of each type; missing ones are created when needed."""

    def __init__(self, made: dict[object, object]) -> None:
        self._made = made

    def add(self, part: object) -> None:
        self._made[type(part)] = part

    def make(self, maker: type[T] | partial[T]) -> T:
        """Create the only object of its type, with a part for each parameter without a value and a default."""
        kind: Any = maker.func if isinstance(maker, partial) else maker
        hints = get_type_hints(kind if is_dataclass(kind) else kind.__init__)
        parameters = inspect.signature(maker).parameters.items()
        parts = {name: self._of(hints[name]) for name, parameter in parameters if parameter.default is parameter.empty}
        made = self._made[kind] = maker(**parts)
        return made

    def _of(self, kind: Any) -> object:
        """Return the part of a type; raises `KeyError` for a missing type from outside the app, such as a number."""
        if kind not in self._made and kind.__module__.startswith("app."):
            self.make(kind)
        return self._made[kind]
