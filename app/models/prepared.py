"""Statements that are compiled only once, for the statements of each run and each batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, CursorResult, Dialect, Insert, Select, Update


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in the SQL: for the parameter `name` or, if that is None, for a value in the statement."""

    name: str | None
    value: Any
    process: Callable[[Any], Any] | None

    def filled(self, parameters: Mapping[str, Any]) -> Any:
        if self.name is None:
            return self.value
        value = parameters[self.name]
        return self.process(value) if self.process else value


@dataclass(frozen=True, slots=True)
class _Compiled:
    sql: str
    places: tuple[_Place, ...]


# The attribute of a dialect that holds the compiled statements. Each engine has its own dialect, and a type may store a
# value depending on the dialect (`app/models/compression.py`).
_PREPARED = "reprise_prepared"


class PreparedStatement:
    """An INSERT, UPDATE or SELECT that is compiled once for each engine and each set of parameters.

    `Connection.execute` needs twice as long, as it looks up the statement by its parts. It is used for statements with
    a list for IN, because their SQL varies. Defaults of columns that Python computes are not supported. A SELECT
    returns the driver's values, which is right for numbers and texts.
    """

    def __init__(self, statement: Insert | Update | Select[Any]) -> None:
        self._statement = statement

    def execute(self, connection: Connection, parameters: Mapping[str, Any]) -> CursorResult[Any]:
        """Execute the statement; `parameters` are the values of columns and of the statement's own parameters."""
        kept: dict[Any, _Compiled | None] = vars(connection.dialect).setdefault(_PREPARED, {})
        key = (self, *parameters)
        if key not in kept:
            kept[key] = self._compile(connection.dialect, parameters)
        compiled = kept[key]
        if compiled is None:
            return connection.execute(self._statement, parameters)
        return connection.exec_driver_sql(compiled.sql, tuple(place.filled(parameters) for place in compiled.places))

    def _compile(self, dialect: Dialect, parameters: Mapping[str, Any]) -> _Compiled | None:
        compiled = self._statement.compile(dialect=dialect, column_keys=list(parameters))
        if compiled.post_compile_params:
            return None
        values = compiled.construct_params(parameters)
        places = []
        for name in compiled.positiontup or ():
            process = compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect)
            if name in parameters:
                places.append(_Place(name, None, process))
            else:
                places.append(_Place(None, process(values[name]) if process else values[name], None))
        return _Compiled(str(compiled), tuple(places))
