"""Questions and answers of runs are stored packed from a length on, and the log finds any part of them all the same."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import Text, collate, func, select, type_coerce, update

from app.database.packed_text import MARK, pack, unpack
from app.models.compression import begins_with
from app.models.runs import runs
from app.schemas.prompt_log import EXCERPT_MAX
from tests.support.uncompressed import uncompressed
from tests.support.world import World

# The echo model answers with its question.
FILLING = "Nothing to be found here. " * 200
LONG = f'{FILLING}Die Größe von 東京, 🦊 & 100 %_\\ of "it".{FILLING}'
PARTS = ["Größe von 東京", "GRÖßE VON 東京", "🦊 & 100 %_\\ OF", "HERE. DIE", '"IT".NOTHING']
ABSENT = ["Größe  von", "100 %%", "100 _", "🦊🦊", "m\1"]


@pytest.fixture
def prompt_id(world: World) -> int:
    return int(world.post("/api/v1/prompts", json={"name": "A prompt", "value": "Say it."}).json["prompt"]["id"])


def run(world: World, prompt_id: int, question: str) -> int:
    answer = world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": question})
    assert answer.status_code == 200, answer.text
    return int(answer.headers["X-Run-Id"])


def found(world: World, prompt_id: int, part: str) -> list[int]:
    listed = world.get(f"/api/v1/prompts/{prompt_id}/logs", params={"search": part, "type": "run"})
    return [int(entry["id"]) for entry in listed.json["entries"]]


def stored(world: World, run_id: int) -> tuple[str, str]:
    raw = (type_coerce(column, Text()) for column in (runs.c.question, runs.c.answer))
    with world.container.database.read() as connection:
        question, answer = connection.execute(select(*raw).where(runs.c.id == run_id)).one()
    return question, answer


def test_a_long_text_is_stored_packed_and_read_as_it_was_sent(world: World, prompt_id: int) -> None:
    run_id = run(world, prompt_id, LONG)
    assert all(text.startswith(MARK) and len(text) < len(LONG) / 4 for text in stored(world, run_id))
    shown = world.get(f"/api/v1/runs/{run_id}").json
    assert shown["question"] == LONG
    assert LONG in shown["answer"]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_found_in_any_case_in_packed_texts_as_in_others(world: World, prompt_id: int, part: str) -> None:
    packed = run(world, prompt_id, LONG)
    with uncompressed(world):
        plain = run(world, prompt_id, LONG)
    assert not stored(world, plain)[0].startswith(MARK)
    run(world, prompt_id, FILLING)
    assert found(world, prompt_id, part) == [plain, packed]


@pytest.mark.parametrize("part", ABSENT)
def test_what_is_in_no_text_is_not_found(world: World, prompt_id: int, part: str) -> None:
    run(world, prompt_id, LONG)
    assert found(world, prompt_id, part) == []


def test_the_packed_form_itself_is_not_searched(world: World, prompt_id: int) -> None:
    form = stored(world, run(world, prompt_id, LONG))[0]
    assert found(world, prompt_id, form[8:24]) == []


@pytest.mark.parametrize(
    "question",
    [LONG, "🦊" * 5000, MARK + LONG, "\1M\1hello", "\1M\1", "M", "m\1\1hello", "M\u200d\u200dhello", "M  hello"],
    ids=["long", "emoji", "mark", "upper", "only the mark", "letter", "letter and controls", "joiners", "spaces"],
)
def test_lists_show_the_beginnings_of_packed_texts(world: World, prompt_id: int, question: str) -> None:
    run(world, prompt_id, question)
    (entry,) = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    assert entry["question"][:100] == question[:100]


COLLATIONS = ["utf8mb4_general_ci", "utf8mb4_unicode_520_ci", "utf8mb4_uca1400_ai_ci", "utf8mb4_uca1400_nopad_ai_ci"]


@pytest.mark.parametrize("container", [pytest.param("services", marks=pytest.mark.services)], indirect=True)
@pytest.mark.parametrize("collation", COLLATIONS)
def test_texts_that_a_collation_finds_equal_to_the_mark_are_not_packed(world: World, collation: str) -> None:
    """Collations ignore case, and many ignore U+0001 and what is joined to a letter."""
    others = ["M", "m", "\1M\1hello", "m\1\1hello", "M\u200d\u200dhello", "M  hello", ""]
    with world.container.database.read() as connection:
        taken = [
            connection.scalar(select(begins_with(collate(text, collation), MARK))) for text in (*others, pack(LONG))
        ]
    assert taken == [*(False for _ in others), True]


@pytest.mark.parametrize(
    ("damaged", "readable"), [(f"{MARK}hello", ""), (pack(LONG)[:-40], LONG[:EXCERPT_MAX]), (f"{MARK}é", "")]
)
def test_a_damaged_text_hides_nothing_else(world: World, prompt_id: int, damaged: str, readable: str) -> None:
    run_id, whole = run(world, prompt_id, LONG), run(world, prompt_id, "Whole?")
    as_sent = stored(world, run_id)[0]
    store_question(world, run_id, damaged)
    try:
        listed = world.get(f"/api/v1/prompts/{prompt_id}/logs")
        found_whole = found(world, prompt_id, "whole")
    finally:
        store_question(world, run_id, as_sent)  # other tests share the database

    assert listed.status_code == 200
    assert [entry["question"] for entry in listed.json["entries"]] == ["Whole?", readable]
    assert found_whole == [whole]


def store_question(world: World, run_id: int, raw: str) -> None:
    changed = update(runs).where(runs.c.id == run_id).values({runs.c.question: type_coerce(raw, Text())})
    with world.container.database.write() as connection:
        connection.execute(changed)


def test_words_of_packed_texts_are_found_with_their_places(world: World, prompt_id: int) -> None:
    run_id = run(world, prompt_id, LONG)
    (entry,) = world.get(f"/api/v1/prompts/{prompt_id}/logs", params={"q": "größe"}).json["entries"]
    assert int(entry["id"]) == run_id
    assert "Größe" in json.dumps(entry, ensure_ascii=False)  # far behind the beginnings that lists show


@pytest.mark.parametrize("container", [pytest.param("services", marks=pytest.mark.services)], indirect=True)
def test_the_database_packs_texts_to_what_is_read_here(world: World) -> None:
    """The form is MySQL's own, whichever library makes it."""
    with world.container.database.read() as connection:
        packed = connection.scalar(select(func.concat(MARK, func.to_base64(func.compress(LONG)))))
        content = connection.scalar(select(func.uncompress(func.from_base64(pack(LONG)[len(MARK) :]))))
    assert bytes(content).decode() == LONG
    assert unpack(str(packed)) == LONG
