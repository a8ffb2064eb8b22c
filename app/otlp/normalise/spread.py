"""Objects and lists that libraries spread over attributes: `messages.0.role`, `inputs.city`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_INDEX_DIGITS = 5
# What lies deeper in a key stays one name: no convention goes half as deep.
_LEVELS = 16


def gather(attributes: Mapping[str, Any], prefix: str) -> list[Any]:
    """Return the numbered attributes below `prefix` in the order of their numbers, lists within alike.

    Attributes with a name after the number are objects, the others are what they are.
    """
    return _entries(_branch(attributes, prefix))


def nested(attributes: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the attributes below `prefix` as an object, those within alike."""
    return _nested(_branch(attributes, prefix))


def _branch(attributes: Mapping[str, Any], prefix: str) -> _Branch:
    root = _Branch()
    for key in attributes:
        if key.startswith(prefix):
            *path, name = key[len(prefix) :].split(".", _LEVELS)
            branch = root
            for step in path:
                branch = branch.within.setdefault(step, _Branch())
            branch.values[name] = attributes[key]
    return root


@dataclass(slots=True)
class _Branch:
    """The attributes with a common beginning of their keys: `values` by the last name, others `within` the next one."""

    values: dict[str, Any] = field(default_factory=dict)
    within: dict[str, _Branch] = field(default_factory=dict)


def _entries(branch: _Branch) -> list[Any]:
    numbered = {int(name): value for name, value in branch.values.items() if _is_index(name)}
    numbered |= {int(name): _nested(inner) for name, inner in branch.within.items() if _is_index(name)}
    return [numbered[number] for number in sorted(numbered)]


def _is_index(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) <= _INDEX_DIGITS


def _nested(branch: _Branch) -> dict[str, Any]:
    """Return the attributes of a branch as objects: `tool_calls.0.name` becomes `{"tool_calls": [{"name": x}]}`."""
    nested = dict(branch.values)
    for name, within in branch.within.items():
        nested.setdefault(name, _entries(within) or _nested(within))
    return nested
