"""Texts that may be stored packed, and the expressions by which databases look into them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, ColumnElement, Text, and_, case, func, or_
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.engines import UNPACK
from app.models.compression import CompressedText, begins_with, raw_of
from app.packed_text import FROM_CHARACTERS, MARK, pack, unpack


class SearchableText(CompressedText):
    """A text, which may be stored packed; SQL looks into it by `contains` and `excerpt`."""

    cache_ok = True
    mark = MARK
    shorten = staticmethod(pack)
    restore = staticmethod(unpack)

    def is_plain(self, raw: ColumnElement[str]) -> ColumnElement[bool]:
        """Return the condition that a text is stored as it is, and long enough to be packed."""
        return and_(func.length(raw) >= FROM_CHARACTERS, super().is_plain(raw))


class _unpacked(FunctionElement[str]):  # noqa: N801 - a function of SQL
    """The text of a packed form; NULL where it is damaged."""

    type = Text()
    inherit_cache = True


@compiles(_unpacked, "sqlite")
def _unpacked_by_sqlite(element: _unpacked, compiler: SQLCompiler, **options: Any) -> str:
    return f"{UNPACK}({compiler.process(element.clauses, **options)})"


@compiles(_unpacked, "mysql")
def _unpacked_by_mysql(element: _unpacked, compiler: SQLCompiler, **options: Any) -> str:
    content = f"SUBSTR({compiler.process(element.clauses, **options)}, {len(MARK) + 1})"
    return f"CONVERT(UNCOMPRESS(FROM_BASE64({content})) USING utf8mb4)"


def contains(column: Column[Any], part: str) -> ColumnElement[bool]:
    """Return the condition that a `SearchableText` has a part, in any case."""
    raw, is_packed = raw_of(column), begins_with(raw_of(column), MARK)
    in_packed = _unpacked(raw).icontains(part, autoescape=True)
    return or_(and_(~is_packed, raw.icontains(part, autoescape=True)), and_(is_packed, in_packed))


def excerpt(column: Column[Any], characters: int) -> ColumnElement[Any]:
    """Return the first characters of a `SearchableText`; NULL where there is none, "" of a damaged one."""
    raw = raw_of(column)
    of_packed, of_plain = (func.substr(text, 1, characters, type_=Text) for text in (_unpacked(raw), raw))
    return case((begins_with(raw, MARK), func.coalesce(of_packed, "")), else_=of_plain)
