"""A request that was refused before any change is named as such, and no other one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from app.concurrency import lasting_changes
from app.concurrency.batching import GroupCommit
from app.errors import Unavailable
from app.services.prompts.editor import PromptEditor
from app.wiring.container import Container
from tests.support.world import World


@pytest.fixture
def begun() -> Iterator[None]:
    lasting_changes.begin()
    yield
    lasting_changes.note()


def test_work_outside_of_requests_counts_as_changing() -> None:
    assert lasting_changes.may_have_been_made()


def test_queries_change_nothing(container: Container, begun: None) -> None:
    with container.database.read() as connection:
        connection.execute(text("SELECT 1"))

    assert not lasting_changes.may_have_been_made()


def test_a_transaction_may_have_changed_something_from_its_commit_on(container: Container, begun: None) -> None:
    with container.database.write() as connection:
        connection.execute(text("SELECT 1"))
        assert not lasting_changes.may_have_been_made()

    assert lasting_changes.may_have_been_made()


def test_a_transaction_that_is_rolled_back_changes_nothing(container: Container, begun: None) -> None:
    with pytest.raises(Unavailable), container.database.write():
        raise Unavailable("The database is away.")

    assert not lasting_changes.may_have_been_made()


def test_a_connection_that_commits_each_statement_may_change_something(container: Container, begun: None) -> None:
    with container.database.single():
        assert lasting_changes.may_have_been_made()


def test_a_change_that_another_thread_may_commit_counts(begun: None) -> None:
    assert GroupCommit[int, int](lambda changed: changed, project_of=int)(7) == 7

    assert lasting_changes.may_have_been_made()


@pytest.mark.parametrize("is_after_the_commit", [False, True])
def test_an_answer_of_503_names_a_request_that_changed_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, is_after_the_commit: bool
) -> None:
    create = PromptEditor.create

    def away(editor: PromptEditor, **command: object) -> None:
        if is_after_the_commit:
            create(editor, **command)  # type: ignore[arg-type]
        raise Unavailable("The database is away.")

    monkeypatch.setattr(PromptEditor, "create", away)
    refused = world.post("/api/v1/prompts", json={"name": "Kind", "languageModelName": "echo", "value": "Be kind."})

    assert refused.status_code == 503
    assert refused.headers.get("X-Unchanged") == (None if is_after_the_commit else "true")
    assert world.count("prompts") == is_after_the_commit
