"""The common parts of lists: their order, their pages, and the way back to them from an entry, in the address."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeVar
from urllib.parse import urlencode

from marshmallow import Schema

from app.web.forms import checked_choice

Row = TypeVar("Row")
Query = Mapping[str, str]

PAGES_REMEMBERED = 30
"""Pages to go back to by one step each; a cursor leads forward alone, so that those of earlier pages are kept."""
_BETWEEN_CURSORS = "~"


@dataclass(frozen=True, slots=True)
class Pages:
    """The addresses of a list's next, first and previous page, each None where there is none."""

    next_href: str | None
    first_href: str | None
    previous_href: str | None = None


def filters_of(query: Query) -> dict[str, str]:
    """Return what was chosen of a list, without the page that is shown."""
    return {name: value for name, value in query.items() if value and name not in ("cursor", "back")}


def names_of(form: Schema) -> frozenset[str]:
    """Return the names that the fields of a list's form have in an address."""
    return frozenset(str(field.data_key) for field in form.load_fields.values())


def chosen_of(query: Query, names: Collection[str]) -> dict[str, str]:
    """Return what was chosen in the form above a list, whose fields have these names."""
    texts = ((name, value.strip()) for name, value in query.items() if name in names)
    return {name: text for name, text in texts if text}


def pages_of(query: Query, next_cursor: object) -> Pages:
    """Return the links below a list with the query `query`; `next_cursor` is None on the last page."""
    filters, cursor = filters_of(query), query.get("cursor")
    before = [each for each in query.get("back", "").split(_BETWEEN_CURSORS) if each]
    first = "?" + urlencode(filters) if cursor else None
    previous = _page(filters, before[-1], before[:-1]) if before and cursor else first
    visited = [*before, cursor] if cursor else []
    following = None if next_cursor is None else _page(filters, str(next_cursor), visited[-PAGES_REMEMBERED:])
    return Pages(following, first, previous)


def _page(filters: Mapping[str, str], cursor: str, before: Sequence[str]) -> str:
    back = {"back": _BETWEEN_CURSORS.join(before)} if before else {}
    return "?" + urlencode({**filters, "cursor": cursor, **back})


def list_query(query: Query) -> str:
    """Return the query that leads from an entry's page back to the list; "" for a list as it is at first."""
    return urlencode({"list": urlencode(query)}) if query else ""


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a list: by `column`, which is as the template's `ui.sort_head` names it.

    `default` is the order without a choice in the address. Orders are columns, with a minus before descending ones.
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
        """Return the address of the list by the column of `first`: in that order, or in its opposite after that."""
        opposite = first.removeprefix("-") if first.startswith("-") else f"-{first}"
        value = opposite if self.value == first else first
        return "?" + urlencode(filters_of({**self.query, "sort": "" if value == self.default else value}))

    def sorted(self, rows: Iterable[Row], keys: Mapping[str, Callable[[Row], Any]]) -> list[Row]:
        """Return the rows in this order; `keys` has what each column compares."""
        return sorted(rows, key=keys[self.column], reverse=self.descending)


def order_of(query: Query, columns: Iterable[str], *, default: str) -> Order:
    """Return the order that the address asks for; `Invalid` for a column that the list does not have."""
    value = query.get("sort") or default
    checked_choice("sort", value.removeprefix("-"), dict.fromkeys(columns))
    return Order(value, default, query)


def period_of(query: Query, periods: Iterable[tuple[str, str]], today: date) -> tuple[date, date]:
    """Return the first and the last of the `days` that an address names, 30 without; `Invalid` for another period."""
    days = int(checked_choice("days", query.get("days", "30"), dict(periods)))
    return today - timedelta(days=days - 1), today
