"""The instructions that a test case lacks are found with few renderings of the prompt."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from app.replay.case_types import TestCase
from app.services.replays import proposals
from app.services.replays.proposals import VERSIONS_MAX, with_instruction_gaps
from app.sessions.types import Turn


def turns(count: int, text: str) -> list[Turn]:
    return [Turn("t", 0, 1, "?", (), {"k": f"{n}"}, prompt_version="v", instruction=text) for n in range(count)]


@pytest.mark.parametrize(("characters", "renderings"), [(1, VERSIONS_MAX), (proposals.RENDERED_MAX // 3, 4)])
def test_versions_are_rendered_up_to_a_number_and_a_number_of_characters(characters: int, renderings: int) -> None:
    asked = list[str]()

    def rendered(version: str, values: Mapping[str, str]) -> str:
        asked.append(values["k"])
        return "x" * characters

    found = with_instruction_gaps(TestCase(turns=()), turns(50, "other"), rendered)

    assert asked == [f"{n}" for n in range(renderings)]
    assert found.fidelity
    assert len(found.fidelity.missing) == renderings


def test_white_space_is_no_gap() -> None:
    found = with_instruction_gaps(TestCase(turns=()), turns(1, " a\n b "), lambda version, values: "a b")
    assert not found.fidelity


def test_a_rendering_is_read_once_for_all_turns() -> None:
    words, [turn] = "word " * 20_000, turns(1, "other")
    split = 0

    class Text(str):
        __slots__ = ()

        def split(self, *separators: object) -> list[str]:  # type: ignore[override]
            nonlocal split
            split += 1
            return super().split(*separators)  # type: ignore[arg-type]

    with_instruction_gaps(TestCase(turns=()), [turn] * 500, lambda version, values: Text(words))
    assert split == 1
