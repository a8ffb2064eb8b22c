"""mysqlclient's cursor, with a shorter way for the values of large statements.

Ingest inserts some 5,500 values a batch: see docs/performance.md for what the driver and the server need for them.
"""

from __future__ import annotations

from binascii import hexlify
from types import NoneType
from typing import Any

from MySQLdb.cursors import Cursor

HEX_BYTES = 64 * 1024
"""The longest bytes that are sent in two digits a byte. The largest bodies would not fit a packet of the server so."""


class LiteralCursor(Cursor):  # type: ignore[misc]
    """Writes integers, NULL and bytes itself, and leaves texts, and all other values, to the driver.

    Bytes are binary strings for the server. The driver sends them as texts, which the server checks as such.
    """

    def execute(self, query: str, args: Any = None) -> Any:
        """Execute a query with `args`, a tuple for its `%s`, as the driver's cursor does."""
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
