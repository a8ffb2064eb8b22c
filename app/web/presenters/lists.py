"""Parts that lists have in common."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

PAGE = 50


def next_link(query: Mapping[str, str], cursor: str | None) -> str | None:
    """The address of the page after this one, with the same filters; None on the last page."""
    return None if cursor is None else "?" + urlencode({**_filters(query), "cursor": cursor})


def first_link(query: Mapping[str, str]) -> str | None:
    """The address of the newest entries; None when this page has them."""
    return "?" + urlencode(_filters(query)) if query.get("cursor") else None


def _filters(query: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in query.items() if value and name != "cursor"}
