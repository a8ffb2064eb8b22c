"""Brings a statement of SQL to one form, by which two are recognized that are written differently and do the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.replay.statements import SQL_TEXT, is_doubtful

Words = tuple[str, ...]

_TOKEN = re.compile(r"[^\W\d]\w*+(?:\.[^\W\d]\w*+)*+|\d[\w.]*+|[<>!=]++|\S")
_DOLLAR_QUOTE = re.compile(r"\$\w*\$")
_PLAIN_NAME = re.compile(r"`([^\W\d]\w*+)`|\"([^\W\dA-Z][^\WA-Z]*+)\"")
_BRACKETED_NAME = re.compile(r"(?<!\w)\[([^\W\d]\w*+)\]")
_DATE = re.compile(r"'\d{4}-\d\d-\d\d[^']*'")
_DATE_TYPES = frozenset(("date", "timestamp", "datetime", "timestamptz"))
_NUMBER = re.compile(r"'(0|[1-9]\d{0,30})'")
_SAME = {"!=": "<>", "==": "=", "now": "current_timestamp"}
_OMITTED = frozenset(("as", "inner", "outer", "asc"))  # words that change nothing where they may be
_ENDS = frozenset(
    (
        "group",
        "order",
        "having",
        "limit",
        "returning",
        "union",
        "except",
        "intersect",
        "window",
        "fetch",
        "offset",
        "on",
    )
)
_AFTER_TABLE = frozenset(("set", "where", "returning"))
_TURNED = {"<": ">", "<=": ">="}


def statement_form(text: str) -> Words:
    """Return the words of a statement.

    Letters are small but for those in texts. Conditions that all have to hold, the assignments of an update, and the
    columns of an insert have an order. The name of the only table before a column is left out.
    """
    if is_doubtful(text) or _DOLLAR_QUOTE.search(text):
        return tuple(text.split())
    words = [*_without_types([*_words(text)])]
    while words[-1:] == [";"]:
        words.pop()
    if ";" in words:
        return tuple(words)
    return _inserted(_assigned(_conditioned(_without_table(words))))


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
            yield _SAME.get(token, token)


def _without_types(words: Sequence[str]) -> Iterator[str]:
    """Yield words without the types of dates: `date '…'`, `'…'::date` and `cast('…' as date)` are `'…'`."""
    at = 0
    while at < len(words):
        match words[at : at + 5]:
            case ["cast", "(", literal, kind, ")"] if kind in _DATE_TYPES and _DATE.fullmatch(literal):
                yield literal
                at += 5
            case [literal, ":", ":", kind, *_] if kind in _DATE_TYPES and _DATE.fullmatch(literal):
                yield literal
                at += 4
            case [kind, literal, *_] if kind in _DATE_TYPES and _DATE.fullmatch(literal):
                at += 1
            case [word, *_]:
                yield word
                at += 1


def _without_table(words: Sequence[str]) -> Words:
    """Return the words of an update or a deletion without the name or alias of its one table before columns."""
    at = {"update": 1, "delete": 2}.get(words[0] if words else "")
    if at is None or len(words) <= at or "select" in words or "join" in words or "using" in words or "," in words[:at]:
        return tuple(words)
    table, alias = words[at], words[at + 1 : at + 2]
    if words[0] == "update" and words.count("from"):
        return tuple(words)
    named = alias[0] if alias and alias[0] not in _AFTER_TABLE and alias[0].isidentifier() else ""
    prefix = f"{named or table.rpartition('.')[2]}."
    rest = words[at + 1 + bool(named) :]
    return (*words[: at + 1], *(word.removeprefix(prefix) for word in rest))


def _conditioned(words: Words) -> Words:
    """Return the words with the conditions of the last `where`, all of which have to hold, in order."""
    before, condition, after = _around_condition(words)
    if not condition or not {"or", "case"}.isdisjoint(_outside(condition)):
        return words
    parts = [
        part for outer in _split(condition, "and") for inner in _without_parentheses(outer) for part in _simple(inner)
    ]
    return (*before, *_joined(sorted(parts), "and"), *after)


def is_narrower(recorded: Words, produced: Words) -> bool:
    """Return whether an update or a deletion, by its form, has all recorded conditions and more that have to hold.

    It changes some of the rows that the recorded one changes, perhaps all, and no other one.
    """
    if recorded[:1] not in (("update",), ("delete",)):
        return False
    (before, conditions, after), (then, narrower, rest) = map(_around_condition, (recorded, produced))
    if not conditions or (before, after) != (then, rest):
        return False
    if any(not {"or", "case", ";"}.isdisjoint(_outside(part)) for part in (conditions, narrower)):
        return False
    return {*_split(conditions, "and")} < {*_split(narrower, "and")}


def _around_condition(words: Words) -> tuple[Words, Words, Words]:
    """Return the words up to the last `where`, its condition, which may be empty, and what follows it."""
    begin = _last_outside(words, "where") + 1
    if not begin:
        return words, (), ()
    end = next((at for at, depth in _depths(words, begin) if not depth and words[at] in _ENDS), len(words))
    return words[:begin], words[begin:end], words[end:]


def _without_parentheses(condition: Words) -> list[Words]:
    """Return the conditions in the outermost parentheses, if all of these have to hold; else the one that is given."""
    if condition[:1] != ("(",) or not all(depth for _, depth in _depths(condition)):
        return [condition]
    inner = condition[1:-1]
    return _split(inner, "and") if {"or", "case", "select", "not"}.isdisjoint(_outside(inner)) else [condition]


def _simple(condition: Words) -> list[Words]:
    """Return a condition as simple ones: the bounds of what is between values, a list in order, sides in order."""
    match condition:
        case (name, "between", low, "and", high):
            return [(name, ">=", low), (high, ">=", name)]
        case (name, "in", "(", *entries, ")") if "select" not in entries and "(" not in entries:
            parts = sorted(_split(tuple(entries), ","))
            return (
                _simple((name, "=", *parts[0])) if len(parts) == 1 else [(name, "in", "(", *_joined(parts, ","), ")")]
            )
        case (left, "=" | "<>" as sign, right):
            first, other = sorted((left, right))
            return [(first, sign, other)]
        case (left, "<" | "<=" as sign, right):
            return [(right, _TURNED[sign], left)]
    return [condition]


def _assigned(words: Words) -> Words:
    """Return an update with its assignments in order, if no assigned column is read by one of them."""
    if words[:1] != ("update",) or "set" not in words:
        return words
    begin = words.index("set") + 1
    end = next((at for at, depth in _depths(words, begin) if not depth and words[at] in ("where", "from")), len(words))
    assignments = _split(words[begin:end], ",")
    columns = {assignment[0] for assignment in assignments if assignment}
    if len(columns) < len(assignments) or not columns.isdisjoint(word for part in assignments for word in part[1:]):
        return words
    return (*words[:begin], *_joined(sorted(assignments), ","), *words[end:])


def _inserted(words: Words) -> Words:
    """Return an insertion with its columns in order, each with its values, but without those of NULL."""
    match words:
        case ("insert", "into", table, "(", *_) if "values" in words:
            at = words.index("values")
            rows, end = _rows(words, at + 1)
            columns = _split(words[4 : at - 1], ",")
            values = [_split(row[1:-1], ",") for row in rows]
            if words[at - 1] == ")" and "(" not in words[4:at] and all(len(row) == len(columns) for row in values):
                named = (
                    sorted(pair for pair in zip(columns, row, strict=True) if pair[1] != ("null",)) for row in values
                )
                parts = sorted(tuple(word for pair in row for part in pair for word in (*part, ",")) for row in named)
                return ("insert", "into", table, *_joined(parts, ";"), "values", *words[end:])
    return _with_rows_in_order(words)


def _with_rows_in_order(words: Words) -> Words:
    """Return words with the rows of each `values` in order."""
    ordered, at = list[str](), 0
    while at < len(words):
        ordered.append(words[at])
        at += 1
        if ordered[-1] == "values":
            rows, at = _rows(words, at)
            ordered += _joined(sorted(rows), ",")
    return tuple(ordered)


def _rows(words: Words, begin: int) -> tuple[list[Words], int]:
    """Return the rows from a place on, each in its parentheses, and where they end."""
    rows, opened = list[Words](), begin
    for at, depth in _depths(words, begin):
        if not depth and words[at] != ",":
            return rows, at
        if depth == 1 and words[at] == ")":
            rows.append(words[opened : at + 1])
        elif depth == 1 and words[at] == "(" and (at == begin or words[at - 1] == ","):
            opened = at
    return rows, len(words)


def _depths(words: Sequence[str], begin: int = 0) -> Iterator[tuple[int, int]]:
    """Yield each place with the number of parentheses around it; a parenthesis is within itself."""
    depth = 0
    for at in range(begin, len(words)):
        depth += words[at] == "("
        yield at, depth
        depth -= words[at] == ")"


def _outside(words: Sequence[str]) -> set[str]:
    return {words[at] for at, depth in _depths(words) if not depth}


def _last_outside(words: Words, word: str) -> int:
    return max((at for at, depth in _depths(words) if not depth and words[at] == word), default=-1)


def _split(words: Words, separator: str) -> list[Words]:
    """Return the parts between separators outside of parentheses; the `and` after `between` is none."""
    parts, begin, is_between = list[Words](), 0, False
    for at, depth in _depths(words):
        if not depth and words[at] == "between":
            is_between = True
        elif not depth and words[at] == separator:
            if is_between and separator == "and":
                is_between = False
                continue
            parts.append(words[begin:at])
            begin = at + 1
    return [*parts, words[begin:]]


def _joined(parts: Sequence[Words], separator: str) -> Iterator[str]:
    for number, part in enumerate(parts):
        yield from part if not number else (separator, *part)
