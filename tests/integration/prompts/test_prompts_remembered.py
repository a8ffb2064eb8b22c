"""A prompt in a process's cache is as current as the database, whichever process changed it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import redis
from sqlalchemy import Connection

from app.errors import NotFound
from app.metrics import Metrics
from app.models import prompts
from app.providers import catalogue
from app.redis_store import keys
from app.redis_store.epochs import REMEMBERED_S, Epochs
from app.services.language_models.service import ModelService
from app.services.prompts.editor import VersionService
from app.services.prompts.reader import PromptReader
from app.services.prompts.service import PromptService
from app.services.prompts.splits import ByLabel
from tests.support.waiting import free_port
from tests.support.world import World, new_world

PROMPTS = "/api/v1/prompts"


@dataclass
class Process:
    """Another process: readers with separate caches and a separate clock."""

    world: World
    now_s: float = 0.0
    reads: int = 0
    prompts: PromptService = field(init=False)

    def __post_init__(self) -> None:
        container, metrics = self.world.container, Metrics()
        models = ModelService(database=container.database, now=container.now, catalogue=catalogue.load())
        reader = PromptReader(models=models, metrics=metrics)
        self.prompts = PromptService(
            database=self,  # type: ignore[arg-type]
            reader=reader,
            metrics=metrics,
            monotonic=lambda: self.now_s,
        )

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """The database's, counted."""
        self.reads += 1
        with self.world.container.database.read() as connection:
            yield connection

    def text(self, prompt_id: int, project_id: int | None = None, by_label: ByLabel | None = None) -> str:
        """The newest version's or a label's, asked for as a request does that has just been counted."""
        project_id = project_id or self.world.project_id
        epoch = self.world.container.limiter.hit("anybody", project_id=project_id).epoch
        return self.prompts.content(
            project_id=project_id, prompt_id=prompt_id, productive=True, by_label=by_label, epoch=epoch
        ).value


@pytest.fixture
def process(world: World) -> Process:
    return Process(world)


@pytest.fixture
def prompt_id(world: World, process: Process) -> int:
    """A prompt of two versions, "one" and "two", which the other process remembers."""
    made = int(world.post(PROMPTS, json={"name": "n", "value": "one"}).json["prompt"]["id"])
    commit(world, made, "two")
    process.text(made)
    assert process.text(made) == "two"
    return made


def commit(world: World, prompt_id: int, value: str) -> None:
    world.patch(f"{PROMPTS}/{prompt_id}", json={"value": value})
    assert world.post(f"{PROMPTS}/{prompt_id}/commit").status_code == 201


def test_while_nothing_changes_the_database_is_not_asked(process: Process, prompt_id: int) -> None:
    reads = process.reads
    for _ in range(5):
        assert process.text(prompt_id) == "two"
    assert process.reads == reads


def test_a_commit_is_seen_at_once(world: World, process: Process, prompt_id: int) -> None:
    for value in ("three", "four"):
        commit(world, prompt_id, value)
        assert process.text(prompt_id) == value


def test_a_moved_label_is_seen_at_once_and_costs_no_question_to_the_database(
    world: World, process: Process, prompt_id: int
) -> None:
    versions = world.get(f"{PROMPTS}/{prompt_id}/versions").json["versions"]
    newest, first = (version["commitHash"] for version in versions)
    for commit_hash, value in ((first, "one"), (newest, "two"), (first, "one")):
        put_label(world, prompt_id, commit_hash)
        assert process.text(prompt_id, by_label=ByLabel("production")) == value

        reads = process.reads
        assert process.text(prompt_id, by_label=ByLabel("production")) == value
        assert process.reads == reads


def test_a_split_and_a_deletion_of_a_label_are_seen_at_once(world: World, process: Process, prompt_id: int) -> None:
    versions = world.get(f"{PROMPTS}/{prompt_id}/versions").json["versions"]
    newest, first = (version["commitHash"] for version in versions)
    by_labels = [ByLabel("production", f"user {number}") for number in range(20)]
    put_label(world, prompt_id, first)
    assert {process.text(prompt_id, by_label=by_label) for by_label in by_labels} == {"one"}

    put_label(world, prompt_id, newest, share=0.5)
    assert {process.text(prompt_id, by_label=by_label) for by_label in by_labels} == {"one", "two"}

    world.delete(f"{PROMPTS}/{prompt_id}/labels/production")
    with pytest.raises(NotFound):
        process.text(prompt_id, by_label=ByLabel("production"))


