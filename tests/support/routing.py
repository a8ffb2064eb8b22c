"""Tells by which columns a sharding proxy could route the statements that the product executes on MySQL."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from sqlalchemy import ClauseElement, Column, Engine, Table, event
from sqlalchemy.sql import operators
from sqlalchemy.sql.dml import Insert, UpdateBase
from sqlalchemy.sql.elements import BinaryExpression, BooleanClauseList, ColumnClause, Tuple
from sqlalchemy.sql.selectable import SelectBase
from sqlalchemy.sql.visitors import iterate

APP = Path(__file__).parents[2] / "app"
# What executes statements for others.
BETWEEN = {APP / "db.py", *(APP / "models" / name for name in ("prepared.py", "queries.py")), APP / "work" / "table.py"}
# A column that names the project, or a row that is one project's; models and people are no project's.
IS_KEY = re.compile(r"(?!language_model_id|user_id)(id|\w+_(id|key))")
# Ingest writes its own SQL, of one shape.
OWN_INSERT = re.compile(r"INSERT (?:IGNORE )?INTO (\w+) \(([\w, ]+)\) VALUES")
# Prepared statements reach the driver as SQL, too. One with OR in its conditions is not taken for routed.
PREPARED = re.compile(r"(?:UPDATE|(?:INSERT INTO \w+ \([\w, ]+\) )?SELECT .* FROM) (\w+)\b.* WHERE (?!.* OR )(.+)")

Unrouted = dict[str, str]
"""Statements by the function of the product that executed them."""


@contextmanager
def unrouted_statements(*, unsharded: frozenset[str]) -> Iterator[Unrouted]:
    """Collect the statements that name a key of no row, while the block runs, whichever thread executes them.

    Those on tables in `unsharded` alone, and changes of the schema, are left out.
    """
    found: Unrouted = {}

    def note(_c: Any, _cursor: Any, text: str, _p: Any, context: Any, _many: bool) -> None:
        function = _product_function(sys._getframe(1))
        if function and context.dialect.name == "mysql" and not is_routed(text, context, unsharded):
            found[function] = text

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def is_routed(text: str, context: Any, unsharded: frozenset[str]) -> bool:
    """Return whether a proxy finds the shards of a statement: by a key in its conditions, or in what it inserts."""
    own = OWN_INSERT.match(text)
    if own:
        return own[1] in unsharded or any(map(IS_KEY.fullmatch, own[2].split(", ")))
    prepared = PREPARED.match(" ".join(text.split())) if context.compiled is None else None
    if prepared:
        return prepared[1] in unsharded or any(map(IS_KEY.fullmatch, re.findall(r"\.(\w+) = %s", prepared[2])))
    statement = context.compiled and context.compiled.statement
    if not isinstance(statement, SelectBase | UpdateBase):
        return bool(context.isddl)
    if isinstance(statement, Insert) and statement.select is None:
        keys = {key.partition("_m")[0] for key in context.compiled_parameters[0]}
        return statement.table.name in unsharded or any(map(IS_KEY.fullmatch, keys))
    return _tables(statement) <= unsharded or any(IS_KEY.fullmatch(column.name) for column in _compared(statement))


def _tables(statement: ClauseElement) -> set[str]:
    return {table.name for table in iterate(statement) if isinstance(table, Table)}


def _compared(statement: ClauseElement) -> Iterator[Column[Any]]:
    """Yield the columns that must equal a value, or one of several, for a row to be found."""
    waiting: list[Any] = [statement]
    while waiting:
        part = waiting.pop()
        if isinstance(part, BooleanClauseList) and part.operator is operators.or_:
            continue
        if isinstance(part, BinaryExpression) and part.operator in (operators.eq, operators.in_op):
            left = part.left.clauses if isinstance(part.left, Tuple) else [part.left]
            is_value = not any(isinstance(inner, ColumnClause) for inner in iterate(part.right))
            yield from (column for column in left if is_value and isinstance(column, Column))
        waiting.extend(part.get_children())


def _product_function(frame: FrameType | None) -> str:
    """Return the function of the product, `module.function`, that executes a statement; "" for one of a test's own."""
    while frame is not None:
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(APP) and file not in BETWEEN:
            return ".".join((*file.relative_to(APP).with_suffix("").parts, frame.f_code.co_name))
        if "sqlalchemy" not in file.parts and "contextlib" not in file.name and file not in BETWEEN:
            return ""
        frame = frame.f_back
    return ""
