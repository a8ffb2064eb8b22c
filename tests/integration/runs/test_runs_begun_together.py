"""Runs that begin at the same time are inserted by one statement, each with its own id, request and key."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event, func, select

from app.chat import File
from app.errors import Conflict, Unavailable
from app.models.idempotency_keys import find_keys, idempotency_keys
from app.models.runs import runs
from app.services.runs import Idempotency, RunCommand, new_runs
from app.services.runs.new_runs import ACCEPTED_AT_ONCE, TOGETHER_MAX
from tests.integration.runs.asking import prompt
from tests.integration.runs.holding import WAIT_S, Held
from tests.integration.runs.test_runs_faults import status


@pytest.fixture
def service(world):
    return world.container.services.runs


@pytest.fixture
def held(service, monkeypatch):
    held = Held(service.inserter._insert_together, monkeypatch)
    yield held
    held.gate.set()


@pytest.fixture
def pool():
    with ThreadPoolExecutor(2 * ACCEPTED_AT_ONCE) as pool:
        yield pool


@pytest.fixture
def key_id(world):
    return world.container.services.keys.list(project_id=world.project_id)[0].id


@pytest.fixture
def start(world, service):
    prompt_id = prompt(world)

    def start(question="first", idempotency=None, **more):
        command = RunCommand(prompt_id, question, **more)
        return service.start(command, project_id=world.project_id, idempotency=idempotency)

    return start


@pytest.fixture
def inserts(world):
    """The statements that insert runs."""
    found = []

    def note(connection, cursor, statement, parameters, context, executemany):
        if statement.startswith("INSERT INTO runs "):
            found.append(statement)

    engines = world.container.database.engines
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    yield found
    for engine in engines:
        event.remove(engine, "before_cursor_execute", note)


def together(pool, held, start, *requests):
    """Begin these runs by one transaction, after one that holds them up."""
    first = pool.submit(start)
    held.until_begun()
    others = []
    for place, request in enumerate(requests, 1):
        others.append(pool.submit(start, **request))
        held.until_waiting(place)
    held.gate.set()
    first.result(WAIT_S)
    return others


def test_each_gets_its_own_id_and_request(world, pool, held, start, inserts):
    questions = [f"Question {number} 🌞" for number in range(ACCEPTED_AT_ONCE - 1)]
    begun = together(pool, held, start, *({"question": question} for question in questions))

    found = [world.get(f"/api/v1/runs/{one.result(WAIT_S).run_id}").json for one in begun]
    assert [run["question"] for run in found] == questions
    assert {run["status"] for run in found} == {"queued"}
    assert held.sizes == [1, len(questions)]
    assert len(inserts) == (1 + len(questions) if world.container.database.is_sqlite else 2)


def test_so_does_each_where_the_database_returns_one_id_at_a_time(world, pool, held, start, inserts, monkeypatch):
    """As MySQL, which has no RETURNING."""
    for engine in world.container.database.engines:
        monkeypatch.setattr(engine.dialect, "insert_executemany_returning_sort_by_parameter_order", False)
    questions = [str(number) for number in range(4)]
    begun = together(pool, held, start, *({"question": question} for question in questions))

    found = [world.get(f"/api/v1/runs/{one.result(WAIT_S).run_id}").json for one in begun]
    assert [run["question"] for run in found] == questions
    assert len(inserts) == 1 + len(questions)


def test_each_is_executed_once(service, pool, held, start):
    begun = together(pool, held, start, *({"question": str(number)} for number in range(5)))

    run_ids = [one.result(WAIT_S).run_id for one in begun]
    assert [service.execute(run_id) for run_id in run_ids] == [True] * 5
    assert len(set(run_ids)) == 5


def test_those_with_a_key_have_their_keys(world, pool, held, start, key_id):
    keys = [Idempotency.of(key_id, f"key {number}", b"{}") for number in range(3)]
    begun = together(pool, held, start, {"question": "without"}, *({"idempotency": key} for key in keys))

    run_ids = [one.result(WAIT_S).run_id for one in begun]
    again = [start(idempotency=key) for key in keys]
    assert [(one.run_id, one.joined) for one in again] == [(run_id, True) for run_id in run_ids[1:]]
    with pytest.raises(Conflict):
        start(idempotency=Idempotency.of(key_id, "key 1", b"another body"))


def test_the_same_key_twice_makes_one_run_and_harms_no_other(world, pool, held, start, key_id):
    key = Idempotency.of(key_id, "twice", b"{}")
    requests = ({"question": "other"}, {"idempotency": key}, {"idempotency": key}, {"question": "last"})
    other, one, same, last = (each.result(WAIT_S) for each in together(pool, held, start, *requests))

    assert one.run_id == same.run_id
    assert sorted([one.joined, same.joined]) == [False, True]
    assert len({other.run_id, one.run_id, last.run_id}) == 3
    with world.container.database.read() as connection:
        stored = select(func.count()).where(runs.c.project_id == world.project_id)
        assert connection.scalar(stored) == 4, "the first, and these three"
    assert [status(world, each.run_id) for each in (other, one, last)] == ["queued"] * 3


def test_only_the_same_key_with_another_body_is_refused(pool, held, start, key_id):
    requests = ({"idempotency": Idempotency.of(key_id, "k", body)} for body in (b"one", b"other"))
    outcomes = [each.exception(WAIT_S) for each in together(pool, held, start, {"question": "other"}, *requests)]

    assert [type(error) for error in outcomes] == [type(None), type(None), Conflict]


def test_an_expired_key_makes_way_for_the_new_one(world, held, start, key_id):
    key = Idempotency.of(key_id, "old", b"{}")
    held.gate.set()
    old = start(idempotency=key)
    with world.container.database.write() as connection:
        table = idempotency_keys
        aged = world.container.now() - 2 * new_runs.KEY_TTL
        connection.execute(table.update().where(table.c.run_id == old.run_id).values(created_at=aged))

    new = start(idempotency=key)
    assert (new.joined, new.run_id != old.run_id) == (False, True)
    assert start(idempotency=key).run_id == new.run_id


def test_large_runs_and_those_with_files_do_not_join_others(pool, held, start, inserts):
    large = {"question": "x" * TOGETHER_MAX}
    first = pool.submit(start)
    held.until_begun()

    assert start(**large).run_id
    assert start(files=(File("a.txt", "text/plain", b"a"),)).run_id
    assert len(inserts) == 2, "neither waits for the transaction that is held"
    held.gate.set()
    first.result(WAIT_S)


def test_a_large_run_that_gets_no_turn_is_refused_and_not_begun(start, service, monkeypatch):
    monkeypatch.setattr(new_runs, "QUEUE_WAIT_S", 0)
    places = [service.inserter._alone.acquire() for _ in range(new_runs.ALONE_AT_ONCE)]
    try:
        with pytest.raises(Unavailable, match="large"):
            start(question="x" * TOGETHER_MAX)
    finally:
        service.inserter._alone.release(len(places))
    assert start(question="x" * TOGETHER_MAX).run_id


def test_when_the_database_fails_none_is_begun(world, pool, held, start, monkeypatch):
    def away(new):
        raise Unavailable("away")

    first = pool.submit(start)
    held.until_begun()
    others = [pool.submit(start) for _ in range(3)]
    held.until_waiting(3)
    held._commit = away
    held.gate.set()

    for one in (first, *others):
        with pytest.raises(Unavailable, match="away"):
            one.result(WAIT_S)
    with world.container.database.read() as connection:
        assert connection.scalar(select(func.count()).where(runs.c.project_id == world.project_id)) == 0


def test_a_lookup_of_several_keys_reads_no_other_keys_of_their_api_keys(world, service, start, key_id):
    other_id = world.container.services.keys.create(project_id=world.project_id, name="other").id
    stored = [Idempotency.of(api_key_id, key, b"{}") for api_key_id in (key_id, other_id) for key in ("a", "b")]
    begun = [start(idempotency=key).run_id for key in stored]

    with world.container.database.read() as connection:
        kept = find_keys(connection, [stored[0].key, stored[3].key])

    assert {key: row.run_id for key, row in kept.items()} == {stored[0].key: begun[0], stored[3].key: begun[3]}
