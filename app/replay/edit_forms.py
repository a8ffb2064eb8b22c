"""Recognizes two ways to write one edit of a text: with more of the text around it, or as a patch with other heads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.replay.compare import equal
from app.replay.tables import TABLES
from app.values.budget import WorkBudget

_PAIRS: list[tuple[str, str]] = [tuple(pair.split()) for pair in TABLES["keys"]["edits"]]
_ALL = ("replace_all", "replaceall", "all", "global", "count", "occurrence")  # with them, the text around it counts
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@.*")
_HEAD = re.compile(r"diff --git .*|index [0-9a-f.]+(?: [0-7]{6})?")


def is_same_edit(recorded: Mapping[str, Any], produced: Mapping[str, Any], budget: WorkBudget) -> bool:
    """Return whether two calls replace a text by another one, where one call has the same text around both in addition.

    An editor refuses a text that is not the only one of its kind, so that both edit the same place.
    """
    names = next(((old, new) for old, new in _PAIRS if old in recorded and new in recorded), None)
    if names is None or any(key.lower() in _ALL and value for key, value in (*recorded.items(), *produced.items())):
        return False
    first, second = ({key: value for key, value in call.items() if key not in names} for call in (recorded, produced))
    texts = [[text for name in names if isinstance(text := call.get(name), str)] for call in (recorded, produced)]
    if not len(texts[0]) == len(texts[1]) == len(names):
        return False
    (old, new), (other, then) = sorted(texts, key=lambda pair: len(pair[0]))
    before, found, after = other.partition(old) if old else ("", "", "")
    return bool(found) and old not in after and f"{before}{new}{after}" == then and equal(first, second, budget)


def patch_form(text: str) -> list[Any]:
    """Return the files and hunks of a unified diff (POSIX, diff -u); empty for other texts.

    The counts of a hunk are implied by its lines, and what follows them names a place for people.
    """
    form, lines = list[Any](), text.strip("\n").split("\n")
    at = 0
    while at < len(lines):
        line, at = lines[at], at + 1
        if hunk := _HUNK.fullmatch(line):
            left, right = (int(hunk[n] or 1) for n in (2, 4))
            begin = at
            while at < len(lines) and (left > 0 or right > 0 or lines[at].startswith("\\")):
                left -= lines[at][:1] in ("", " ", "-")
                right -= lines[at][:1] in ("", " ", "+")
                at += 1
            if left or right or not all(line[:1] in ("", " ", "+", "-", "\\") for line in lines[begin:at]):
                return []
            form.append((hunk[1], hunk[3], [line or " " for line in lines[begin:at]]))
        elif line.startswith(("--- ", "+++ ")):
            form.append(line.partition("\t")[0])
        elif line and not _HEAD.fullmatch(line):
            return []
    return form if any(isinstance(part, tuple) for part in form) else []
