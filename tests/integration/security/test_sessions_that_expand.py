"""A session of two megabytes on disk once took two gigabytes of a web process, for each answer that was under way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from falcon.testing import Result

from app.errors import Invalid
from app.models import log_records, spans
from app.services.sessions import reading
from tests.integration.web.conftest import Browser
from tests.support import protobuf
from tests.support.exports import export, span
from tests.support.world import World

KIB = 1024
LONG = "x" * 20 * KIB
ELEMENTS = "[],[]," * 3 * KIB
SMALL, PART, RECORD = 30 * KIB, 50 * KIB, 90 * KIB


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SMALL_BYTES", SMALL)
    monkeypatch.setattr(reading, "PART_BYTES", PART)
    monkeypatch.setattr(reading, "RECORD_BYTES", RECORD)
    monkeypatch.setattr(reading, "WAIT_S", 0.05)


def stored(world: World, *texts: str, turns: int = 1) -> str:
    """The id of a session with a span for each text, in so many turns."""
    prompt_id = world.prompt()
    for number, text in enumerate(texts):
        fields = {
            "service.prompt.id": prompt_id,
            "gen_ai.conversation.id": "long",
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps([{"role": "user", "content": f"question {number}"}]),
            "app.note": f"{number} {text}",
        }
        sent = span(fields, traceId=f"{1 + number % turns:032x}", spanId=f"{1 + number:016x}")
        assert world.send(export(sent)).status_code == 200
    (session,) = world.get("/api/v1/sessions").json["sessions"]
    return str(session["id"])


def record(world: World, session_id: str) -> Result:
    return world.get(f"/api/v1/sessions/{session_id}")


def notes_of(session: dict[str, Any]) -> list[str]:
    return [found["attributes"]["app.note"][:1] for turn in session["turns"] for found in turn["spans"]]


def warnings_of(session: dict[str, Any]) -> list[str]:
    return [warning for turn in session["turns"] for warning in turn["warnings"] if "Too long" in warning]


def test_a_session_within_the_limit_is_whole(world: World) -> None:
    for_all = record(world, stored(world, *[LONG] * 3, ELEMENTS[:300], turns=2)).json
    assert sorted(notes_of(for_all)) == ["0", "1", "2", "3"]
    assert warnings_of(for_all) == []


def test_of_a_turn_over_the_limit_the_first_spans_are_read_and_each_other_has_its_page(
    world: World, admin: Browser
) -> None:
    session_id = stored(world, *[LONG] * 7)
    session = record(world, session_id).json
    assert notes_of(session) == ["0", "1", "2", "3"]
    assert warnings_of(session) == [reading.spans_left_out(3)]

    admin.open(f"{admin.base}/sessions/{session_id}")
    assert reading.spans_left_out(5) in admin.page
    for number in range(7):
        admin.open(f"{admin.base}/sessions/{session_id}/spans/{1 + number:016x}")
        assert f"{number} xxx" in admin.page


def test_of_a_session_over_the_limit_the_first_turns_are_read_and_each_has_its_place_on_the_page(
    world: World, admin: Browser
) -> None:
    session_id = stored(world, *[LONG] * 7, turns=7)
    session = record(world, session_id).json
    assert notes_of(session) == ["0", "1", "2", "3"]
    assert warnings_of(session) == [reading.turns_left_out(3)]

    admin.open(f"{admin.base}/sessions/{session_id}")
    assert all(f'id="turn-{number}"' in admin.page for number in range(1, 8))
    (line,) = world.get(f"/api/v1/prompts/{session['promptId']}/exports/sessions").text.splitlines()
    assert json.loads(line) == session


def test_a_span_of_many_elements_is_left_out(world: World) -> None:
    session = record(world, stored(world, "short", ELEMENTS, "short")).json
    assert notes_of(session) == ["0", "2"]
    assert warnings_of(session) == [reading.spans_left_out(1)]


def test_a_span_in_protobuf_of_many_elements_is_left_out(world: World) -> None:
    prompt_id = world.prompt()
    for number, values in enumerate(([""], [""] * 6 * KIB, [""])):
        recorded = {"gen_ai.conversation.id": "long", "app.note": f"{number}", "app.values": values}
        batch = json.loads(export(span(recorded | {"service.prompt.id": prompt_id}, spanId=f"{1 + number:016x}")))
        assert world.send_to(prompt_id, protobuf.traces(batch)).status_code == 200
    (session,) = world.get("/api/v1/sessions?include=all").json["sessions"]
    assert notes_of(record(world, session["id"]).json) == ["0", "2"]


def test_no_more_bytes_are_read_than_the_limit_whatever_the_session_has(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = stored(world, *[LONG] * 12, turns=2)
    trace = {"traceId": f"{1:032x}", "spanId": f"{1:016x}", "timeUnixNano": "1"}
    body = {"name": "gen_ai.user.message", "eventName": "gen_ai.user.message", "body": {"stringValue": LONG}}
    assert world.log([trace | body | {"timeUnixNano": str(number)} for number in range(1, 9)]).status_code == 200
    sizes: list[int] = []
    spans_of, records_of = spans.spans_of, log_records.records_of
    monkeypatch.setattr(spans, "spans_of", lambda *a, **k: _measured(spans_of(*a, **k), sizes))
    monkeypatch.setattr(log_records, "records_of", lambda *a, **k: _measured(records_of(*a, **k), sizes))

    record(world, session_id)
    of_record = sum(sizes)
    sizes.clear()
    admin.open(f"{admin.base}/sessions/{session_id}")

    assert PART < of_record <= RECORD
    # The second turn has one span, although the first one has used up the limit.
    assert SMALL < sum(sizes) <= PART + sizes[0]


def _measured(found: list[Any], sizes: list[int]) -> list[Any]:
    sizes += [len(each[1] if isinstance(each, tuple) else each.raw) for each in found]
    return found


def test_a_test_case_is_made_of_the_turns_that_fit(world: World) -> None:
    session_id = stored(world, *[LONG] * 7, turns=7)
    key = {"project_id": world.project_id, "session_id": session_id}
    assert len(world.container.services.test_cases.beginning(**key).case.turns) == 4
    with pytest.raises(Invalid, match=f"is read from at most {RECORD} bytes"):
        world.container.services.test_cases.proposed(**key)


def test_large_sessions_are_in_memory_up_to_a_number_of_bytes_and_small_ones_do_not_wait(
    world: World, admin: Browser
) -> None:
    large = stored(world, *[LONG] * 4)
    reads = world.container.services.sessions.large
    with reads.hold(world.project_id, reading.AT_ONCE_BYTES - 4 * len(LONG)):
        refused = record(world, large)
        page = admin.open(f"{admin.base}/sessions/{large}")
        assert (refused.status_code, page.status_code) == (503, 503)
        assert "Retry-After" in refused.headers

    with reads.hold(world.project_id, reading.AT_ONCE_BYTES - 5 * len(LONG)):
        assert [record(world, large).status_code for _ in range(8)] == [200] * 8


def test_a_text_counts_with_the_memory_of_its_widest_character(world: World) -> None:
    session = record(world, stored(world, LONG + "é", LONG + "😀", LONG + "😀", LONG)).json
    assert notes_of(session) == ["0", "1", "3"]
    assert warnings_of(session) == [reading.spans_left_out(1)]
