"""A statement is routed if each of its queries names the shards of its rows."""

from __future__ import annotations

import pytest

from tests.support.routing import Statement, Vindexes
from tests.support.statements import normalised

VINDEXES = Vindexes(
    {
        "projects": (),
        "keys": (),
        "prompts": ("project_id", "id"),
        "runs": ("project_id", "id", "prompt_id"),
        "versions": ("prompt_id", "id"),
    },
    frozenset({"projects"}),
)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT name FROM keys WHERE digest = %s",
        "SELECT name FROM table_of_a_test",
        "SELECT id FROM runs WHERE project_id = %s AND status = %s",
        "SELECT id FROM runs WHERE (id IN (%s, %s)) LIMIT %s",
        "SELECT runs.id FROM runs JOIN projects ON projects.id = runs.project_id WHERE runs.id = %s",
        "SELECT prompts.id FROM prompts LEFT JOIN runs ON runs.prompt_id = prompts.id WHERE prompts.id = %s",
        "SELECT id FROM versions WHERE prompt_id IN (SELECT prompts.id FROM prompts WHERE prompts.project_id = %s)",
        "SELECT n FROM (SELECT id AS n FROM runs WHERE project_id = %s) AS found WHERE n > %s",
        "SELECT id FROM prompts WHERE id = %s AND EXISTS (SELECT 1 FROM runs WHERE runs.prompt_id = prompts.id)",
        "INSERT INTO runs (project_id, status) VALUES (%s, %s), (%s, %s)",
        "INSERT INTO runs (project_id, status) SELECT project_id, name FROM prompts WHERE project_id = %s",
        "INSERT INTO versions (prompt_id, n) VALUES (%s, %s) ON DUPLICATE KEY UPDATE n = n + 1",
        "INSERT INTO versions (prompt_id, n) VALUES (%s, %s) ON DUPLICATE KEY UPDATE prompt_id = VALUES(prompt_id)",
        "UPDATE runs, prompts SET runs.status = %s WHERE runs.project_id = %s AND prompts.project_id = %s",
        "DELETE FROM versions WHERE id = %s",
    ],
)
def test_it_is(text: str) -> None:
    assert Statement(text).is_routed(VINDEXES)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM runs",
        "SELECT id FROM runs WHERE status = %s",
        "SELECT id FROM runs WHERE api_key_id = %s",
        "SELECT id FROM runs WHERE project_id > %s",
        "SELECT id FROM runs WHERE id = %s OR status = %s",
        "SELECT id FROM runs WHERE project_id = other_id",
        "SELECT id FROM runs WHERE id IN (%s, other_id)",
        # The key of the query in it is not its own, nor the other way round.
        "SELECT id FROM runs WHERE EXISTS (SELECT 1 FROM prompts WHERE prompts.id = %s)",
        "SELECT id FROM prompts WHERE id = %s AND EXISTS (SELECT 1 FROM runs WHERE runs.status = prompts.name)",
        # Each is only found by the other one.
        "SELECT id FROM prompts WHERE id IN (SELECT runs.id FROM runs WHERE runs.project_id = prompts.project_id)",
        # Other columns than those of one vindex.
        "SELECT runs.id FROM runs JOIN prompts ON prompts.id = runs.id WHERE runs.project_id = %s",
        # A condition of the outer join does not choose rows of the first table.
        "SELECT prompts.id FROM prompts LEFT JOIN runs ON prompts.id = %s AND runs.prompt_id = %s",
        # Not on the shard.
        "SELECT runs.id FROM runs JOIN `keys` ON keys.id = runs.api_key_id WHERE runs.project_id = %s",
        "INSERT INTO runs (status) VALUES (%s)",
        "INSERT INTO runs (project_id, status) SELECT project_id, name FROM prompts",
        "INSERT INTO versions (prompt_id, n) VALUES (%s, %s) ON DUPLICATE KEY UPDATE prompt_id = versions.prompt_id",
        "UPDATE runs SET prompt_id = %s WHERE id = %s",
        "UPDATE runs, prompts SET runs.status = %s WHERE runs.project_id = %s",
    ],
)
def test_it_is_not(text: str) -> None:
    assert not Statement(text).is_routed(VINDEXES)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("SELECT id FROM runs WHERE id = %s FOR UPDATE SKIP LOCKED", {"SELECT", "FOR UPDATE", "SKIP LOCKED"}),
        ("SELECT id FROM runs LOCK IN SHARE MODE", {"SELECT", "FOR SHARE"}),
        ("INSERT IGNORE INTO runs (id) VALUES (%s)", {"INSERT", "INSERT IGNORE"}),
        (
            "INSERT INTO runs (id) VALUES (%s) ON DUPLICATE KEY UPDATE id = VALUES(id)",
            {"INSERT", "ON DUPLICATE KEY UPDATE", "VALUES()"},
        ),
        ("INSERT INTO runs (id) SELECT id FROM prompts", {"INSERT", "INSERT … SELECT"}),
        (
            "DELETE FROM runs WHERE id IN (SELECT id FROM prompts) LIMIT 1",
            {"DELETE", "DELETE … LIMIT", "IN (SELECT …)"},
        ),
        ("UPDATE runs FORCE INDEX (a), prompts SET a = 1", {"UPDATE", "UPDATE of two tables", "FORCE INDEX"}),
        ("SELECT 1 UNION ALL SELECT 2", {"UNION"}),
        ("SELECT row_number() OVER (PARTITION BY a) FROM runs GROUP BY b", {"SELECT", "OVER", "GROUP BY"}),
        ("SELECT GET_LOCK(%s, 60)", {"SELECT", "GET_LOCK()"}),
    ],
)
def test_its_kinds_are_recognized(text: str, kinds: set[str]) -> None:
    assert Statement(text).kinds == kinds


def test_lists_of_values_and_rows_are_normalised_to_one() -> None:
    assert normalised("SELECT a FROM runs\nWHERE id IN (%s, %s, %s)") == "SELECT a FROM runs WHERE id IN (%s)"
    assert normalised("SELECT a FROM runs WHERE id IN (NULL) AND (1 != 1)") == "SELECT a FROM runs WHERE id IN (%s)"
    assert normalised("INSERT INTO runs (a) VALUES (%s, %s),(%s, %s)") == "INSERT INTO runs (a) VALUES (%s)"
