"""Negates, compares and combines conditions of SQL that are in one form, so that the result is in one form, too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

Node = Any
"""An expression: a word, or a tuple that begins with its kind."""

_CONSTANTS = ("true", "false")


class NotRead(Exception):
    """The words are no expression that is known here."""


def is_number(node: Node) -> bool:
    """Return whether an expression is a number."""
    return isinstance(node, str) and node.lstrip("-")[:1].isdigit()


def _is_literal(node: Node) -> bool:
    return isinstance(node, str) and (is_number(node) or node[:1] == "'")


def comparison(operator: str, left: Node, right: Node) -> Node:
    """Return a comparison as one of `=`, `<>`, `<` and `<=`; of a condition and a constant, the condition."""
    if operator in (">", ">="):
        return (operator.replace(">", "<"), right, left)
    if operator in ("<", "<="):
        return (operator, left, right)
    for side, other in ((left, right), (right, left)):
        if side in _CONSTANTS and other not in _CONSTANTS:
            return other if (side == "true") == (operator == "=") else negated(other)
    if is_number(left) and is_number(right):
        return "true" if (left == right) == (operator == "=") else "false"
    return (operator, *sorted((left, right), key=repr))


def negated(node: Node) -> Node:
    """Return the condition that holds where another one does not; neither holds for an unknown value."""
    match node:
        case "true":
            return "false"
        case "false":
            return "true"
        case ("and", parts):
            return any_of([*map(negated, parts)])
        case ("or", parts):
            return all_of([*map(negated, parts)])
        case ("not", inner):
            return inner
        case ("=", left, right):
            return ("<>", left, right)
        case ("<>", left, right):
            return ("=", left, right)
        case ("<", left, right):
            return ("<=", right, left)
        case ("<=", left, right):
            return ("<", right, left)
    return ("not", node)


def one_of(left: Node, choices: Iterable[Node]) -> Node:
    """Return the condition that an expression equals one of several; raises `NotRead` if there are none."""
    known = sorted({*choices}, key=repr)
    if not known:
        raise NotRead
    return comparison("=", left, known[0]) if len(known) == 1 else ("in", left, tuple(known))


def any_of(parts: Iterable[Node]) -> Node:
    """Return the condition that one of several holds."""
    return _combined("or", parts, "false", "true")


def all_of(parts: Iterable[Node]) -> Node:
    """Return the condition that all of several hold."""
    return _combined("and", parts, "true", "false")


def _combined(kind: str, parts: Iterable[Node], neutral: str, decisive: str) -> Node:
    flat = {inner for part in parts for inner in (part[1] if part[:1] == (kind,) else (part,))} - {neutral}
    if decisive in flat:
        return decisive
    choices = defaultdict[Node, set[Node]](set)
    rest = list[Node]()
    for part in flat:
        match kind, part:
            case ("or", ("=", left, right)) | ("and", ("<>", left, right)) if _is_literal(left) != _is_literal(right):
                choices[right if _is_literal(left) else left].add(left if _is_literal(left) else right)
            case ("or", ("in", left, entries)) | ("and", ("not", ("in", left, entries))):
                choices[left].update(entries)
            case _:
                rest.append(part)
    lists = (one_of(left, entries) for left, entries in choices.items())
    known = sorted([*rest, *(lists if kind == "or" else map(negated, lists))], key=repr)
    return (kind, tuple(known)) if len(known) > 1 else known[0] if known else neutral


def as_condition(node: Node) -> Node:
    """Return a condition of which only matters where it holds, so that `is true` changes nothing."""
    match node:
        case ("and", parts):
            return all_of(map(as_condition, parts))
        case ("or", parts):
            return any_of(map(as_condition, parts))
        case ("is", inner, "true"):
            return inner
        case ("is", inner, "false"):
            return negated(inner)
    return node
