"""Suites read many wide fingerprints within a bound of memory: the sender of spans chooses the names of tools."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime, timedelta
from secrets import token_bytes

import pytest
from sqlalchemy import insert, select, update

from app.errors import Unavailable
from app.models.session_fingerprints import session_fingerprints
from app.models.sessions import sessions
from app.services.sessions import reading as sessions_reading
from app.services.suites import coverage, reading
from app.suites.fingerprints import EDITION, TOOLS_MAX, Fingerprint, dump
from tests.integration.suites.test_suites_api import SEARCH, accept, ago, proposal, traffic
from tests.integration.web.conftest import Browser, admin  # noqa: F401 - a fixture
from tests.support.world import World

WEEKLY = 24
ROOM = 1024 * 1024


def wide(number: int) -> bytes:
    tools = tuple(f"{number:06}_{index:02}_".ljust(250, "x") for index in range(TOOLS_MAX))
    return dump(Fingerprint(edition=EDITION, turns="1", tools=tools, order=tools, failed_tools=tools))


def with_wide_sessions(world: World) -> int:
    """Return a prompt with `WEEKLY` copies of a session in each of eight weeks, which have wide fingerprints."""
    prompt_id = traffic(world, (SEARCH, 1))
    of_project = {"project_id": world.project_id}
    with world.container.database.write() as connection:
        session = dict(connection.execute(select(sessions).filter_by(**of_project)).mappings().one())
        made = dict(connection.execute(select(session_fingerprints).filter_by(**of_project)).mappings().one())
        del session["id"], made["id"]
        session_rows, fingerprint_rows = [], []
        for number in range(1, coverage.WEEKS * WEEKLY + 1):
            week, minutes = divmod(number - 1, WEEKLY)
            key = {"session_key": token_bytes(16)}
            start = {"start_ns": ago(days=7 * week, minutes=2 + minutes)}
            session_rows.append(session | key | start)
            fingerprint_rows.append(made | key | {"fingerprint": wide(number)})
        connection.execute(insert(sessions), session_rows)
        for row in fingerprint_rows:
            connection.execute(insert(session_fingerprints), [row])
    return prompt_id


def suite_of(world: World, prompt_id: int) -> int:
    suite_id: int = world.post(f"/api/v1/prompts/{prompt_id}/suites", json={"name": "release"}).json["id"]
    return suite_id


def test_all_weeks_of_a_coverage_have_one_room_for_fingerprints(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BYTES_MAX", ROOM)
    prompt_id = with_wide_sessions(world)
    path = f"/api/v1/suites/{suite_of(world, prompt_id)}/coverage"
    assert world.get(path).status_code == 200  # imports are no memory of the second request

    tracemalloc.start()
    try:
        read = world.get(path).json
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    # About 49 KB each, and the recorded one.
    counts = [week["sessions"] for week in read["weeks"]]
    assert counts[:-2] == [0] * (coverage.WEEKS - 2)
    assert 20 <= sum(counts) <= 22
    assert sum(counts) + read["unread"] == coverage.WEEKS * WEEKLY + 1
    assert peak < 8 * ROOM


def test_the_figures_of_sessions_use_the_room_for_fingerprints(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session of very many turns has wide figures, although its fingerprint is small."""
    prompt_id = traffic(world, (SEARCH, 3))
    path = f"/api/v1/suites/{suite_of(world, prompt_id)}/coverage"
    latency = {str(bucket): 1 for bucket in range(4_000)}
    with world.container.database.write() as connection:
        c = sessions.c
        counted = json.loads(connection.scalar(select(c.counted).where(c.project_id == world.project_id).limit(1)))
        counted["figures"]["latency"] = latency
        connection.execute(
            update(sessions).where(c.project_id == world.project_id), {"counted": json.dumps(counted).encode()}
        )
    assert world.get(path).json["unread"] == 0

    monkeypatch.setattr(reading, "BYTES_MAX", 2 * len(json.dumps(latency)))

    read = world.get(path).json
    assert sum(week["sessions"] for week in read["weeks"]) == 1
    assert read["unread"] == 2


def test_a_test_case_is_not_obsolete_while_sessions_have_no_room(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt_id = traffic(world, (SEARCH, 1), days=20)
    accepted = accept(world, prompt_id, proposal(world, prompt_id)["picks"])
    monkeypatch.setattr(reading, "BYTES_MAX", 0)
    read = world.get(f"/api/v1/suites/{accepted['suite']['id']}/coverage").json
    assert (read["obsolete"], read["unread"], read["share"]) == ([], 1, None)


def test_what_suites_read_counts_as_sessions_that_a_process_reads_at_once(
    world: World,
    admin: Browser,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions_reading, "WAIT_S", 0.05)
    prompt_id = with_wide_sessions(world)
    suite_id = suite_of(world, prompt_id)
    path, proposals = f"/api/v1/suites/{suite_id}/coverage", f"/api/v1/prompts/{prompt_id}/suite-proposals"
    page = f"{admin.base}/suites/{suite_id}"
    of_prompt = {"project_id": world.project_id, "prompt_id": prompt_id}
    since = datetime.now(UTC) - timedelta(days=60)
    services = world.container.services

    with services.sessions.large.hold(world.project_id, sessions_reading.AT_ONCE_BYTES - 1):
        refused = [world.get(path), world.post(proposals), admin.open(page)]
        assert [answer.status_code for answer in refused] == [503] * 3
        with pytest.raises(Unavailable):
            services.coverage.uncovered_share(**of_prompt, since=since, least=1)

    for _ in range(2):  # each gives its place back
        answers = [world.get(path), world.post(proposals), admin.open(page)]
        assert [answer.status_code for answer in answers] == [200] * 3
        assert services.coverage.uncovered_share(**of_prompt, since=since, least=1) == 1


def test_a_few_ordinary_sessions_do_not_wait(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_reading, "WAIT_S", 0.05)
    prompt_id = traffic(world, (SEARCH, 3))
    suite_id = suite_of(world, prompt_id)
    with world.container.services.sessions.large.hold(world.project_id, sessions_reading.AT_ONCE_BYTES):
        assert world.get(f"/api/v1/suites/{suite_id}/coverage").json["share"] == 0
        assert proposal(world, prompt_id)["sessions"] == 3
