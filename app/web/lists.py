"""Common parts of lists: their order, their pages, and the address that leads from an entry back to the list."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from marshmallow import Schema

from app.web.forms import checked_choice

Row = TypeVar("Row")
Query = Mapping[str, str]

PAGES_REMEMBERED = 30
"""Previous pages that an address remembers. A cursor leads only forward, so going back needs earlier cursors."""
_BETWEEN_CURSORS = "~"
_SESSIONS = "sessions?"
_FINDING = re.compile(r"findings/([0-9a-f]{32})\?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Pages:
    """The addresses of a list's next, first and previous page; None if there is no such page."""

    next_href: str | None
    first_href: str | None
    previous_href: str | None = None


def filters_of(query: Query) -> dict[str, str]:
    """Return the filters and the order of a list, without the shown page."""
    return {name: value for name, value in query.items() if value and name not in ("cursor", "back")}


def names_of(form: Schema) -> frozenset[str]:
    """Return the names of a form's fields in an address."""
    return frozenset(str(field.data_key) for field in form.load_fields.values())


def chosen_of(query: Query, names: Collection[str]) -> dict[str, str]:
    """Return the values chosen in the form above a list. `names` are the form's fields."""
    texts = ((name, value.strip()) for name, value in query.items() if name in names)
    return {name: text for name, text in texts if text}


def pages_of(query: Query, next_cursor: object) -> Pages:
    """Return the links below a list. `query` is the list's query; `next_cursor` is None on the last page."""
    filters, cursor = filters_of(query), query.get("cursor")
    before = list(filter(None, query.get("back", "").split(_BETWEEN_CURSORS)))
    first = "?" + urlencode(filters) if cursor else None
    previous = _page(filters, before[-1], before[:-1]) if before and cursor else first
    visited = [*before, cursor] if cursor else []
    following = None if next_cursor is None else _page(filters, str(next_cursor), visited[-PAGES_REMEMBERED:])
    return Pages(following, first, previous)


def _page(filters: Mapping[str, str], cursor: str, before: Sequence[str]) -> str:
    back = {"back": _BETWEEN_CURSORS.join(before)} if before else {}
    return "?" + urlencode({**filters, "cursor": cursor, **back})


@dataclass(frozen=True, slots=True)
class ListOrigin:
    """The list that led to an entry, with its query: the sessions of a project, the log of a prompt, or a finding.

    Addresses of entries have it as `list`: `sessions?errors=true` for sessions, `status=ok` for a log. `finding` is the
    id of the finding; its query is the score that is asked for.
    """

    query: str = ""
    of_sessions: bool = False
    finding: str = ""

    @classmethod
    def read(cls, text: str) -> ListOrigin:
        """Read the parameter `list` of an address. A text without a known beginning is a log's query."""
        if match := _FINDING.match(text):
            return cls(text[match.end() :], finding=match[1])
        query = text.removeprefix(_SESSIONS)
        return cls(query, of_sessions=query != text)

    @property
    def parameters(self) -> dict[str, str]:
        return dict(parse_qsl(self.query))

    @property
    def address(self) -> str:
        """The end of the list's address; "" for the unfiltered first page."""
        return f"?{self.query}" if self.query else ""

    @property
    def to_entry(self) -> str:
        """The end of an entry's address that leads back to the list; "" for the unfiltered first page of the log."""
        kind = f"findings/{self.finding}?" if self.finding else _SESSIONS if self.of_sessions else ""
        text = f"{kind}{self.query}"
        return "?" + urlencode({"list": text}) if text else ""

    def at(self, href: str) -> ListOrigin:
        """Return another page of the list."""
        return replace(self, query=href.removeprefix("?"))


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a list. `column` has the name that the template's `ui.sort_head` uses.

    `default` is the order if the address names none. An order is a column; a minus before it means descending.
    """

    value: str
    default: str
    query: Query

    @property
    def column(self) -> str:
        return self.value.removeprefix("-")

    @property
    def descending(self) -> bool:
        return self.value.startswith("-")

    def href(self, first: str) -> str:
        """Return the address of the list in the order `first`, or in reverse if that is the present order."""
        opposite = first.removeprefix("-") if first.startswith("-") else f"-{first}"
        value = opposite if self.value == first else first
        return "?" + urlencode(filters_of({**self.query, "sort": "" if value == self.default else value}))

    def sorted(self, rows: Iterable[Row], keys: Mapping[str, Callable[[Row], Any]]) -> list[Row]:
        """Return the rows in this order. `keys` has the sort key of each column."""
        return sorted(rows, key=keys[self.column], reverse=self.descending)


def order_of(query: Query, columns: Iterable[str], *, default: str) -> Order:
    """Return the order named in the address; raises `Invalid` for a column that the list lacks."""
    value = query.get("sort") or default
    checked_choice("sort", value.removeprefix("-"), dict.fromkeys(columns))
    return Order(value, default, query)


def period_of(query: Query, periods: Iterable[tuple[str, str]], today: date) -> tuple[date, date]:
    """Return the first and last day of the period in an address, by default 30 days. `Invalid` for other periods."""
    days = int(checked_choice("days", query.get("days", "30"), dict(periods)))
    return today - timedelta(days=days - 1), today
