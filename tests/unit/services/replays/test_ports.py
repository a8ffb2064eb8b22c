from __future__ import annotations

from math import inf

import pytest

from app.errors import Invalid
from app.rendering.render import Placeholder, PlaceholderValue
from app.replay.case_types import CaseTurn, TestCase
from app.services.replays.ports import RENDERED_MAX, PlayedContent
from tests.support.operations import calls_of
from tests.unit.services.contents import content


def played_content(text: str, values: int = 2) -> PlayedContent:
    tones = tuple(PlaceholderValue(f"tone {number}", f"Be {number}.") for number in range(values))
    return PlayedContent(content(value=text, placeholders=(Placeholder("tone", tones),)))


def of_turns(*selections: dict[str, str] | None) -> TestCase:
    return TestCase(turns=tuple(CaseTurn(user="Hello", steps=(), placeholders=chosen) for chosen in selections))


def test_the_instruction_of_a_thousand_turns_is_rendered_once() -> None:
    def calls(turns: int) -> int:
        played = played_content("# A {{tone}}\n" * 1_000)
        return calls_of(lambda: [played.render({"tone": "tone 1"}) for _ in range(turns)], at_most=inf)

    assert calls(1_000) < 2 * calls(1)


def test_each_selection_has_another_rendering() -> None:
    known = played_content("{{tone}}")

    first, second = (known.render({"tone": f"tone {number}"}).instruction for number in (0, 1))

    assert ("Be 0." in first, "Be 1." in second) == (True, True)
    assert known.render({"tone": "gone"}).ignored == ("tone",)


def test_a_replay_renders_a_long_text_for_few_selections_only() -> None:
    long = played_content("x" * (RENDERED_MAX // 3) + "{{tone}}", values=9)
    selections = [{"tone": f"tone {number}"} for number in range(3)]

    long.add(of_turns(*selections[:2], *selections[:2]))
    played_content("x" * RENDERED_MAX).add(of_turns(None, None))
    with pytest.raises(Invalid, match="3 different sets"):
        long.add(of_turns(*selections))


def test_test_cases_share_the_limit_of_instructions() -> None:
    long = played_content("x" * (RENDERED_MAX // 3) + "{{tone}}", values=9)
    cases = [of_turns({"tone": f"tone {number}"}) for number in range(3)]

    for case in (*cases[:2], *cases[:2]):
        long.add(case)
    with pytest.raises(Invalid):
        long.add(cases[2])
    long.add(cases[1])
