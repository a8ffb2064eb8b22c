"""The log of a prompt's runs, page by page."""

from datetime import timedelta

import pytest

from app.models import run_log, runs
from app.models.run_log import EXCERPT_MAX, RunFilter
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, run


def page(world, prompt_id, limit=100, before=None, project_id=None, **wanted):
    with world.container.database.read() as connection:
        return run_log.page_of_runs(
            connection,
            project_id=project_id or world.project_id,
            prompt_id=prompt_id,
            filters=RunFilter(**wanted),
            after=before,
            limit=limit,
        )


def questions(entries):
    return [entry.question for entry in entries]


def set_times(world, times):
    """`times` is {run id: created at}."""
    table = runs.runs
    with world.container.database.write() as connection:
        for run_id, created_at in times.items():
            connection.execute(table.update().where(table.c.id == run_id).values(created_at=created_at))


@pytest.fixture
def prompt_id(world):
    return prompt(world)


def test_pages_go_through_all_runs_newest_first_although_many_began_at_once(world, prompt_id):
    ids = [int(run(world, prompt_id, f"q{n}").headers["X-Run-Id"]) for n in range(7)]
    now = world.container.now()
    set_times(world, {run_id: now - timedelta(seconds=n // 3) for n, run_id in enumerate(ids)})

    seen, before = [], None
    while entries := page(world, prompt_id, limit=2, before=before):
        seen += questions(entries)
        before = (entries[-1].created_at, entries[-1].id)
    assert seen == ["q2", "q1", "q0", "q5", "q4", "q3", "q6"]


def test_a_search_finds_questions_and_answers_in_any_case(world, upstream):
    prompt_id = prompt(world, model="gpt-4o-mini")
    upstream.script(Reply(text="In Oslo 100%"), Reply(text="Nowhere"))
    for question in ("Where?", "and OSLO?"):
        run(world, prompt_id, question)
    run(world, prompt_id, "x")

    assert questions(page(world, prompt_id, search="oslo")) == ["and OSLO?", "Where?"]
    assert questions(page(world, prompt_id, search="100%")) == ["Where?"]
    assert questions(page(world, prompt_id, search="%")) == ["Where?"]


def test_times_bound_the_log(world, prompt_id):
    ids = [int(run(world, prompt_id, f"q{n}").headers["X-Run-Id"]) for n in range(3)]
    now = world.container.now()
    set_times(world, {run_id: now + timedelta(hours=n) for n, run_id in enumerate(ids)})

    assert questions(page(world, prompt_id, from_at=now + timedelta(hours=1))) == ["q2", "q1"]
    assert questions(page(world, prompt_id, to_at=now + timedelta(hours=1))) == ["q0"]


def test_each_state_is_shown_with_a_different_word(world, upstream):
    prompt_id = prompt(world, model="gpt-4o-mini")
    upstream.script(Reply(text="fine"), Reply(refusal="no"), Reply(status=400))
    for question in ("good", "refused", "broken"):
        run(world, prompt_id, question)

    assert questions(page(world, prompt_id, status="ok")) == ["good"]
    assert questions(page(world, prompt_id, status="nok")) == ["refused"]
    assert questions(page(world, prompt_id, status="failed")) == ["broken"]


def test_an_entry_has_excerpts_and_what_the_list_shows(world, prompt_id):
    run(world, prompt_id, "ü" * (EXCERPT_MAX + 1))
    [entry] = page(world, prompt_id)

    assert entry.question == entry.answer == "ü" * EXCERPT_MAX
    assert (entry.status, entry.model_name, entry.vendor, entry.source) == ("done", "echo", "BUILTIN", "api")
    assert entry.prompt_tokens > 0
    assert entry.response_time_ms is not None


def test_other_prompts_and_projects_are_not_in_it(world, prompt_id):
    run(world, prompt_id)

    assert page(world, prompt(world)) == []
    assert page(world, prompt_id, project_id=world.project_id + 1) == []
