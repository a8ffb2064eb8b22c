"""An installation of release 0.1.0 has the same content after an upgrade: the short form of `make upgrade`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.deployment import EmbeddedServer, environment, run_to_end
from tests.support.remote_project import RemoteProject
from tests.upgrade import stored
from tests.upgrade.answers import differences
from tests.upgrade.trial import SETTINGS, doctor

ANSWER = {"name": "A", "sums": {"tokens": 3}, "items": [{"id": 1, "on": True}, {"id": 2, "on": False}], "left": None}


def test_a_database_of_release_0_1_0_has_the_same_answers_after_the_upgrade(tmp_path: Path) -> None:
    backup, before = stored.unpacked(tmp_path)
    home = tmp_path / "home"
    run_to_end(["reprise", "restore", str(backup)], environment(home))
    with EmbeddedServer(home, SETTINGS) as server:
        project = RemoteProject(server.url, before.key)
        assert before.unlike(project) == []
        assert doctor(environment(home)) == []
        # It is served further, not only read.
        assert project.post("/api/v1/prompts/run", json={"id": before.used.prompts[0], "question": "Still there?"}).json


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"name": "B"}, "/name"),
        ({"sums": {}}, "/sums/tokens"),
        ({"sums": {"tokens": 4}}, "/sums/tokens"),
        ({"items": [{"id": 2, "on": False}]}, "/items"),
        ({"items": [{"id": 2, "on": False}, {"id": 1, "on": True}]}, "/items/0/id"),
        ({"items": [{"id": 1, "on": 1}, {"id": 2, "on": False}]}, "/items/0/on"),
        ({"left": 0}, "/left"),
    ],
)
def test_a_changed_answer_is_found(changed: dict[str, object], place: str) -> None:
    first, *_ = differences({"/path": ANSWER}, {"/path": ANSWER | changed})
    assert first.startswith(f"/path {place}: ")


def test_a_session_has_more_errors_and_not_fewer() -> None:
    fewer = {"/path": {"errors": 0, "failedTools": []}}
    more = {"/path": {"errors": 1, "failedTools": ["pay"]}}

    assert list(differences(fewer, more)) == []
    assert len(list(differences(more, fewer))) == 2


def test_further_fields_and_objects_are_no_difference() -> None:
    items = [{"id": 3, "on": True}, *ANSWER["items"]]  # type: ignore[misc]
    later = ANSWER | {"items": items, "sums": {"tokens": 3.0, "cached": 1}, "more": []}
    assert list(differences({"/path": ANSWER}, {"/path": later})) == []
