"""A replay plays its test case as it was when the replay was asked for; what no replay plays any more goes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import get_ident
from typing import Any

import pytest
from sqlalchemy import Connection, func, select, text

from app.errors import Invalid, NotFound
from app.models import removal
from app.models.case_snapshots import case_snapshots
from app.models.replays import replays
from app.services.experiments.request import NewExperiment
from app.services.replays.case_commands import CaseChange, WrittenCase
from app.work.remover import Remover
from tests.fakes.judging import judged
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import prompt
from tests.support.statements import executed
from tests.support.world import World


@pytest.fixture
def prompt_id(world: World) -> int:
    return prompt(world)


@pytest.fixture
def case_id(world: World, prompt_id: int) -> int:
    return written(world, prompt_id, "How hot is Rome?")


def written(world: World, prompt_id: int, question: str) -> int:
    row = world.container.services.test_cases.by_hand(
        project_id=world.project_id, prompt_id=prompt_id, written=WrittenCase(question, "Hot.")
    )
    return row.id


def change(world: World, case_id: int, **changes: Any) -> None:
    world.container.services.test_cases.change(
        project_id=world.project_id, test_case_id=case_id, change=CaseChange.of(**changes)
    )


def start(world: World, case_id: int) -> int:
    """Start a replay and lose its message."""
    return world.container.services.replays.start(project_id=world.project_id, test_case_id=case_id).id


def play(world: World, replay_id: int) -> dict[str, Any]:
    world.container.services.replay_player.play(replay_id)
    replay: dict[str, Any] = world.get(f"/api/v1/replays/{replay_id}").json
    return replay


def snapshots(world: World, prompt_id: int) -> int:
    with world.container.database.read() as connection:
        of_prompt = select(func.count()).where(case_snapshots.c.prompt_id == prompt_id)
        return int(connection.execute(of_prompt).scalar_one())


def execute(world: World, statement: str, **values: Any) -> None:
    with world.container.database.write() as connection:
        connection.execute(text(statement), values)


def test_a_change_after_the_start_is_not_played(world: World, case_id: int, upstream: Upstream) -> None:
    replay_id = start(world, case_id)
    execute(world, "UPDATE test_cases SET document = REPLACE(document, 'Rome', 'Oslo') WHERE id = :id", id=case_id)
    upstream.script(Reply(text="Hot."))

    assert play(world, replay_id)["turns"][0]["user"] == "How hot is Rome?"


def test_each_content_is_stored_once(world: World, prompt_id: int, case_id: int) -> None:
    start(world, case_id)
    start(world, case_id)
    assert snapshots(world, prompt_id) == 1
    change(world, case_id, order="any")
    start(world, case_id)
    assert snapshots(world, prompt_id) == 2
    change(world, case_id, order="effects")
    start(world, case_id)
    assert snapshots(world, prompt_id) == 2


def test_equal_test_cases_have_separate_snapshots(world: World, prompt_id: int, case_id: int) -> None:
    copied = world.container.services.test_cases.copy(project_id=world.project_id, test_case_id=case_id, name=None)
    rows = world.container.services.replays.start_all(project_id=world.project_id, prompt_id=prompt_id)
    assert {row.test_case_id for row in rows} == {case_id, copied.id}
    assert len({row.case_snapshot_id for row in rows}) == 2


def test_the_prompts_assertion_value_is_frozen_too(
    world: World, prompt_id: int, case_id: int, upstream: Upstream
) -> None:
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": "AI", "assertionValue": "Must be polite."})
    change(world, case_id, assertionType="AI")
    replay_id = start(world, case_id)
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionValue": "Must be rude."})
    upstream.script(Reply(text="Warm."), judged("passed"))

    play(world, replay_id)

    asked = str(upstream.requests[1].body)
    assert "Must be polite." in asked
    assert "Must be rude." not in asked
    start(world, case_id)
    assert snapshots(world, prompt_id) == 2


def test_unchanged_test_cases_are_not_read_again(world: World, prompt_id: int) -> None:
    for number in range(3):
        written(world, prompt_id, f"Question {number}?")
    services = world.container.services

    with executed([world.container.database.engine]) as first:
        services.replays.start_all(project_id=world.project_id, prompt_id=prompt_id)
    with executed([world.container.database.engine]) as second:
        services.replays.start_all(project_id=world.project_id, prompt_id=prompt_id)

    assert sum("document" in each for each in first) == 2
    assert not [each for each in second if "document" in each]


def test_replays_and_test_cases_of_older_releases_are_played(
    world: World, prompt_id: int, case_id: int, upstream: Upstream
) -> None:
    execute(world, "UPDATE test_cases SET fingerprint = '' WHERE id = :id", id=case_id)
    before, after = start(world, case_id), start(world, case_id)
    assert snapshots(world, prompt_id) == 1
    execute(world, "UPDATE replays SET case_snapshot_id = NULL WHERE id = :id", id=before)
    upstream.script(Reply(text="Hot."), Reply(text="Hot."))
    assert [play(world, each)["status"] for each in (before, after)] == ["passed", "passed"]


def test_deleting_a_test_case_deletes_its_snapshots(world: World, prompt_id: int, case_id: int) -> None:
    replay_id = start(world, case_id)
    world.container.services.test_cases.delete(project_id=world.project_id, test_case_id=case_id)
    assert snapshots(world, prompt_id) == 0
    replay = play(world, replay_id)
    assert (replay["status"], replay["error"]) == ("error", "The test case was deleted before it was replayed.")


def test_a_test_case_that_gets_the_id_of_a_deleted_one_is_not_played(
    world: World, prompt_id: int, case_id: int
) -> None:
    replay_id = start(world, case_id)
    world.container.services.test_cases.delete(project_id=world.project_id, test_case_id=case_id)
    start(world, written(world, prompt_id, "Another question?"))
    assert play(world, replay_id)["status"] == "error"


def test_an_erased_prompt_leaves_no_snapshot(world: World, prompt_id: int, case_id: int) -> None:
    start(world, case_id)
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)
    assert snapshots(world, prompt_id) == 0


def test_a_replay_stored_while_its_prompt_is_erased_is_removed_as_well(
    world: World, prompt_id: int, case_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay_id = start(world, case_id)
    with world.container.database.read() as connection:
        late = [connection.execute(replays.select().where(replays.c.id == replay_id)).one()._asdict()]
    exhaust = Remover.exhaust

    def removed(remover: Remover, step: partial[int]) -> int:
        if step.keywords.get("table") == "case_snapshots" and late:
            with world.container.database.write() as connection:
                connection.execute(replays.insert().values(late.pop()))
        return exhaust(remover, step)

    monkeypatch.setattr(Remover, "exhaust", removed)
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)

    assert not late
    assert (world.count("replays"), snapshots(world, prompt_id)) == (0, 0)


@pytest.mark.parametrize("table", ["case_snapshots", "draft_snapshots"])
def test_snapshots_go_with_the_last_replay_that_refers_to_them(
    world: World, prompt_id: int, case_id: int, table: str
) -> None:
    start(world, case_id)
    change(world, case_id, order="any")
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be rude."})
    replay_id = start(world, case_id)

    def removed() -> int:
        return world.container.database.retrying(
            lambda connection: removal.remove_unused_snapshots(
                connection, table, project_id=world.project_id, limit=100
            )
        )

    with executed(world.container.database.engines, thread=get_ident()) as statements:
        assert removed() == 0
    # No list of ids is empty: SQLite would go through whole tables for it.
    assert sum("FROM " + table in statement for statement in statements) == 1
    execute(world, "DELETE FROM replays WHERE id < :id AND prompt_id = :prompt_id", id=replay_id, prompt_id=prompt_id)
    assert (removed(), removed()) == (1, 0)
    execute(world, "DELETE FROM replays WHERE id = :id", id=replay_id)
    assert (removed(), removed()) == (1, 0)


def test_an_experiment_keeps_its_snapshots_until_it_has_ended(world: World, prompt_id: int, case_id: int) -> None:
    new = NewExperiment(baseline=None)
    experiment = world.container.services.experiments.start(project_id=world.project_id, prompt_id=prompt_id, new=new)
    of_project = {"project_id": world.project_id, "limit": 100}

    def removed(connection: Connection) -> list[int]:
        return [
            removal.remove_unused_snapshots(connection, table, **of_project)
            for table in ("case_snapshots", "draft_snapshots")
        ]

    assert world.container.database.retrying(removed) == [0, 0]
    execute(world, "UPDATE experiments SET status = 'finished' WHERE id = :id", id=experiment.id)
    assert world.container.database.retrying(removed) == [1, 0]


def test_replays_that_start_while_their_test_case_goes_leave_nothing_of_it(world: World, prompt_id: int) -> None:
    services = world.container.services

    def started(case_id: int) -> None:
        try:
            start(world, case_id)
        except (Invalid, NotFound):
            return

    def deleted(case_id: int) -> None:
        services.test_cases.delete(project_id=world.project_id, test_case_id=case_id)

    for number in range(10):
        case_id = written(world, prompt_id, f"Question {number}?")
        with ThreadPoolExecutor(3) as pool:
            for each in [pool.submit(work, case_id) for work in (started, deleted, started)]:
                each.result()
    assert snapshots(world, prompt_id) == 0
