"""Two calls are the same edit only if they make the same of a text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.unit.replay.test_call_forms import compared

lines = st.lists(st.sampled_from(["a = 1", "b = 2", "", "return a", "x"]), min_size=1, max_size=6)


def edit(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"path": "a.py", "old_str": old, "new_str": new, **more}


@given(lines, lines, lines, lines)
def test_an_edit_with_more_of_the_text_around_it_makes_the_same_and_is_left_to_a_judge(
    before: list[str], found: list[str], made: list[str], after: list[str]
) -> None:
    old, new = "\n".join(found), "\n".join(made)
    begin, end = "\n".join(before) + "\n", "\n" + "\n".join(after)
    text = begin + old + end
    assume(old != new and old.strip() and text.find(old) == text.rfind(old))

    assert text.replace(old, new) == text.replace(begin + old + end, begin + new + end)
    assert compared(edit(old, new), edit(begin + old + end, begin + new + end)) == "open"
    assert compared(edit(begin + old + end, begin + new + end), edit(old, new)) == "open"


@pytest.mark.parametrize(
    "produced",
    [
        edit("size = 3\nlimit = 10\n", "size = 4\nlimit = 20\n"),
        edit("size = 3\nlimit = 10\n", "limit = 20\n"),
        edit("size = 3\nlimit = 10\n", "size = 3\nlimit = 2\n"),
        edit("limit = 10\nlimit = 10\n", "limit = 20\nlimit = 10\n"),
        edit("x\nlimit = 10", "x\nlimit = 20") | {"path": "b.py"},
        edit("limit = 10;", "limit = 20;", replace_all=True),
        edit("limit = 20", "limit = 10"),
        edit("max_size = 10", "max_size = 20"),
        edit("", "limit = 20"),
        {"path": "a.py", "old_str": 5, "new_str": "limit = 20"},
    ],
)
def test_another_edit_fails(produced: dict[str, Any]) -> None:
    recorded = edit("limit = 10", "limit = 20")

    assert compared(recorded, produced) == compared(produced, recorded) == "failed"


@pytest.mark.parametrize(("old", "new"), [("oldText", "newText"), ("search", "replace"), ("old_string", "new_string")])
def test_the_names_of_known_editors_are_known(old: str, new: str) -> None:
    recorded = {"file": "a.py", old: "limit = 10", new: "limit = 20"}
    produced = {"file": "a.py", old: "x = 1\nlimit = 10\n", new: "x = 1\nlimit = 20\n"}

    assert compared(recorded, produced) == compared(produced, recorded) == "open"


def test_names_are_no_texts_that_an_edit_replaces() -> None:
    recorded, produced = ({"old_name": f"{more}a1", "new_name": f"{more}b2"} for more in ("", "x"))

    assert compared(recorded, produced) == "failed"
