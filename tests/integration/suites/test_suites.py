"""Suites and their members, as services that others use."""

from __future__ import annotations

import pytest

from app.errors import Conflict, Invalid, NotFound
from app.services.replays.case_commands import WrittenCase
from app.services.suites import service
from app.services.suites.service import NewMember, SuiteService
from tests.support.world import World, new_world


@pytest.fixture
def suites(world: World) -> SuiteService:
    return world.container.services.suites


def case_of(world: World, prompt_id: int, question: str = "Where is my parcel?") -> int:
    written = WrittenCase(question, "On its way.")
    return world.container.services.test_cases.by_hand(
        project_id=world.project_id, prompt_id=prompt_id, written=written
    ).id


def test_a_suite_has_test_cases_in_their_order(world: World, suites: SuiteService) -> None:
    owner = {"project_id": world.project_id, "prompt_id": world.prompt()}
    first, second = (case_of(world, owner["prompt_id"]) for _ in range(2))
    view = suites.put(**owner, name="release", members=[NewMember(second, "It cancels.")])
    view = suites.put(**owner, name="release", members=[NewMember(first), NewMember(second, "Another reason.")])
    assert [(member.case.id, member.row.reason) for member in view.members] == [(second, "It cancels."), (first, None)]
    assert suites.case_ids(**owner, name="release") == [second, first]
    assert [(row.name, row.test_cases) for row in suites.list(**owner)] == [("release", 2)]


def test_a_test_case_may_be_in_several_suites_and_leaves_all_when_it_is_deleted(
    world: World, suites: SuiteService
) -> None:
    owner = {"project_id": world.project_id, "prompt_id": world.prompt()}
    case = case_of(world, owner["prompt_id"])
    for name in ("release", "nightly"):
        suites.create(**owner, name=name, members=[NewMember(case)])
    world.container.services.test_cases.delete(project_id=world.project_id, test_case_id=case)
    assert [row.test_cases for row in suites.list(**owner)] == [0, 0]
    with pytest.raises(Invalid, match=r"^suite: The suite has no test cases\.$"):
        suites.case_ids(**owner, name="release")


def test_a_name_is_used_once(world: World, suites: SuiteService) -> None:
    owner = {"project_id": world.project_id, "prompt_id": world.prompt()}
    release, nightly = (suites.create(**owner, name=name) for name in ("release", "nightly"))
    with pytest.raises(Conflict):
        suites.create(**owner, name="release")
    with pytest.raises(Conflict):
        suites.rename(project_id=world.project_id, suite_id=nightly.row.id, name="release")
    which = {"project_id": world.project_id, "suite_id": release.row.id}
    assert suites.rename(**which, name="release").row.name == "release"
    assert suites.rename(**which, name="Release 🚀").row.name == "Release 🚀"


def test_test_cases_of_other_prompts_are_refused_with_their_place(world: World, suites: SuiteService) -> None:
    owner = {"project_id": world.project_id, "prompt_id": world.prompt()}
    mine, other = case_of(world, owner["prompt_id"]), case_of(world, world.prompt())
    with pytest.raises(Invalid, match=r"^testCaseIds\.1: "):
        suites.create(**owner, name="release", members=[NewMember(mine), NewMember(other)])
    assert suites.list(**owner) == []


def test_limits(world: World, suites: SuiteService, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = {"project_id": world.project_id, "prompt_id": world.prompt()}
    monkeypatch.setattr(service, "SUITES_MAX", 1)
    monkeypatch.setattr(service, "MEMBERS_MAX", 1)
    first, second = (case_of(world, owner["prompt_id"]) for _ in range(2))
    suites.create(**owner, name="release", members=[NewMember(first)])
    with pytest.raises(Invalid, match="at most 1 suites"):
        suites.create(**owner, name="nightly")
    with pytest.raises(Invalid, match="at most 1 test cases"):
        suites.put(**owner, name="release", members=[NewMember(second)])


def test_members_are_removed_with_their_suite_and_their_prompt(world: World, suites: SuiteService) -> None:
    owner = {"project_id": world.project_id, "prompt_id": world.prompt()}
    case = case_of(world, owner["prompt_id"])
    release, nightly = (suites.create(**owner, name=name, members=[NewMember(case)]) for name in ("release", "nightly"))
    suites.remove(project_id=world.project_id, suite_id=nightly.row.id, test_case_id=case)
    with pytest.raises(NotFound):
        suites.remove(project_id=world.project_id, suite_id=nightly.row.id, test_case_id=case)
    suites.delete(project_id=world.project_id, suite_id=release.row.id)
    assert (world.count("suites"), world.count("suite_members"), world.count("test_cases")) == (1, 0, 1)
    suites.add(project_id=world.project_id, suite_id=nightly.row.id, members=[NewMember(case)])
    world.container.services.deletion.erase_prompt(**owner)
    assert (world.count("suites"), world.count("suite_members")) == (0, 0)


def test_suites_of_other_projects_are_not_found(world: World, suites: SuiteService) -> None:
    other = new_world(world.container)
    owner = {"project_id": world.project_id, "prompt_id": world.prompt()}
    suite_id = suites.create(**owner, name="release").row.id
    with pytest.raises(NotFound):
        suites.get(project_id=other.project_id, suite_id=suite_id)
    with pytest.raises(NotFound):
        suites.delete(project_id=other.project_id, suite_id=suite_id)
    with pytest.raises(NotFound):
        suites.create(project_id=other.project_id, prompt_id=owner["prompt_id"], name="release")
