"""SQLite, which counts no rows, finds by their keys the rows that statements name by a key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event

from app.process import clock
from tests.integration.test_sharding import walk
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.everything import MARK, everything, organization
from tests.support.world import World

KEYS = ("id", "session_key", "trace_id")
# Not the first of several conditions of which one is enough.
NAMED = re.compile(rf"(?<!\()\b(\w+)\.({'|'.join(KEYS)}) (?:=|IN) (?:\?|\(\?)")


@contextmanager
def executed() -> Iterator[dict[str, Any]]:
    """Collect the statements that the block executes on SQLite, each with its last parameters."""
    found: dict[str, Any] = {}

    def note(_c: Any, _cursor: Any, text: str, parameters: Any, _context: Any, many: bool) -> None:
        found[text] = next(iter(parameters), ()) if many else parameters

    event.listen(Engine, "before_cursor_execute", note)
    yield found
    event.remove(Engine, "before_cursor_execute", note)


@EMBEDDED_CONTAINER
def test_rows_that_are_named_by_a_key_are_found_by_it(world: World) -> None:
    with executed() as found:
        world.member(f"{MARK}-{world.organization_id}@example.org")
        made = everything(world) | organization(world)
        for job in clock.jobs(world.container):
            job.run()
        walk(world, made)
        made = everything(world)
        world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=made["prompt_id"])
    named = {text: parameters for text, parameters in found.items() if NAMED.search(text)}
    assert len(named) > 100
    assert [text for text, parameters in named.items() if not uses_keys(world, text, parameters)] == []


def uses_keys(world: World, text: str, parameters: Any) -> bool:
    """Return whether each table of which a key is named is searched by that key, or by the key of another one."""
    with world.container.database.read() as connection:
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", parameters)]
    for table in {match[1] for match in NAMED.finditer(text)}:
        steps = [step for step in plan if re.search(rf"(?:SEARCH|SCAN) {table}\b", step)]
        if not all(re.search(rf"PRIMARY KEY|\b(?:{'|'.join(KEYS)})=", step) for step in steps):
            return False
    return True
