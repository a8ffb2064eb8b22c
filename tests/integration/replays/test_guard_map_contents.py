"""The contents of a guard map's mutants are stored as changes of its text, and read whole."""

from __future__ import annotations

import pytest
from sqlalchemy import delete, func, select, update

from app.models import prompt_versions, removal
from app.models.experiments import experiments
from app.models.prompt_versions import SnapshotRow, draft_snapshots
from app.models.replays import replays
from tests.fakes.upstream import Upstream
from tests.integration.replays.experimenting import case, ended
from tests.integration.replays.recording import finished, prompt
from tests.integration.replays.test_guard_maps_api import BRIEF, HIDE, TEXT, follow, start
from tests.support.world import World

LONG = "x" * 50_000
WITHOUT_BRIEF = TEXT.replace(f"{BRIEF}\n", "")


@pytest.fixture
def prompt_id(world: World, upstream: Upstream) -> int:
    upstream.choose = follow
    prompt_id = prompt(world, value=f"{TEXT}# {LONG}")
    case(world, prompt_id, "What is the code?", "I can't show it.")
    return prompt_id


def contents(world: World, prompt_id: int) -> list[SnapshotRow]:
    c = draft_snapshots.c
    with world.container.database.read() as connection:
        ids = connection.scalars(select(c.id).where(c.prompt_id == prompt_id).order_by(c.id)).all()
        return [prompt_versions.get_snapshot(connection, snapshot_id=id_) for id_ in ids]


def stored_characters(world: World, prompt_id: int) -> list[int]:
    c = draft_snapshots.c
    size = func.length(c.value) + func.length(c.placeholders) + func.length(c.config)
    with world.container.database.read() as connection:
        return sorted(connection.scalars(select(size).where(c.prompt_id == prompt_id)))


def remove_unused(world: World) -> int:
    return world.container.database.retrying(
        lambda connection: removal.remove_unused_snapshots(
            connection, "draft_snapshots", project_id=world.project_id, limit=100
        )
    )


def test_a_map_of_a_long_text_does_not_store_it_for_each_mutant(world: World, prompt_id: int) -> None:
    ended(world, start(world, prompt_id))

    *mutants, text = stored_characters(world, prompt_id)
    assert len(mutants) >= 3
    assert max(mutants) < 500 < LONG.count("x") < text


def test_mutants_are_played_with_the_whole_text(world: World, upstream: Upstream, prompt_id: int) -> None:
    ended(world, start(world, prompt_id))

    text, *mutants = contents(world, prompt_id)
    assert {mutant.fingerprint for mutant in mutants}.isdisjoint({text.fingerprint})
    assert any(HIDE not in mutant.value and BRIEF in mutant.value and LONG in mutant.value for mutant in mutants)
    assert {(str(m.placeholders), str(m.config), m.instruction_format) for m in mutants} == {
        (str(text.placeholders), str(text.config), text.instruction_format)
    }
    assert sum(LONG in request.body["messages"][0]["content"] for request in upstream.requests) >= len(mutants)


def test_a_draft_with_the_text_of_a_mutant_is_stored_whole(world: World, upstream: Upstream) -> None:
    upstream.choose = follow
    prompt_id = prompt(world, value=TEXT)
    case_id = case(world, prompt_id, "What is the code?", "I can't show it.")
    ended(world, start(world, prompt_id))
    before = contents(world, prompt_id)
    (mutant,) = (row for row in before if BRIEF not in row.value)

    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": mutant.value})
    replay = world.post(f"/api/v1/test-cases/{case_id}/replays", json={}).json

    assert finished(world, replay["id"])["status"] == "passed"
    assert contents(world, prompt_id) == before
    with world.container.database.read() as connection:
        c = draft_snapshots.c
        assert connection.scalar(select(c.value).where(c.id == mutant.id)) == mutant.value


def test_mutants_that_an_earlier_release_stored_whole_are_read_and_played_again(
    world: World, upstream: Upstream, prompt_id: int
) -> None:
    ended(world, start(world, prompt_id))
    before, c = contents(world, prompt_id), draft_snapshots.c
    with world.container.database.write() as connection:
        for row in before:
            whole = {"value": row.value, "config": row.config, "placeholders": row.placeholders}
            connection.execute(update(draft_snapshots).where(c.id == row.id).values(whole))

    shown = ended(world, start(world, prompt_id))

    assert shown["status"] == "finished"
    assert contents(world, prompt_id) == before


def test_a_text_stays_as_long_as_a_mutant_of_it(world: World, prompt_id: int) -> None:
    ended(world, start(world, prompt_id))
    text, *mutants = contents(world, prompt_id)
    with world.container.database.write() as connection:
        kept = replays.c.draft_snapshot_id != mutants[0].id
        connection.execute(delete(replays).where(replays.c.prompt_id == prompt_id, kept))
        connection.execute(delete(experiments).where(experiments.c.prompt_id == prompt_id))

    assert remove_unused(world) == len(mutants) - 1
    assert remove_unused(world) == 0
    assert contents(world, prompt_id) == [text, mutants[0]]
    with world.container.database.write() as connection:
        connection.execute(delete(replays).where(replays.c.prompt_id == prompt_id))
    assert [remove_unused(world) for _ in range(3)] == [1, 1, 0]
