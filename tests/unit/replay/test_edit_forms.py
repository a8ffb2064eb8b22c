"""Edits and patches are the same only if they make the same of a text."""

from __future__ import annotations

import difflib
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.replay.code_forms import code_note
from app.replay.edit_forms import is_same_edit, patch_form
from app.values.budget import UNLIMITED
from tests.unit.replay.test_call_forms import compared

lines = st.lists(st.sampled_from(["a = 1", "b = 2", "", "return a", "x"]), min_size=1, max_size=6)


def edit(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"path": "a.py", "old_str": old, "new_str": new, **more}


@given(lines, lines, lines, lines)
def test_the_same_edits_make_the_same_of_a_text(
    before: list[str], found: list[str], made: list[str], after: list[str]
) -> None:
    old, new = "\n".join(found), "\n".join(made)
    around = ["\n".join(before) + "\n", "\n" + "\n".join(after)]
    text = around[0] + old + around[1]
    short, long = edit(old, new), edit(f"{around[0]}{old}{around[1]}", f"{around[0]}{new}{around[1]}")
    assume(old and text.count(old) == 1 and text.find(old) == text.rfind(old))

    assert is_same_edit(short, long, UNLIMITED)
    assert is_same_edit(long, short, UNLIMITED)
    assert text.replace(old, new) == text.replace(long["old_str"], long["new_str"])


RECORDED = edit("limit = 10", "limit = 20")


@pytest.mark.parametrize(
    "produced",
    [
        edit("size = 3\nlimit = 10\n", "size = 4\nlimit = 20\n"),
        edit("size = 3\nlimit = 10\n", "limit = 20\n"),
        edit("size = 3\nlimit = 10\n", "size = 3\nlimit = 2\n"),
        edit("limit = 10\nlimit = 10\n", "limit = 20\nlimit = 10\n"),
        edit("limit = 100", "limit = 200") | {"path": "b.py"},
        edit("limit = 10;", "limit = 20;", replace_all=True),
        edit("limit = 20", "limit = 10"),
        edit("max_size = 10", "max_size = 20"),
    ],
)
def test_another_edit_fails(produced: dict[str, Any]) -> None:
    assert compared(RECORDED, produced) == compared(produced, RECORDED) == "failed"


@pytest.mark.parametrize(("old", "new"), [("oldText", "newText"), ("search", "replace"), ("old_string", "new_string")])
def test_an_edit_with_more_around_it_is_left_to_a_judge(old: str, new: str) -> None:
    recorded = {"file": "a.py", old: "limit = 10", new: "limit = 20"}
    produced = {"file": "a.py", old: "x = 1\nlimit = 10\n", new: "x = 1\nlimit = 20\n"}

    assert compared(recorded, produced) == compared(produced, recorded) == "open"


def test_an_edit_of_names_is_no_edit_of_a_text() -> None:
    recorded, produced = ({"old_name": f"{more}a1", "new_name": f"{more}b2"} for more in ("", "x"))
    assert compared(recorded, produced) == "failed"


def diff(old: list[str], new: list[str]) -> str:
    return "\n".join(difflib.unified_diff(old, new, "a/x.py", "b/x.py", lineterm=""))


@given(lines, lines, lines)
def test_patches_are_the_same_if_their_changes_are(old: list[str], new: list[str], other: list[str]) -> None:
    assume(old != new and old != other)
    patch = diff(old, new)
    headed = f"diff --git a/x.py b/x.py\nindex 1..2 100644\n{patch.replace('.py', '.py	2026-12-01')}\n"

    assert patch_form(patch)
    assert patch_form(patch) == patch_form(headed.replace("@@\n", "@@ def f():\n"))
    assert (patch_form(patch) == patch_form(diff(old, other))) == (patch == diff(old, other))


PATCH = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-a = 1\n+a = 2\n b = 3\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [("-a = 1\n+a = 2", "-a = 2\n+a = 1"), ("b/x.py", "b/y.py"), (" b = 3", "-b = 3"), ("@@ -1,", "@@ -7,")],
)
def test_another_patch_fails(before: str, after: str) -> None:
    assert code_note(PATCH, f"diff --git a/x.py b/x.py\n{PATCH}") == "the same patch, with other heads"
    assert code_note(PATCH, PATCH.replace(before, after)) == ""
    assert code_note(PATCH, f"deleted file mode 100644\n{PATCH}") == ""


@pytest.mark.parametrize("text", ["", "a", "@@ -1,3 +1,3 @@\n a", "--- a\n+++ b", "@@ -1 +1 @@\nx\ny"])
def test_another_text_is_no_patch(text: str) -> None:
    assert patch_form(text) == []
