"""Texts that may be stored packed, and SQL expressions that read them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, ColumnElement, Text, TypeDecorator, and_, case, func, or_, type_coerce
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.database.engines import UNPACK
from app.database.packed_text import FROM_CHARACTERS, MARK, pack, start_size, unpack, unpack_start, unpacked_length
from app.models.compression import CompressedText, begins_with, raw_of


class SearchableText(CompressedText):
    """A text that may be stored packed. SQL reads it by `contains` and `excerpt`."""

    cache_ok = True
    mark = MARK
    shorten = staticmethod(pack)
    restore = staticmethod(unpack)
    length = staticmethod(unpacked_length)

    def is_plain(self, raw: ColumnElement[str]) -> ColumnElement[bool]:
        """Return the condition that a text is stored unpacked although it is long enough to be packed."""
        return and_(func.length(raw) >= FROM_CHARACTERS, super().is_plain(raw))


class _unpacked(FunctionElement[str]):  # noqa: N801 - a function of SQL
    """The text of a packed form; NULL if it is damaged."""

    type = Text()
    inherit_cache = True


@compiles(_unpacked, "sqlite")
def _unpacked_by_sqlite(element: _unpacked, compiler: SQLCompiler, **options: Any) -> str:
    return f"{UNPACK}({compiler.process(element.clauses, **options)})"


@compiles(_unpacked, "mysql")
def _unpacked_by_mysql(element: _unpacked, compiler: SQLCompiler, **options: Any) -> str:
    content = f"SUBSTR({compiler.process(element.clauses, **options)}, {len(MARK) + 1})"
    return f"CONVERT(UNCOMPRESS(FROM_BASE64({content})) USING utf8mb4)"


class _Excerpt(TypeDecorator[str]):
    """The first characters of a text, read from the beginning of its stored form; not for conditions of SQL."""

    impl = Text
    cache_ok = True

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.characters = characters

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else unpack_start(value, self.characters)


def contains(column: Column[Any], part: str) -> ColumnElement[bool]:
    """Return the condition that a `SearchableText` contains a part, in any case."""
    raw, is_packed = raw_of(column), begins_with(raw_of(column), MARK)
    in_packed = _unpacked(raw).icontains(part, autoescape=True)
    return or_(and_(~is_packed, raw.icontains(part, autoescape=True)), and_(is_packed, in_packed))


def excerpt(column: Column[Any], characters: int) -> ColumnElement[Any]:
    """Return the first characters of a `SearchableText`; None without a text, the readable beginning of a damaged one.

    The database returns the beginning of a packed form, which Python unpacks: MySQL can only unpack whole texts.
    """
    raw = raw_of(column)
    of_packed, of_plain = (func.substr(raw, 1, size, type_=Text) for size in (start_size(characters), characters))
    return type_coerce(case((begins_with(raw, MARK), of_packed), else_=of_plain), _Excerpt(characters))
