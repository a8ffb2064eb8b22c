"""Used by all tables: metadata with named constraints, and column types that behave alike on MySQL and SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import orjson
from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    func,
    select,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import SchemaItem
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.values.structs import decode

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

OPTIONS: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_row_format": "DYNAMIC"}

# SQLite gives rowids only to INTEGER; MySQL wants BIGINT.
BigInt = BigInteger().with_variant(Integer(), "sqlite")
MediumText = Text().with_variant(mysql.MEDIUMTEXT(), "mysql")
LongText = Text().with_variant(mysql.LONGTEXT(), "mysql")
MediumBlob = LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql")
# Identifiers compare byte for byte on both: MySQL's default collation would fold case and accents.
_BINARY_COLLATION = "utf8mb4_bin"


def binary(length: int) -> LargeBinary:
    """Return the type of a column of exactly `length` bytes."""
    return LargeBinary(length).with_variant(mysql.BINARY(length), "mysql")


# A long text that is compared byte for byte.
ExactText = Text().with_variant(mysql.MEDIUMTEXT(collation=_BINARY_COLLATION), "mysql")


class ExactString(TypeDecorator[str]):
    """A string that is compared byte for byte, without blanks at its end.

    MySQL's collation ignores these blanks, SQLite does not. They are removed from what is stored and compared, so that
    both databases, and Python, find the same names equal. MySQL and MariaDB have no such collation in common.
    """

    impl = String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        length = self.impl_instance.length  # type: ignore[attr-defined]  # of a String
        is_mysql = dialect.name == "mysql"
        return dialect.type_descriptor(
            mysql.VARCHAR(length, collation=_BINARY_COLLATION) if is_mysql else String(length)
        )

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else value.rstrip(" ")


def exact(length: int) -> ExactString:
    return ExactString(length)


class Timestamp(TypeDecorator[datetime]):
    """An aware UTC datetime with milliseconds."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        return dialect.type_descriptor(mysql.DATETIME(fsp=3) if dialect.name == "mysql" else DateTime())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        utc = value.astimezone(UTC).replace(tzinfo=None)
        return utc.replace(microsecond=utc.microsecond // 1000 * 1000)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class Json(TypeDecorator[Any]):
    """Any JSON value as text: order and numbers stay as they were written, unlike in MySQL's own JSON type."""

    impl = MediumText
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else orjson.dumps(value, default=msgspec.to_builtins).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else orjson.loads(value)


class JsonStruct(Json):
    """Like `Json`, but read as a `msgspec.Struct` of the type `kind`."""

    cache_ok = True

    def __init__(self, kind: type[msgspec.Struct]) -> None:
        super().__init__()
        self.kind = kind

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else decode(value, self.kind)


class LongJson(Json):
    """Like `Json`, for values over 16 MiB."""

    impl = LongText
    cache_ok = True


def new_table(name: str, *parts: SchemaItem | type[Any], **options: Any) -> Table:
    """Return a table with these columns and indexes, and the column `id`, which the database counts up.

    A dataclass is turned into columns: one for each field that is `Annotated` with a column's type, foreign key and
    default.
    """
    items = [item for part in parts for item in (_columns(part) if isinstance(part, type) else (part,))]
    return Table(
        name, metadata, Column("id", BigInt, primary_key=True, autoincrement=True), *items, **OPTIONS, **options
    )


def _columns(row_type: type[Any]) -> Iterator[Column[Any]]:
    """Yield a column for each annotated field. The column is nullable if the field may be None."""
    for name, hint in get_type_hints(row_type, include_extras=True).items():
        if get_origin(hint) is Annotated:
            yield Column(name, *hint.__metadata__, nullable=NoneType in get_args(hint.__origin__))


def reference(name: str, target: str) -> Column[Any]:
    """Return a foreign key to `target.id`; MySQL makes the index it needs."""
    return Column(name, BigInt, ForeignKey(f"{target}.id"), nullable=False)


class no_index(FunctionElement[Any]):  # noqa: N801 - named as SQL's functions are
    """A column that SQLite must not choose an index by, such as the project's id that only a sharding proxy needs.

    SQLite has no statistics here and would prefer the index of any column that is compared for equality. It uses no
    index for an expression. See "Disqualifying WHERE Clause Terms Using Unary-+" in its documentation.
    """

    inherit_cache = True


@compiles(no_index)
def _column(element: no_index, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


@compiles(no_index, "sqlite")
def _expression(element: no_index, compiler: SQLCompiler, **options: Any) -> str:
    return f"+{compiler.process(element.clauses, **options)}"


def lock_count() -> Column[Any]:
    """Return the column that `queries.lock_rows` changes."""
    return Column("lock_count", Integer, nullable=False, server_default="0")


def earlier_now(connection: Connection, now: datetime) -> datetime:
    """Return the earlier of `now` and the database's time, so that a fast clock ends nothing too early."""
    if connection.dialect.name == "sqlite":
        return min(now, datetime.now(UTC))
    of_database: datetime = connection.execute(select(func.utc_timestamp(3, type_=DateTime))).scalar_one()
    return min(now, of_database.replace(tzinfo=UTC))
