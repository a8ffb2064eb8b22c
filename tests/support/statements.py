"""Notes the statements that are executed, on whatever database."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from sqlalchemy import Engine, event


@contextmanager
def executed(engines: Iterable[Engine] = ()) -> Iterator[list[str]]:
    """Collect the statements that the engines execute while the block runs; of all engines where none is given."""
    found: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        found.append(statement)

    with ExitStack() as stack:
        for target in tuple(engines) or (Engine,):
            event.listen(target, "before_cursor_execute", note)
            stack.callback(event.remove, target, "before_cursor_execute", note)
        yield found
