from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reprise_client import differences
from reprise_client.cli.replay_report import details
from reprise_client.cli.replay_runner import ReplayOutcome
from reprise_client.differences import unified

LINES = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=12)
REPLACED = "@@ -1,{} +1,{} @@"


@given(LINES, LINES)
def test_short_texts_have_the_difference_of_difflib(before: list[str], after: list[str]) -> None:
    assert list(unified(before, after, "a", "b")) == list(difflib.unified_diff(before, after, "a", "b"))


@given(LINES, LINES)
def test_a_text_that_is_replaced_has_a_difference_just_where_it_changed(before: list[str], after: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(differences, "STEPS_MAX", -1)
        lines = list(unified(before, after, "a", "b", lineterm=""))
    assert bool(lines) == (before != after)
    assert [line[1:] for line in lines[3:] if line.startswith("-")] == before * (before != after)
    assert [line[1:] for line in lines[3:] if line.startswith("+")] == after * (before != after)


def alternating(count: int, mark: str) -> list[str]:
    return [line for n in range(count) for line in (f"equal {n}", f"{mark} {n}")]


# Each of these once needed minutes.
DEAR = {
    "lines between equal lines": (alternating(20_000, "old"), alternating(20_000, "new")),
    "few lines many times": ([f"{n % 150}" for n in range(20_000)], [f"{n * 7 % 150}" for n in range(20_000)]),
}


@pytest.mark.parametrize("name", DEAR)
def test_dear_texts_are_shown_as_replaced_without_being_compared(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = DEAR[name]
    monkeypatch.setattr(difflib, "unified_diff", lambda *_, **__: pytest.fail("compared"))
    assert list(unified(before, after, "a", "b", lineterm=""))[2] == REPLACED.format(len(before), len(after))

    diff = {"path": "", "expected": "\n".join(before), "actual": "\n".join(after)}
    step = {"kind": "answer", "result": "failed", "diff": [diff]}
    told = list(details(ReplayOutcome(1, "Heat", {"status": "failed", "turns": [{"steps": [step], "extra": []}]})))
    assert f"    {REPLACED.format(len(before), len(after))}" in told


def test_a_change_within_a_long_text_is_shown_with_its_surroundings_only() -> None:
    before = [f"{n}" for n in range(100_000)]
    assert len(list(unified(before, [*before[:50_000], "new", *before[50_001:]], "a", "b"))) == 11
