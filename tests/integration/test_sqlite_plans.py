"""SQLite, which counts no rows, finds by their keys the rows that statements name by a key."""

from __future__ import annotations

import re

from app.models.invariants import INVARIANTS, broken_of
from app.process import clock
from tests.integration.test_sharding import walk
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.full_project import MARK, everything, organization
from tests.support.statements import executed
from tests.support.world import World

KEYS = ("id", "session_key", "trace_id")
PARENTS = ("prompt_id", "test_case_id")
"""Keys of rows that have many others. Rows that are named only by one of these may be found by their project, too."""
# Not the first of several conditions of which one is enough.
NAMED = re.compile(rf"(?<!\()\b(\w+)\.({'|'.join(KEYS + PARENTS)}) (?:=|IN) (?:\?|\(\?)")
LIST = re.compile(r"IN \(\?(?:, \?)*\)")


@EMBEDDED_CONTAINER
def test_rows_that_are_named_by_a_key_are_found_by_it(world: World) -> None:
    with executed(world.container.database.engines) as found:
        world.member(f"{MARK}-{world.organization_id}@example.org")
        made = everything(world) | organization(world)
        for job in clock.jobs(world.container):
            job.run()
        examine_every_rule(world)
        walk(world, made)
        made = everything(world)
        world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=made["prompt_id"])
    named = {text for text in found if NAMED.search(text)}
    assert len(named) > 100
    assert [text for text in sorted(named) if not uses_keys(world, text)] == []


def examine_every_rule(world: World) -> None:
    """Examine some rows for each rule: the clock's job reaches only some rules in its time, and only stored rows."""
    with world.container.database.read() as connection:
        for invariant in INVARIANTS:
            broken_of(invariant, connection, world.project_id, [1, 2, 3], world.container.now())


def uses_keys(world: World, text: str) -> bool:
    """Return whether each table of which a key is named is searched by that key, or by the key of another one."""
    # SQLite plans for the number of values in a list, and finds a single one by the better key more often.
    text = LIST.sub("IN (?, ?, ?)", text)
    with world.container.database.read() as connection:
        explained = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", (None,) * text.count("?"))
        plan = [row[3] for row in explained]
    for table in {match[1] for match in NAMED.finditer(text)}:
        keys = {match[2] for match in NAMED.finditer(text) if match[1] == table}
        allowed = (*KEYS, *PARENTS, "project_id") if keys.issubset(PARENTS) else KEYS
        steps = [step for step in plan if re.search(rf"(?:SEARCH|SCAN) {table}\b", step)]
        if not all(re.search(rf"PRIMARY KEY|\b(?:{'|'.join(allowed)})=", step) for step in steps):
            return False
    return True


FEW = {
    "CONSTANT",
    "alert_rules",
    "data_policies",
    "online_checks",
    "organizations",
    "projects",
    "prompts",
    "schedules",
    "webhooks",
}
"""Tables of which a project has few rows: periodic jobs go through them. SQLite calls an empty list a constant."""


@EMBEDDED_CONTAINER
def test_no_periodic_job_goes_through_a_table_that_grows(world: World) -> None:
    with executed(world.container.database.engines) as found:
        everything(world)
        found.clear()
        for job in clock.jobs(world.container):
            # The search reads all turns once, when it is enabled.
            if job.name != "index_words":
                job.run()
        examine_every_rule(world)
    scanned = {(table, text) for text in found for table in scans(world, text) if table not in FEW}
    # A subquery has a limit, and its tables are looked at, too.
    scanned = {(table, text) for table, text in scanned if not table.startswith("anon_") and table != "newest"}
    assert [f"{table}: {text}" for table, text in sorted(scanned)] == []


def scans(world: World, text: str) -> list[str]:
    """Return the tables that a statement reads from the beginning, without a search for a key or a range."""
    with world.container.database.read() as connection:
        explained = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", (None,) * text.count("?"))
        return [match[1] for row in explained if (match := re.match(r"SCAN (\w+)", row[3]))]


@EMBEDDED_CONTAINER
def test_a_filter_by_score_finds_the_scores_of_each_session_and_run_by_their_keys(world: World) -> None:
    prompt_id = world.prompt()
    with executed(world.container.database.engines) as found:
        for path in ("sessions", f"prompts/{prompt_id}/logs"):
            assert world.get(f"/api/v1/{path}?score=helpful&minScore=1").status_code == 200
    filters = {text for text in found if "FROM scores" in text or ", scores" in text}
    assert filters
    with world.container.database.read() as connection:
        for text in filters:
            explained = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", (None,) * text.count("?"))
            steps = [row[3] for row in explained if "scores" in row[3]]
            assert steps
            assert all(re.search(r"\b(?:trace_id|session_key|run_id)=", step) for step in steps), steps
