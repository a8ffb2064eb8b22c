"""Brings expressions and conditions of SQL to one form, which none with another value has."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from app.replay.condition_algebra import (
    Node,
    NotRead,
    all_of,
    any_of,
    as_condition,
    comparison,
    is_number,
    negated,
    one_of,
)
from app.replay.tables import words
from app.values.budget import WorkBudget

Item = str | list[Any]
"""A word of a statement, or the items between two parentheses."""
Query = Callable[[Sequence[Item]], Any]
"""Returns the form of a query in parentheses, or something empty for other words."""

_MOST_CASTS = 4  # `::` in a row
_NUMBER = re.compile(r"\d{0,20}(?:\.\d{0,20})?(?:e[-+]?\d{1,2})?")
_COMPARING = ("=", "<>", "<", "<=", ">", ">=")
_LIKE = ("like", "ilike", "rlike", "regexp", "glob")
_RESERVED = words("sql", "reserved") | frozenset(",;:)][=<>+-*/%.") | {"<>", "<=", ">=", "||"}
_AFTER_CONDITION = ("", "and", "or")


def split(items: Sequence[Item], separator: str) -> list[list[Item]]:
    """Return the parts between separators; none for no items."""
    parts: list[list[Item]] = [[]]
    for item in items:
        if item == separator:
            parts.append([])
        else:
            parts[-1].append(item)
    return parts if items else []


def number_form(word: str) -> str:
    """Return a number without zeros that change nothing; another word stays."""
    is_number = word[:1] in "0123456789." and any(map(str.isdigit, word[:2])) and _NUMBER.fullmatch(word)
    if not is_number:
        return word
    plain = f"{Decimal(word):f}"
    return (plain.rstrip("0").rstrip(".") if "." in plain else plain).lstrip("+") or "0"


def expression_form(items: Sequence[Item], query: Query, budget: WorkBudget) -> Node:
    """Return the form of an expression; raises `NotRead`.

    Each part that the form has once more than the expression is a step of the budget. Raises `OverBudget`.
    """
    return _Expression(items, query, budget).whole()


def condition_form(items: Sequence[Item], query: Query, budget: WorkBudget) -> tuple[Node, ...]:
    """Return the conditions that all have to hold, in order; raises as `expression_form`."""
    node = as_condition(expression_form(items, query, budget))
    return node[1] if node[:1] == ("and",) else () if node == "true" else (node,)


class _Expression:
    """Reads an expression from left to right."""

    def __init__(self, items: Sequence[Item], query: Query, budget: WorkBudget) -> None:
        self._items, self._at = items, 0
        self._query, self._budget = query, budget

    def whole(self, is_not: bool = False) -> Node:
        node = self._disjunction(is_not)
        if self._at < len(self._items):
            raise NotRead
        return node

    def _peek(self, after: int = 0) -> Item:
        at = self._at + after
        return self._items[at] if at < len(self._items) else ""

    def _accept(self, *words: str) -> bool:
        """Return whether these words come next, and go beyond them if so."""
        if all(self._peek(n) == word for n, word in enumerate(words)):
            self._at += len(words)
            return True
        return False

    def _next(self) -> Item:
        if self._at >= len(self._items):
            raise NotRead
        self._at += 1
        return self._items[self._at - 1]

    def _disjunction(self, is_not: bool = False) -> Node:
        """Return the conditions that `or` joins, or their negation."""
        parts = [self._conjunction(is_not)]
        while self._accept("or"):
            parts.append(self._conjunction(is_not))
        joined = all_of if is_not else any_of
        return joined(parts) if len(parts) > 1 else parts[0]

    def _conjunction(self, is_not: bool) -> Node:
        parts = [self._negation(is_not)]
        while self._accept("and"):
            parts.append(self._negation(is_not))
        joined = any_of if is_not else all_of
        return joined(parts) if len(parts) > 1 else parts[0]

    def _negation(self, is_not: bool) -> Node:
        while self._accept("not"):
            is_not = not is_not
        item = self._peek()
        if is_not and isinstance(item, list) and self._peek(1) in _AFTER_CONDITION:
            # What is negated in parentheses is read negated: to negate it afterwards reads it again at each level.
            self._at += 1
            return self._parenthesized(item, is_not)
        node = self._comparison()
        return negated(node) if is_not else node

    def _comparison(self) -> Node:
        left = self._sum()
        operator = self._peek()
        if isinstance(operator, str) and operator in _COMPARING:
            self._at += 1
            return comparison(operator, left, self._sum())
        if self._accept("is"):
            return self._is(left)
        is_not = self._accept("not")
        if self._accept("between"):
            self._spend_on(left)  # it is in both comparisons: in itself, again and again, it would be there 2^n times
            low = self._sum()
            if not self._accept("and"):
                raise NotRead
            node = all_of([comparison(">=", left, low), comparison("<=", left, self._sum())])
        elif self._accept("in"):
            node = self._in(left)
        elif isinstance(operator := self._peek(), str) and operator in _LIKE:
            self._at += 1
            node = (operator, left, self._sum(), self._sum() if self._accept("escape") else "")
        elif is_not:
            raise NotRead
        else:
            return left
        return negated(node) if is_not else node

    def _is(self, left: Node) -> Node:
        is_not = self._accept("not")
        if self._accept("distinct", "from"):
            node: Node = ("distinct from", *sorted((left, self._sum()), key=repr))
        elif (word := self._next()) in ("null", "true", "false"):
            node = ("is", left, word)
        else:
            raise NotRead
        return negated(node) if is_not else node

    def _in(self, left: Node) -> Node:
        items = self._next()
        if not isinstance(items, list):
            raise NotRead
        if query := self._query(items):
            return ("in query", left, query)
        return one_of(left, self._arguments(items))

    def _sum(self) -> Node:
        return self._chain(("+", "-", "||"), self._product)

    def _product(self) -> Node:
        return self._chain(("*", "/", "%"), self._signed)

    def _chain(self, operators: Sequence[str], read: Callable[[], Node]) -> Node:
        """Return what operators of one rank join; numbers may be added, and anything multiplied, in any order.

        Without a number `+` may join texts or move a date.
        """
        parts = [(operators[0], read())]
        while isinstance(operator := self._peek(), str) and operator in operators:
            self._at += 1
            parts.append((operator, read()))
        if len(parts) == 1:
            return parts[0][1]
        used = {operator for operator, _ in parts}
        is_free = used == {"*"} or ("||" not in used and "+" in operators and any(is_number(part) for _, part in parts))
        return ("joined", tuple(sorted(parts, key=repr) if is_free else parts))

    def _signed(self) -> Node:
        is_negative = False
        while (sign := self._peek()) in ("+", "-"):
            self._at += 1
            is_negative ^= sign == "-"
        node = self._operand()
        casts = 0
        while self._accept(":", ":"):
            casts += 1
            if casts > _MOST_CASTS:
                raise NotRead
            node = ("call", "cast", (node, self._type()))
        if not is_negative:
            return node
        return f"-{node}" if is_number(node) else ("negative", node)

    def _type(self) -> Node:
        word = self._next()
        if not isinstance(word, str) or not word.isidentifier():
            raise NotRead
        size = self._peek()
        if isinstance(size, list):
            self._at += 1
            return (word, self._arguments(size))
        return word

    def _operand(self) -> Node:
        item = self._next()
        if isinstance(item, list):
            return self._parenthesized(item)
        if item == "*" and len(self._items) == 1:
            return item
        if item in _RESERVED:
            raise NotRead
        after = self._peek()
        if item == "interval" and isinstance(after, str) and after:
            self._at += 1
            unit = self._peek()
            is_unit = isinstance(unit, str) and unit.isidentifier() and unit not in _RESERVED
            self._at += is_unit
            return ("interval", after, unit if is_unit else "")
        if isinstance(after, list):
            self._at += 1
            return self._call(item, after)
        return item

    def _parenthesized(self, items: list[Any], is_not: bool = False) -> Node:
        query = self._query(items)
        if not query and len(split(items, ",")) == 1:
            return self._inner(items).whole(is_not)
        node = ("query", query) if query else ("row", self._arguments(items))
        return negated(node) if is_not else node

    def _call(self, function: str, items: list[Any]) -> Node:
        if query := self._query(items):
            return ("call", function, query)
        if function == "cast":
            return self._cast(items)
        if items[:1] == ["distinct"]:
            return ("call", function, ("distinct", self._arguments(items[1:])))
        arguments = self._arguments(items)
        if not arguments and function.startswith("current_"):
            return function
        return ("call", function, ("*",) if function == "count" and arguments == ("1",) else arguments)

    def _cast(self, items: list[Any]) -> Node:
        inner = self._inner(items)
        node = inner._disjunction()
        kind = inner._type()
        if inner._peek():
            raise NotRead
        return ("call", "cast", (node, kind))

    def _arguments(self, items: list[Any]) -> tuple[Node, ...]:
        return tuple(self._inner(part).whole() for part in split(items, ","))

    def _inner(self, items: Sequence[Item]) -> _Expression:
        return _Expression(items, self._query, self._budget)

    def _spend_on(self, node: Node) -> None:
        """Count a step for each part of an expression. Raises `OverBudget`."""
        pending = [node]
        while pending:
            part = pending.pop()
            self._budget.spend(1)
            if isinstance(part, tuple):
                pending += part