def put_label(world: World, prompt_id: int, commit_hash: str, **body: float) -> None:
    moved = world.put(f"{PROMPTS}/{prompt_id}/labels/production", json={"commitHash": commit_hash, **body})
    assert moved.status_code == 200, moved.text


def archive(world: World, prompt_id: int) -> Any:
    return world.delete(f"{PROMPTS}/{prompt_id}")


def erase(world: World, prompt_id: int) -> None:
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)


def erase_all(world: World, _prompt_id: int) -> None:
    world.container.services.deletion.erase_project(project_id=world.project_id)


@pytest.mark.parametrize("remove", [archive, erase, erase_all])
def test_a_removal_is_seen_at_once(
    world: World, process: Process, prompt_id: int, remove: Callable[[World, int], Any]
) -> None:
    remove(world, prompt_id)

    with pytest.raises(NotFound):
        process.text(prompt_id)


@pytest.mark.parametrize("how", ["edit", "restore"])
def test_what_prompts_share_with_their_draft_is_seen_at_once(
    world: World, process: Process, prompt_id: int, how: str
) -> None:
    epoch = world.container.limiter.hit("anybody", project_id=world.project_id).epoch
    if how == "edit":
        world.patch(f"{PROMPTS}/{prompt_id}", json={"value": "three"})
    else:
        first = world.get(f"{PROMPTS}/{prompt_id}/versions").json["versions"][-1]["commitHash"]
        world.post(f"{PROMPTS}/{prompt_id}/versions/{first}/restore")

    now = world.container.limiter.hit("anybody", project_id=world.project_id).epoch
    assert now != epoch
    view = process.prompts.get(project_id=world.project_id, prompt_id=prompt_id, productive=True, epoch=now)
    assert not view.head.committed


def test_other_organizations_do_not_get_what_is_remembered(world: World, process: Process, prompt_id: int) -> None:
    with pytest.raises(NotFound):
        process.text(prompt_id, new_world(world.container).project_id)


def test_a_redis_that_has_lost_everything_hides_no_commit(world: World, process: Process, prompt_id: int) -> None:
    world.container.redis.commands.delete(keys.epoch(world.project_id))
    commit(world, prompt_id, "three")
    assert process.text(prompt_id) == "three"
    world.container.redis.commands.delete(keys.epoch(world.project_id))
    assert process.text(prompt_id) == "three"


def test_without_redis_the_database_is_asked(world: World, process: Process, prompt_id: int) -> None:
    reads = process.reads
    view = process.prompts.get(project_id=world.project_id, prompt_id=prompt_id, productive=True, epoch=b"")
    assert (view.content.value, process.reads) == ("two", reads + 1)


def test_a_change_is_seen_in_a_second_though_its_process_died_before_announcing_it(
    world: World, process: Process, prompt_id: int
) -> None:
    with world.container.database.write() as connection:
        prompts.archive_prompt(connection, project_id=world.project_id, prompt_id=prompt_id, now=world.container.now())
    assert process.text(prompt_id) == "two"

    process.now_s += REMEMBERED_S

    with pytest.raises(NotFound):
        process.text(prompt_id)


def test_a_change_without_redis_is_acknowledged_when_no_process_remembers_what_was_before(
    world: World, process: Process, prompt_id: int
) -> None:
    """Redis is away only for the process that makes the change."""

    def others_go_on(seconds: float) -> None:
        process.now_s += seconds

    with redis.Redis(port=free_port()) as away:
        services = world.container.services
        versions = VersionService(
            database=world.container.database,
            now=world.container.now,
            reader=PromptReader(models=services.models, metrics=Metrics()),
            epochs=Epochs(away, sleep=others_go_on),
        )
        world.patch(f"{PROMPTS}/{prompt_id}", json={"value": "three"})
        assert process.text(prompt_id) == "two"
        versions.commit(project_id=world.project_id, prompt_id=prompt_id)

    assert process.text(prompt_id) == "three"


def test_no_reader_gets_less_than_was_acknowledged_before_it_asked(world: World, prompt_id: int) -> None:
    acknowledged, last = 0, 15
    processes = [Process(world) for _ in range(2)]
    commit(world, prompt_id, "0")

    def read(process: Process) -> int:
        looks = 0
        while acknowledged < last:
            least = acknowledged
            assert int(process.text(prompt_id)) >= least
            looks += 1
        return looks

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(read, process) for process in processes * 3]
        for value in range(1, last + 1):
            commit(world, prompt_id, str(value))
            acknowledged = value
        assert all(reader.result() for reader in readers)
