"""The kind of a text is found by its schema, its key and its shape."""

from __future__ import annotations

from collections import UserDict
from typing import Any

import pytest

from app.replay.text_kinds import CHOICES_READ, LONGEST_REFERENCE, kind_of, kinds_of, schema_at
from tests.support.growth import work_by_function


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM users WHERE age > 5",
        "delete from users",
        "create or replace view v as select 1",
        "with x as (select 1) select * from x",
        "npm install --save express",
        "cat a.txt | grep b",
        "def f(x):\n    return x + 1\n",
        "const total = items.length;\nsend(total);",
        "if (a == b) { stop(); }",
        "/etc/hosts",
        "src/app/main.py",
        "資料/予約の一覧.xlsx",
        "/srv/資料/予約",
        "https://example.com/a?b=c",
        '{"a": [1, 2]}',
        "[1, 2]",
        "x = compute(y)",
        "@@ -1,2 +1,2 @@\n-a = 1;\n+a = 2;",
    ],
)
def test_code_is_known_by_its_shape(text: str) -> None:
    assert kind_of("input", {}, text, "write") == "code"


@pytest.mark.parametrize(
    "text",
    [
        "Hello Maria, your parcel (A-1) arrives on Friday; please be at home.",
        "Dear team,\n\n- the release is done\n- the notes follow\n\nBest wishes\nAnna",
        "please select the best seat from the list",
        "We update prices daily, and set them by hand.",
        "Bitte rufen Sie mich morgen an.",
        "予約を明日に変更してください",
        "يرجى تأكيد الموعد",
        "late delivery",
        "ご予約内容(TK-20817)のお知らせ",
        "件名=予約の変更のお知らせ",
        "予約の変更/取り消しについて",
        "주차 예약(VP-5530) 안내",
        "如需退货/换货请联系客服",
        "If you agree, reply with yes. Otherwise call us (we are open until 5).",
    ],
)
def test_language_is_prose_in_a_write_and_a_search_in_a_read(text: str) -> None:
    assert kind_of("input", {}, text, "write") == "prose"
    assert kind_of("input", {}, text, "read") == "search"


@pytest.mark.parametrize(
    "text",
    ["A-1042", "Ada Lovelace", "Ludwig van Beethoven", "12 High Street, Berlin", "DE89 3704 0044", "done", "", "5"],
)
def test_ids_names_and_single_words_are_values(text: str) -> None:
    assert kind_of("input", {}, text, "write") == "value"
    assert kind_of("input", {}, text, "read") == "value"


@pytest.mark.parametrize("name", ["CHANGELOG.md", "/srv/docs/Guide.RST", "notes.txt"])
@pytest.mark.parametrize("keys", [("path", "new_str"), ("filePath", "newString"), ("target_file", "new_text")])
def test_an_edit_of_a_file_of_prose_is_prose(name: str, keys: tuple[str, str]) -> None:
    assert kinds_of({keys[0]: name, keys[1]: "Keep the time zone when a slot is split."}, {}, "write") == {
        f"/{keys[0]}": "code",
        f"/{keys[1]}": "prose",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "slots.py", "new_str": "Keep the time zone when a slot is split."},
        {"path": "a.md", "file": "b.py", "new_str": "Keep the time zone when a slot is split."},
        {"path": ["a.md"], "new_str": "Keep the time zone when a slot is split."},
        {"new_str": "Keep the time zone when a slot is split."},
        {"path": "install.md", "new_str": "pip install --pre slots"},
        {"path": "requirements.txt", "new_str": "slots==2.1\nhttpx==1.0"},
    ],
)
def test_other_edits_are_code(arguments: dict[str, Any]) -> None:
    assert kinds_of(arguments, {}, "write")["/new_str"] == "code"


def test_keys_name_code_and_searches() -> None:
    for key in ("command", "shellCommand", "sql", "old_string", "filePath", "cron", "regex"):
        assert kind_of(key, {}, "a b*", "read") == "code"
    assert kind_of("code", {}, "SAVE20", "write") == "value"
    assert kind_of("search_query", {}, "refunds", "read") == "search"
    assert kind_of("query", {}, "refunds", "write") == "value"


def test_a_schema_comes_first() -> None:
    assert kind_of("note", {"enum": ["a b"]}, "in progress now", "write") == "value"
    assert kind_of("at", {"format": "date-time"}, "some words here", "write") == "value"
    assert kind_of("body", {"contentMediaType": "application/sql"}, "some words here", "write") == "code"
    assert kind_of("body", {"contentMediaType": "text/plain"}, "some words here", "write") == "prose"


def test_the_schema_of_a_place_is_found_through_references_and_alternatives() -> None:
    schema: dict[str, Any] = {
        "properties": {
            "at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "default": None},
            "people": {"type": "array", "items": {"$ref": "#/$defs/Person"}},
            "loop": {"$ref": "#/properties/loop"},
        },
        "$defs": {"Person": {"properties": {"role": {"enum": ["a"], "default": "a"}}}},
    }

    assert schema_at(schema, ("at",))["format"] == "date-time"
    assert schema_at(schema, ("at",))["default"] is None
    assert schema_at(schema, ("people", 0, "role"))["default"] == "a"
    assert schema_at(schema, ("people", "*", "role"))["default"] == "a"
    assert "properties" not in schema_at(schema, ("loop",))
    assert schema_at(schema, ("none", "there")) == {}


def test_kinds_of_a_call_are_named_by_pointer() -> None:
    arguments = {"to": "a@b.c", "notes": [{"text": "see you on Friday then"}], "command": "ls -la"}

    assert kinds_of(arguments, {}, "write") == {"/notes/*/text": "prose", "/command": "code"}


class CountedSchema(UserDict[str, Any]):
    """A schema that counts how often one of its keys is read."""

    reads = 0

    def __getitem__(self, key: str) -> Any:
        self.reads += 1
        return super().__getitem__(key)


def test_a_large_schema_is_not_copied_for_each_text_of_a_call() -> None:
    names = [f"name_{number}" for number in range(100)]
    schema = CountedSchema({"properties": {name: {"type": "string"} for name in names}, **dict.fromkeys(names, True)})

    kinds_of(dict.fromkeys(names, "words"), schema, "write")

    assert schema.reads <= 10 * len(names)


@pytest.mark.parametrize(
    "part",
    [
        {"anyOf": [{"type": "null"}] * CHOICES_READ * 50 + [{"type": "string"}]},
        {"$ref": "#" + "/properties" * LONGEST_REFERENCE},
    ],
    ids=["alternatives", "a reference"],
)
def test_a_place_of_a_schema_is_found_in_few_steps_however_long_its_alternatives_and_references_are(part: Any) -> None:
    schema = {"properties": {"at": part}}

    assert sum(work_by_function(lambda: schema_at(schema, ("at",))).values()) < 300


@pytest.mark.parametrize("key", ["verwendungszweck", "causale", "reason", "paymentPurpose", "motif", "理由", "摘要"])
def test_nouns_in_the_purpose_of_a_write_are_prose(key: str) -> None:
    """Nouns of German begin with a capital letter, as names do."""
    assert kind_of(key, {}, "Schaden S-26-90417 Einbruch 08.11.2026", "write") == "prose"
    assert kind_of(key, {}, "S-26-90417", "write") == "value"
