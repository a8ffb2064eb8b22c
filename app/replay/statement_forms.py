"""Brings a statement of SQL to one form, by which two are recognized that are written differently and do the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from app.replay.condition_algebra import NotRead
from app.replay.conditions import Item, condition_form, expression_form, number_form, split
from app.replay.sql_statements import SQL_TEXT, is_doubtful
from app.replay.tables import TABLES, words
from app.values.budget import OverBudget, WorkBudget

Form = tuple[Any, ...]

_TOKEN = re.compile(r"[^\W\d]\w*+(?>(?:\.[^\W\d]\w*+)*)|\.?\d[\w.]*+(?:(?<=e)[-+]\d++)?|[<>!=]++|\|\||\S")
_PLAIN_NAME = re.compile(r"`([^\W\d]\w*+)`|\"([^\W\dA-Z][^\WA-Z]*+)\"")
_BRACKETED_NAME = re.compile(r"(?<!\w)\[([^\W\d]\w*+)\]")
_DATE = re.compile(r"'\d{4}-\d\d-\d\d[^']*'")
_DAY = re.compile(r"'\d{4}-\d\d-\d\d'")
_DATE_TYPES = frozenset(("date", "timestamp", "datetime", "timestamptz"))
_NUMBER = re.compile(r"'([1-9]\d{0,30})'")  # MySQL compares each text without digits with 0 as equal
_SAME: dict[str, str] = TABLES["sql"]["same"]
_OMITTED = frozenset(("as", "inner", "outer", "asc"))  # words that change nothing where they may be
_CLAUSES = words("sql", "clauses")
_BEGINS = (["begin"], ["begin", "transaction"], ["begin", "work"], ["start", "transaction"])
_ENDS = (["commit"], ["commit", "transaction"], ["commit", "work"], ["end"])
_BODIES = ("select", "with", "values")
_MOST_NESTED = 20  # parentheses around a word: forms are compared and written by recursion
_MOST_REPEATED = 20_000  # parts of expressions that a form has once more than its statement


def statement_form(text: str) -> Form:
    """Return the statements of a text, each as its clauses.

    Letters are small but for those in texts. Conditions are as `condition_form` has them; the assignments of an update,
    the columns and rows of an insert, and what a query groups by have an order.
    """
    if is_doubtful(text):
        return tuple(text.split())
    read = [*_without_types([*_words(text)])]
    try:
        items = _grouped(read)
    except NotRead:
        return tuple(read)
    statements = [statement for statement in split(items, ";") if statement]
    if statements and statements[0] in _BEGINS and statements[-1] in _ENDS:
        statements = statements[1:-1]
    reading = _Statements()
    try:
        forms = [reading.clauses(statement) for statement in statements]
    except OverBudget:
        return tuple(read)
    return tuple(tuple(clause for clause in form if clause[0] != "returning") for form in forms)


def is_narrower(recorded: Form, produced: Form) -> bool:
    """Return whether an update or a deletion, by its form, has all recorded conditions and more that have to hold.

    It changes some of the rows that the recorded one changes, perhaps all, and no other one.
    """
    if len(recorded) != 1 or len(produced) != 1 or recorded[0][0][0] not in ("update", "delete"):
        return False
    (before, conditions), (then, narrower) = (_without_condition(form[0]) for form in (recorded, produced))
    return bool(conditions) and before == then and {*conditions} < {*narrower}


def _without_condition(form: Form) -> tuple[Form, Form]:
    """Return the clauses with an empty condition and no limit, and the parts of the condition with the limit."""
    parts = next((part for keyword, part in form if keyword == "where"), ())
    limit = tuple(clause for clause in form if clause[0] == "limit")
    others = tuple((keyword, () if keyword == "where" else part) for keyword, part in form if keyword != "limit")
    return others, (*parts, *limit) if parts else ()


def _words(text: str) -> Iterator[str]:
    """Yield words without comments and words that change nothing; a quoted text is one word."""
    end = 0
    for quoted in SQL_TEXT.finditer(text):
        yield from _plain_words(text[end : quoted.start()])
        end = quoted.end()
        if not quoted[0].startswith(("--", "/*")) or quoted[0].startswith(("/*!", "/*M!")):
            name, number = _PLAIN_NAME.fullmatch(quoted[0]), _NUMBER.fullmatch(quoted[0])
            yield (name[1] or name[2]).lower() if name else number[1] if number else quoted[0]
    yield from _plain_words(text[end:])


def _plain_words(text: str) -> Iterator[str]:
    for token in _TOKEN.findall(_BRACKETED_NAME.sub(r"\1", text.lower())):
        if token not in _OMITTED:
            yield number_form(_SAME.get(token, token))


def _without_types(words: Sequence[str]) -> Iterator[str]:
    """Yield words without the types of dates: `date '…'`, `'…'::date` and `cast('…' as date)` are `'…'`.

    `set name to …` is `set name = …`.
    """
    at = 0
    while at < len(words):
        match words[at : at + 5]:
            case ["cast", "(", literal, kind, ")"] if _is_of_type(literal, kind):
                yield literal
                at += 5
            case ["date", "(", literal, ")", *_] if _is_of_type(literal, "date"):
                yield literal
                at += 4
            case [literal, ":", ":", kind, *_] if _is_of_type(literal, kind):
                yield literal
                at += 4
            case ["set", name, "to", *_]:  # as PostgreSQL may write `=`
                yield from ("set", name, "=")
                at += 3
            case [kind, literal, *_] if _is_of_type(literal, kind):
                at += 1
            case [word, *_]:
                yield word
                at += 1


def _is_of_type(literal: str, kind: str) -> bool:
    """Return whether a quoted time keeps all of it as this type: a date has no hours."""
    return kind in _DATE_TYPES and (_DAY if kind == "date" else _DATE).fullmatch(literal) is not None


def _grouped(words: Sequence[str]) -> list[Item]:
    """Return the words, of which those between parentheses are a list."""
    groups: list[list[Item]] = [[]]
    for word in words:
        if word == "(":
            groups.append([])
            if len(groups) > _MOST_NESTED:
                raise NotRead
        elif word == ")":
            if len(groups) == 1:
                raise NotRead
            group = groups.pop()
            groups[-1].append(group)
        else:
            groups[-1].append(word)
    if len(groups) > 1:
        raise NotRead
    return groups[0]


def _clauses(items: Sequence[Item]) -> Iterator[tuple[str, list[Item]]]:
    keyword, part = "", list[Item]()
    for before, item in zip(["", *items], items, strict=False):
        if isinstance(item, str) and item in _CLAUSES and before != "distinct":
            if keyword or part:
                yield keyword, part
            keyword, part = item, []
        else:
            part.append(item)
    yield keyword, part


def _inserted(into: list[Item], assigned: Sequence[Item]) -> list[tuple[str, list[Item]]]:
    """Return the columns and values of an insertion with `set`; the clauses stay if it has others."""
    parts = split(assigned, ",")
    if not all(len(part) > 2 and part[1] == "=" for part in parts):
        return [("insert", into), ("set", [*assigned])]
    columns, values = list[Item](), list[Item]()
    for part in parts:
        columns += [*part[:1], ","]
        values += [*part[2:], ","]
    return [("insert", [*into, columns[:-1]]), ("values", [values[:-1]])]


class _Statements:
    """Brings the statements of a text, and the queries within them, to one form. Raises `OverBudget`."""

    def __init__(self) -> None:
        self._budget = WorkBudget(_MOST_REPEATED)
        # By the ids of the words of queries, which are kept so that no others get them.
        self._queries: dict[int, tuple[Sequence[Item], Form]] = {}

    def clauses(self, items: Sequence[Item]) -> Form:
        """Return the clauses of a statement or a query, each with its keyword."""
        clauses = [*_clauses(items)]
        first: Form = ()
        if [keyword for keyword, _ in clauses[:2]] == ["insert", "set"]:
            clauses[:2] = _inserted(clauses[0][1], clauses[1][1])
        if [keyword for keyword, _ in clauses[:2]] == ["insert", "values"]:
            first = self._insertion(clauses[0][1], clauses[1][1])
        return (*first, *((keyword, self._clause(keyword, part)) for keyword, part in clauses[len(first) :]))

    def _clause(self, keyword: str, items: Sequence[Item]) -> Form:
        if keyword in ("where", "having"):
            return self._condition(items)
        if keyword == "set":
            return self._assigned(split(items, ","))
        rows, after = _rows(items) if keyword == "values" else ([], items)
        parts = [self._parts(part) for part in split(after, ",")]
        return (
            *sorted(map(self._within, rows), key=repr),
            *(sorted(parts, key=repr) if keyword == "group" else parts),
        )

    def _insertion(self, insert: Sequence[Item], given: Sequence[Item]) -> Form:
        """Return an insertion with its columns in order and no values that are NULL; empty for another one."""
        rows, after = _rows(given)
        match insert:
            case ["into", str(table), list(named)] if all(isinstance(column, str) for column in named):
                columns = [column for column in named if column != ","]
                values = [split(row, ",") for row in rows]
                if all(len(row) == len(columns) for row in values):
                    pairs = (zip(columns, map(self._parts, row), strict=True) for row in values)
                    kept = (sorted((pair for pair in row if pair[1] != ("null",)), key=repr) for row in pairs)
                    return ("insert", table), ("values", (*sorted(map(tuple, kept), key=repr), self._flat(after)))
        return ()

    def _condition(self, items: Sequence[Item]) -> Form:
        try:
            return condition_form(items, self._query, self._budget)
        except NotRead:
            return (self._flat(items),)

    def _parts(self, items: Sequence[Item]) -> Form:
        """Return an expression, or its words if it has others, such as an alias, a join or a direction."""
        try:
            return (expression_form(items, self._query, self._budget),)
        except NotRead:
            return self._flat(items)

    def _flat(self, items: Sequence[Item]) -> Form:
        return tuple(item if isinstance(item, str) else self._within(item) for item in items)

    def _within(self, items: Sequence[Item]) -> Form:
        """Return a query in parentheses, or the parts between commas."""
        return self._query(items) or tuple(self._parts(part) for part in split(items, ","))

    def _query(self, items: Sequence[Item]) -> Form:
        """Return the form of a query; empty for other words.

        What is around a query may be read twice, as an expression and then as its words: the query is read once.
        """
        if not items or items[0] not in _BODIES:
            return ()
        if id(items) not in self._queries:
            self._queries[id(items)] = items, self.clauses(items)
        return self._queries[id(items)][1]

    def _assigned(self, assignments: Sequence[Sequence[Item]]) -> Form:
        """Return the assignments of an update, in order if no assigned column is read by one of them."""
        parts = [(self._flat(part[:1]), self._parts(part[2:])) for part in assignments if part[1:2] == ["="]]
        if len(parts) < len(assignments):
            return tuple(map(self._flat, assignments))
        columns = {_plain_name(column) for (column,), _ in parts}
        read = {*map(_plain_name, _leaves([value for _, value in parts]))}
        is_free = len(columns) == len(parts) and columns.isdisjoint(read)
        return tuple(sorted(parts, key=repr) if is_free else parts)


def _plain_name(word: Any) -> Any:
    """Return the name of a column without that of its table; what is no name stays."""
    return word.rpartition(".")[2] if isinstance(word, str) else word


def _rows(items: Sequence[Item]) -> tuple[list[list[Item]], Sequence[Item]]:
    """Return the rows that `values` begins with, and what follows them."""
    rows = list[list[Item]]()
    for at, item in enumerate(items):
        if at % 2 == 0 and isinstance(item, list):
            rows.append(item)
        elif at % 2 == 0 or item != ",":
            return rows, items[at:]
    return rows, []


def _leaves(form: Any) -> Iterator[str]:
    pending = [form]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            yield part
        else:
            pending += part
