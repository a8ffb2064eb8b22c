"""Brings values to one form, by which two that are written differently are recognized."""

from __future__ import annotations

import posixpath
import re
from datetime import UTC, datetime
from typing import Any

from app.timestamps import in_zone

_LONGEST = 4_096  # characters of a text that may be a path or an address
_JOINTS = re.compile(r"\s|(?<=\w)-(?=\w)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?")
_PATH = re.compile(r"[~.]{0,2}/\S*|[\w.@-]++(?>(?:/++[\w.@*-]*+)+)")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:?\d\d\S{0,30}")


def scalar_form(value: Any) -> Any:
    """Return the form of a scalar: of a number its text, of a path its shortest form, of other texts lower case."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return _number_form(repr(value))
    if not isinstance(value, str):
        return value
    text = value.strip()
    if len(text) <= _LONGEST:
        if _NUMBER.fullmatch(text):
            return _number_form(text)
        if (instant := instant_of(text)) and instant.tzinfo and (utc := in_zone(instant, UTC)):
            return utc.isoformat()
        if _PATH.fullmatch(text):
            return posixpath.normpath(text).casefold()
    return " ".join(text.split()).casefold()


def joined_form(text: str) -> str:
    """Return a text without white space and hyphens in it if it has digits, as ids, telephone numbers and codes do."""
    return _JOINTS.sub("", text).casefold() if any(map(str.isdecimal, text)) else text


def path_form(text: str) -> str:
    """Return the shortest form of a path; another text stays."""
    return posixpath.normpath(text.strip()) if len(text) <= _LONGEST and _PATH.fullmatch(text.strip()) else text


def same_instant(left: Any, right: Any) -> bool:
    """Return True if two texts are times of the same instant; either both have a zone or none has."""
    if not isinstance(left, str) or not isinstance(right, str):
        return False
    first, other = instant_of(left), instant_of(right)
    return (
        first is not None and other is not None and (first.tzinfo is None) == (other.tzinfo is None) and first == other
    )


def instant_of(text: str) -> datetime | None:
    """Return the time that a text in ISO 8601 has, with a zone or without one; None for other texts."""
    if not _INSTANT.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text.replace("t", "T"))
    except ValueError:
        return None


def _number_form(text: str) -> str:
    if "." in text and "e" not in text:
        text = text.rstrip("0").removesuffix(".")
    return "0" if text in ("-0", "0") else text
