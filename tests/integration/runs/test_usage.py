"""GET /api/v1/usage: what runs and replays used, only of this project, and nothing else."""

import csv
import io
from datetime import timedelta

import pytest

from app.models import runs, usage
from tests.fakes.models import MODELS
from tests.fakes.wire import Reply
from tests.integration.replays import recording
from tests.integration.runs.asking import prompt, run
from tests.integration.runs.test_runs_faults import claim, started
from tests.support.sweeping import sweep_runs
from tests.support.world import new_world

ANSWERED = Reply(text="one two three", cached=2, reasoning_tokens=1)


def used(world, **query):
    answer = world.get("/api/v1/usage", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json


def today(world):
    """The day by the clock of the world, which may be another one a moment later."""
    return world.container.now().date().isoformat()


def rows(world, group_by, **query):
    return used(world, groupBy=group_by, **query)["rows"]


def test_a_project_without_runs_has_used_nothing(world):
    before = today(world)
    found = used(world)

    assert found["rows"] == []
    assert found["total"]["runs"] == 0
    assert before <= found["to"] <= today(world)


def test_the_sums_are_those_of_the_answers(world, upstream):
    prompt_id = prompt(world, model="gpt-4o-mini")
    upstream.script(*[ANSWERED] * 3)
    answers = [run(world, prompt_id, question).json for question in ("a", "b c", "d e f")]
    total = used(world)["total"]

    assert (total["runs"], total["failed"]) == (3, 0)
    for part, count in total["tokens"].items():
        assert count == sum(answer["tokens"].get(part, 0) for answer in answers)
    assert total["cost"] == pytest.approx(sum(answer["cost"]["total"] for answer in answers))
    assert total["tokens"]["cacheRead"] == 6


def test_failed_runs_are_counted_and_cost_nothing(world, upstream):
    upstream.script(Reply(status=400))
    run(world, prompt(world, model="gpt-4o-mini"))

    total = used(world)["total"]
    assert (total["runs"], total["failed"], total["cost"]) == (1, 1, 0)


def test_it_is_grouped_by_whatever_is_asked_for(world, upstream):
    echo, remote = prompt(world), prompt(world, model="gpt-4o-mini")
    version = world.get(f"/api/v1/prompts/{remote}").json["commitHash"]
    before = today(world)
    for prompt_id in (echo, echo, remote):
        run(world, prompt_id)
    run(world, remote, productive=False)
    key = world.container.services.keys.list(project_id=world.project_id)[0].id

    def counted(group_by, name):
        return [(row[name], row["runs"]) for row in rows(world, group_by)]

    days = dict(counted("day", "day"))
    assert sum(days.values()) == 4
    assert days.keys() <= {before, today(world)}
    assert counted("prompt", "promptId") == [(echo, 2), (remote, 2)]
    assert sorted(counted("version", "commitHash"), key=str)[-1] == (None, 1)
    assert (version, 1) in counted("version", "commitHash")
    assert [(row["model"]["name"], row["runs"]) for row in rows(world, "model", promptId=remote)] == [
        ("gpt-4o-mini", 2)
    ]
    assert counted("key", "apiKeyId") == [(key, 4)]
    assert counted("source", "source") == [("api", 4)]
    both = rows(world, "prompt,model")
    assert [(row["promptId"], row["model"]["name"], row["runs"]) for row in both] == [
        (echo, "echo", 2),
        (remote, "gpt-4o-mini", 2),
    ]


def test_one_prompt_can_be_asked_for(world):
    one, other = prompt(world), prompt(world)
    run(world, one)
    run(world, other)

    assert used(world, promptId=one)["total"]["runs"] == 1


def test_other_projects_use_nothing_of_ours(world, container):
    run(world, prompt(world))

    assert used(new_world(container))["total"]["runs"] == 0


def test_days_bound_the_sums_and_both_are_included(world):
    run(world, prompt(world))
    this_day = world.container.now().date()
    table = usage.usage_daily
    with world.container.database.write() as connection:
        mine = table.update().where(table.c.project_id == world.project_id)
        connection.execute(mine.values(day=this_day - timedelta(days=3)))

    def runs_in(first, last):
        days = {"from": this_day - timedelta(days=first), "to": this_day - timedelta(days=last)}
        return used(world, **{name: day.isoformat() for name, day in days.items()})["total"]["runs"]

    assert [runs_in(3, 3), runs_in(5, 3), runs_in(3, 0), runs_in(5, 4), runs_in(2, 0)] == [1, 1, 1, 0, 0]


def test_the_model_that_answered_is_the_one_that_is_counted(world, upstream):
    prompt_id = prompt(world, model=MODELS["OPENAI"], fallbackModelName=MODELS["ANTHROPIC"])
    upstream.script(Reply(status=400), ANSWERED)
    answer = run(world, prompt_id).json

    [row] = rows(world, "model")
    assert row["model"] == answer["model"]
    assert row["cost"] == pytest.approx(answer["cost"]["total"])


def test_runs_of_interrupted_and_unsent_ends_are_counted_once(world, container):
    interrupted, unsent = started(world).run_id, started(world).run_id
    claim(world, interrupted)
    sweep_runs(world)
    for _ in range(2):
        container.services.runs.ending.give_up(unsent, "not sent")
        container.services.runs.execute(unsent)

    total = used(world)["total"]
    assert (total["runs"], total["failed"]) == (2, 2)


def test_renderings_and_ingested_spans_are_in_none_of_it(world):
    prompt_id = prompt(world)
    world.post(f"/api/v1/prompts/{prompt_id}/render", json={})
    recording.record(world, prompt_id)

    assert world.count("spans") > 0
    assert used(world)["total"]["runs"] == 0


def test_replays_are_of_the_source_replay_with_their_tokens(world):
    prompt_id = recording.prompt(world, model="demo-agent")
    case = recording.make_case(world, recording.record(world, prompt_id))
    done = recording.finished(world, recording.start(world, case["id"]))
    run(world, prompt_id)

    by_source = {row["source"]: row for row in rows(world, "source")}
    assert by_source.keys() == {"api", "replay"}
    assert by_source["replay"]["runs"] == 1
    assert by_source["replay"]["tokens"]["total"] == done["tokens"]["total"] > 0
    [of_prompt] = rows(world, "prompt")
    assert of_prompt["runs"] == 2
    [model] = rows(world, "model")
    assert (model["model"]["name"], model["runs"]) == ("demo-agent", 2)
    assert rows(world, "day")[0]["runs"] == 2
    assert used(world, promptId=prompt(world))["total"]["runs"] == 0


def test_csv_has_the_same_rows(world, upstream):
    run(world, prompt(world))
    run(world, prompt(world, model="gpt-4o-mini"))
    answer = world.client.simulate_get(
        "/api/v1/usage", params={"groupBy": "model,source"}, headers=world.headers | {"Accept": "text/csv"}
    )

    assert answer.headers["Content-Type"].startswith("text/csv")
    read = list(csv.DictReader(io.StringIO(answer.text)))
    same = rows(world, "model,source")
    assert [(row["model.name"], int(row["runs"]), int(row["tokens.total"])) for row in read] == [
        (row["model"]["name"], row["runs"], row["tokens"]["total"]) for row in same
    ]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"groupBy": "week"}, "groupBy: 'week' is not one of day, prompt"),
        ({"groupBy": ""}, "groupBy: "),
        ({"from": "yesterday"}, "from: "),
        ({"from": "2026-02-01", "to": "2026-01-01"}, "to: "),
        ({"from": "1990-01-01", "to": "2026-01-01"}, "to: "),
        ({"promptId": "x"}, "promptId: "),
        ({"surprise": "1"}, "surprise: "),
    ],
)
def test_a_bad_question_is_400(world, query, message):
    answer = world.get("/api/v1/usage", params=query)

    assert answer.status_code == 400
    assert message in answer.json["error"]


def test_the_sums_are_kept_when_the_runs_are_not(world):
    run(world, prompt(world))
    table = runs.runs
    with world.container.database.write() as connection:
        connection.execute(table.delete().where(table.c.project_id == world.project_id))

    assert used(world)["total"]["runs"] == 1
