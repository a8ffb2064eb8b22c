"""Answers are dumped by the classes that describe them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

from marshmallow import missing

from app.schemas.answer import AnswerSchema, dump, either, integer, itself, many, one, part, text, time

WHEN = datetime(2026, 11, 22, 3, 0, 0, 1000, tzinfo=timezone(timedelta(hours=2)))


@dataclass(frozen=True)
class Author:
    author_name: str


class Named(AnswerSchema):
    name = text(attribute="author_name")


class Entry(AnswerSchema):
    entry_id = integer(attribute="id")
    made_at = time()
    seen_at = time(allow_none=True)
    author = one(Named, allow_none=True)
    note = text(required=False)
    next_ = text(required=False, allow_none=True)


def entry(**changed: Any) -> SimpleNamespace:
    given = {"id": 1, "made_at": WHEN, "seen_at": None, "author": None, "note": None, "next_": missing}
    return SimpleNamespace(**given | changed)


def test_fields_have_the_order_of_the_class_and_keys_in_camel_case() -> None:
    assert list(dump(Entry, entry()).items()) == [
        ("entryId", 1),
        ("madeAt", "2026-11-22T01:00:00.001Z"),
        ("seenAt", None),
        ("author", None),
    ]


def test_optional_fields_are_there_when_they_have_a_value() -> None:
    dumped = dump(Entry, entry(note="n", next_=None, seen_at=WHEN.astimezone(UTC), author=Author("Ada")))
    assert (dumped["note"], dumped["next"]) == ("n", None)
    assert (dumped["seenAt"], dumped["author"]) == ("2026-11-22T01:00:00.001Z", {"name": "Ada"})


def test_a_dict_is_json_already() -> None:
    stored = {"name": "Ada", "more": 1}
    assert dump(Entry, entry(author=stored))["author"] is stored


def test_a_part_is_in_its_place_and_is_read_from_its_path() -> None:
    class Signed(AnswerSchema):
        first = integer()
        author = part(Named, "head.author")
        last = integer(get=lambda one: one.first + 1)

    class Wrapped(AnswerSchema):
        inner = part(Signed, "inner")

    signed = SimpleNamespace(first=1, head=SimpleNamespace(author=Author("Ada")))
    assert list(dump(Signed, signed).items()) == [("first", 1), ("name", "Ada"), ("last", 2)]
    assert dump(Wrapped, SimpleNamespace(inner=signed)) == dump(Signed, signed)


def test_an_answer_may_depend_on_the_type_of_the_object() -> None:
    class Listing(AnswerSchema):
        entries = many(either(by_type={Author: Named, SimpleNamespace: Entry}), get=itself)

    assert dump(Listing, [Author("Ada"), entry(id=7)])["entries"][0] == {"name": "Ada"}
    assert dump(Listing, [Author("Ada"), entry(id=7)])["entries"][1]["entryId"] == 7
