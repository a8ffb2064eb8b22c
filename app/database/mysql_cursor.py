"""mysqlclient's cursor, with a faster conversion of the values of large statements.

Ingest inserts some 5,500 values per batch; docs/performance.md has the cost of them in the driver and the server.
"""

from __future__ import annotations

from binascii import hexlify
from types import NoneType
from typing import Any

from MySQLdb.cursors import Cursor

HEX_BYTES = 64 * 1024
"""Longer bytes are sent with escapes: hexadecimal digits double their size, which may exceed a packet of the server."""


class LiteralCursor(Cursor):  # type: ignore[misc]
    """Writes integers, NULL and bytes itself; the driver writes texts and all other values.

    Bytes are sent as binary strings. The driver would send them as texts, and the server would check their encoding.
    """

    def execute(self, query: str, args: Any = None) -> Any:
        """Execute a query with `args`, a tuple for its `%s`, like the driver's cursor."""
        if not args or type(args) is not tuple:
            return super().execute(query, args)
        driver = self.connection

        def of_bytes(value: bytes | memoryview) -> bytes:
            if len(value) <= HEX_BYTES:
                return b"X'%b'" % hexlify(value)
            return b"_binary%b" % driver.string_literal(bytes(value))

        literals = {int: b"%d".__mod__, NoneType: lambda _: b"NULL", bytes: of_bytes, memoryview: of_bytes}
        written = [literals.get(type(value), driver.literal)(value) for value in args]
        return super().execute(query.encode(driver.encoding) % tuple(written))
