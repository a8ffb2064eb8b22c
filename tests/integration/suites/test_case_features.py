"""Suites read the features of test cases, which are stored with their documents, and few documents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast

import pytest
from sqlalchemy import Connection, select, update

from app.database.transactions import Database
from app.errors import Unavailable
from app.models.cases import test_cases
from app.services.sessions import reading as sessions_reading
from app.services.suites import case_features
from app.suites.cases import CaseFeatures, stored_features
from app.suites.fingerprints import load
from tests.integration.suites.test_suites_api import CANCEL, SEARCH, accept, proposal, traffic
from tests.integration.suites.test_wide_fingerprints import wide
from tests.support.world import World


@dataclass
class Documents:
    """Counts the documents that suites parse."""

    parsed: int = 0

    def load(self, document: object) -> Any:
        self.parsed += 1
        return LOAD(document)


LOAD = case_features.load_case


@pytest.fixture
def documents(monkeypatch: pytest.MonkeyPatch) -> Documents:
    counted = Documents()
    monkeypatch.setattr(case_features, "load_case", counted.load)
    return counted


@dataclass
class Suite:
    world: World
    prompt_id: int
    id: int
    test_case_ids: list[int]

    def coverage(self) -> dict[str, Any]:
        answer = self.world.get(f"/api/v1/suites/{self.id}/coverage")
        assert answer.status_code == 200, answer.text
        return cast(dict[str, Any], answer.json)

    def stored(self) -> dict[int, bytes | None]:
        c = test_cases.c
        with self.world.container.database.read() as connection:
            rows = connection.execute(select(c.id, c.features).where(c.id.in_(self.test_case_ids)))
            return {row.id: row.features for row in rows}

    def digests(self) -> dict[int, str]:
        c = test_cases.c
        with self.world.container.database.read() as connection:
            rows = connection.execute(select(c.id, c.fingerprint).where(c.id.in_(self.test_case_ids)))
            return {row.id: row.fingerprint for row in rows}

    def change(self, test_case_id: int, **columns: Any) -> None:
        with self.world.container.database.write() as connection:
            connection.execute(update(test_cases).where(test_cases.c.id == test_case_id).values(**columns))


@pytest.fixture
def suite(world: World) -> Suite:
    prompt_id = traffic(world, (SEARCH, 4), (CANCEL, 4))
    made = accept(world, prompt_id, proposal(world, prompt_id)["picks"])["suite"]
    return Suite(world, prompt_id, made["id"], sorted(case["testCaseId"] for case in made["testCases"]))


def test_suites_parse_no_document_of_a_test_case(suite: Suite, documents: Documents) -> None:
    assert len(suite.test_case_ids) == 2
    read = suite.coverage()
    proposed = proposal(suite.world, suite.prompt_id, suite="release")
    since = datetime.now(UTC) - timedelta(days=1)
    share = suite.world.container.services.coverage.uncovered_share(
        project_id=suite.world.project_id, prompt_id=suite.prompt_id, since=since, least=1
    )
    assert (read["share"], read["testCasesLeftOut"]) == (1.0, 0)
    assert (proposed["before"], proposed["testCasesLeftOut"]) == (1.0, 0)
    assert (share, documents.parsed) == (0.0, 0)


def test_the_features_follow_a_change_of_the_test_case(suite: Suite, documents: Documents) -> None:
    for id_ in suite.test_case_ids:
        changed = suite.world.patch(f"/api/v1/test-cases/{id_}", json={"includedTurns": 1})
        assert changed.status_code == 200, changed.text
    with suite.world.container.database.read() as connection:
        c = test_cases.c
        rows = connection.execute(select(c.features, c.fingerprint).where(c.id.in_(suite.test_case_ids)))
        assert all(stored_features(features, digest) for features, digest in rows)
    suite.coverage()
    assert documents.parsed == 0


def test_features_that_an_older_release_did_not_store_are_made_once(suite: Suite, documents: Documents) -> None:
    before, stored = suite.coverage(), suite.stored()
    for id_ in suite.test_case_ids:
        suite.change(id_, features=None)
    assert [suite.coverage(), suite.coverage()] == [before, before]
    assert (suite.stored(), documents.parsed) == (stored, 2)


def test_features_of_a_document_that_an_older_release_has_changed_are_made_again(
    suite: Suite, documents: Documents
) -> None:
    first, second = suite.test_case_ids
    c = test_cases.c
    with suite.world.container.database.read() as connection:
        document, digest = connection.execute(select(c.document, c.fingerprint).where(c.id == first)).one()
    suite.change(second, document=document, fingerprint=digest)
    assert suite.coverage()["share"] < 1
    suite.coverage()
    assert (suite.stored()[first], documents.parsed) == (suite.stored()[second], 1)


def test_the_test_cases_that_have_no_room_are_counted_and_read_by_the_next_request(
    suite: Suite, documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    for id_ in suite.test_case_ids:
        suite.change(id_, features=None)
    with suite.world.container.database.read() as connection:
        sizes = case_features.test_cases.sizes_of(
            connection, project_id=suite.world.project_id, test_case_ids=suite.test_case_ids
        )
    monkeypatch.setattr(case_features, "CASE_BYTES", sum(sizes.values()) - 1)
    assert [suite.coverage()["testCasesLeftOut"] for _ in range(3)] == [1, 0, 0]
    assert documents.parsed == 2


def test_no_transaction_is_open_while_a_document_is_parsed(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Watched(suite.world.container.database)
    opened: list[int] = []
    monkeypatch.setattr(case_features, "load_case", lambda document: opened.append(database.opened) or LOAD(document))
    for id_ in suite.test_case_ids:
        suite.change(id_, features=None)
    reader = replace(suite.world.container.services.coverage.cases, database=cast(Database, database))
    read = [*reader.read(project_id=suite.world.project_id, test_case_ids=suite.test_case_ids)]
    assert ([case.id for case in read], opened) == (suite.test_case_ids[::-1], [0, 0])


@dataclass
class Watched:
    """A database that counts its open transactions."""

    database: Database
    opened: int = field(default=0)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        self.opened += 1
        try:
            with self.database.read() as connection:
                yield connection
        finally:
            self.opened -= 1

    def retrying(self, work: Any) -> Any:
        return self.database.retrying(work)


def test_wide_features_count_as_sessions_that_a_process_reads_at_once(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions_reading, "WAIT_S", 0.05)
    assert suite.coverage()["share"] == 1.0
    digests = suite.digests()
    for id_ in suite.test_case_ids:
        fingerprint = load(wide(id_))
        suite.change(id_, features=CaseFeatures(digests[id_], fingerprint).packed())
    services, of_prompt = suite.world.container.services, {"project_id": suite.world.project_id}
    alert = partial(
        services.coverage.uncovered_share,
        **of_prompt,
        prompt_id=suite.prompt_id,
        since=datetime.now(UTC) - timedelta(days=1),
        least=1,
    )

    with services.sessions.large.hold(suite.world.project_id, sessions_reading.AT_ONCE_BYTES):
        refused = [
            suite.world.get(f"/api/v1/suites/{suite.id}/coverage"),
            suite.world.post(f"/api/v1/prompts/{suite.prompt_id}/suite-proposals", json={"suite": "release"}),
        ]
        assert [answer.status_code for answer in refused] == [503, 503]
        with pytest.raises(Unavailable):
            alert()

    for _ in range(2):  # each gives its place back
        assert suite.coverage()["share"] == pytest.approx(1 - alert())
