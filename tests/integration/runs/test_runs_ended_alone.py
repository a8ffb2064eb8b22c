"""A single run is ended and counted by one statement on MySQL, once its day has a row, and by none twice."""

import pytest

from app.models.usage import SLOTS
from app.services.runs import RunCommand
from app.services.runs.outcome import RunEnd, failed
from app.work.table import Claim
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, run
from tests.integration.runs.test_runs_faults import QUESTION, claim, status
from tests.integration.runs.test_usage import used
from tests.support.statements import executed


@pytest.fixture
def service(world):
    return world.container.services.runs


@pytest.fixture
def prompt_id(world):
    return prompt(world, model="gpt-4o-mini")


def taken(world, service, prompt_id):
    """A run that this process has claimed: its row and its claim."""
    begun = service.start(RunCommand(prompt_id, QUESTION), project_id=world.project_id)
    [row] = claim(world, begun.run_id, "mine")
    return row, Claim(row.id, "mine", world.container.now())


def fill(world, service, prompt_id):
    """Let the day of the prompt have all rows that it can have."""
    for _ in range(SLOTS):
        service.ending.finish(*taken(world, service, prompt_id), RunEnd(status="done", answer="yes"))


def test_the_first_ones_of_a_day_and_the_later_ones_are_counted_alike(world, upstream, prompt_id):
    said = (Reply(text="one two", cached=1), Reply(text="three"), Reply(status=400))
    runs = 3 * SLOTS
    upstream.script(*said * SLOTS)
    answers = [run(world, prompt_id, f"Where is order {number}?") for number in range(runs)]
    good = [answer.json for answer in answers if answer.status_code == 200]
    total = used(world)["total"]

    assert (total["runs"], total["failed"], len(good)) == (runs, SLOTS, 2 * SLOTS)
    for part, count in total["tokens"].items():
        assert count == sum(answer["tokens"].get(part, 0) for answer in good)
    assert total["cost"] == pytest.approx(sum(answer["cost"]["total"] for answer in good))


def test_one_statement_ends_and_counts_it(world, service, prompt_id):
    fill(world, service, prompt_id)
    row, own = taken(world, service, prompt_id)
    with executed(world.container.database.engines) as found:
        ended = service.ending.finish(row, own, RunEnd(status="done", answer="yes", cost_usd=0.5))

    changed = [text for text in found if text.startswith(("UPDATE runs", "INSERT INTO usage_daily"))]
    assert len(changed) == (2 if world.container.database.is_sqlite else 1)
    assert (ended.status, ended.answer) == ("done", "yes")
    assert ended == service.get(project_id=world.project_id, run_id=row.id)
    total = used(world)["total"]
    assert (total["runs"], total["cost"]) == (SLOTS + 1, pytest.approx(0.5))


def test_one_that_another_worker_has_or_that_has_ended_is_not_counted(world, service, prompt_id):
    fill(world, service, prompt_id)
    row, own = taken(world, service, prompt_id)
    another_s = Claim(row.id, "another's", own.alive_at)

    assert service.ending.finish(row, another_s, RunEnd(status="done", answer="no")) is None
    assert (status(world, row.id), used(world)["total"]["runs"]) == ("running", SLOTS)
    assert service.ending.finish(row, own, RunEnd(status="done", answer="yes"))
    assert service.ending.finish(row, own, failed("provider", "late")) is None
    assert (status(world, row.id), used(world)["total"]["runs"]) == ("done", SLOTS + 1)


def test_an_end_that_the_database_refuses_is_neither_stored_nor_counted(world, service, prompt_id):
    fill(world, service, prompt_id)
    row, own = taken(world, service, prompt_id)

    with pytest.raises(ValueError, match="surrogates"):
        service.ending.finish(row, own, RunEnd(status="done", answer="\ud800"))
    assert (status(world, row.id), used(world)["total"]["runs"]) == ("running", SLOTS)


def test_it_is_counted_for_the_model_that_answered(world, service, prompt_id):
    listed = service.executor.models.list(organization_id=world.organization_id)
    models = {model.name: model.id for model in listed}
    fill(world, service, prompt_id)
    for _ in range(SLOTS + 1):
        end = RunEnd(status="done", answer="yes", language_model_id=models["gpt-4o"])
        service.ending.finish(*taken(world, service, prompt_id), end)

    rows = used(world, groupBy="model")["rows"]
    assert {(row["model"]["name"], row["runs"]) for row in rows} == {("gpt-4o-mini", SLOTS), ("gpt-4o", SLOTS + 1)}
