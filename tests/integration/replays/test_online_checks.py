"""Online checks score a share of the turns that are recorded, each once, whoever works on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from app.chat import Answer
from app.models import online_checks, spans
from app.providers.types import ModelRequest, ProviderPort
from app.services.search.turn_sizes import CHECK_BYTES
from tests.fakes.judging import finding, judged
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import BOOKED, HOT, THANKS, prompt, record
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.conversations import RecordedTurn
from tests.support.exports import export, span
from tests.support.waiting import wait_until
from tests.support.world import World

JUDGE = {"name": "polite", "kind": "judge", "value": "It is polite.", "judgeModelName": "gpt-4o-mini"}
JUDGED = judged("passed", findings=[finding("It says so.", matters=False)])
JUDGED_WRONG = judged("failed")
TEXT = {"name": "says it", "kind": "contains", "value": "you are"}


def add(world: World, prompt_id: int, body: dict[str, Any], status: int = 201, **fields: Any) -> Any:
    added = world.post(f"/api/v1/prompts/{prompt_id}/online-checks", json=body | fields)
    assert added.status_code == status, added.text
    return added.json


def settle(world: World) -> None:
    """Let the checks begin before what was recorded, and the turns have been recorded before them."""
    with world.container.database.write() as connection:
        mine = {"id": world.project_id}
        connection.execute(text("UPDATE online_checks SET position = 0, position_id = 0 WHERE project_id = :id"), mine)
        earlier = {"by": (5 * 60_000) << 21}
        connection.execute(text("UPDATE turns SET batch_id = batch_id - :by WHERE project_id = :id"), mine | earlier)


def run(world: World, check: Any) -> Any:
    """The check after it has looked at everything."""
    world.container.services.online_check_runner.run(check["id"])
    return world.get(f"/api/v1/online-checks/{check['id']}").json


def recorded(world: World, turns: Sequence[RecordedTurn] = (HOT, BOOKED, THANKS)) -> int:
    prompt_id = prompt(world)
    record(world, prompt_id, turns)
    return prompt_id


def scores(world: World, **query: Any) -> list[tuple[Any, ...]]:
    found = world.get("/api/v1/scores", params={"limit": 200} | query).json["scores"]
    return [(one["name"], one["label"], one["comment"]) for one in reversed(found)]


@pytest.mark.parametrize(
    ("body", "passed"),
    [
        (TEXT, [False, False, True]),
        ({"name": "says it", "kind": "regex", "value": r"\d+ °C"}, [True, False, False]),
    ],
)
def test_a_check_scores_the_answers_of_turns(world: World, body: dict[str, Any], passed: list[bool]) -> None:
    prompt_id = recorded(world)
    check = add(world, prompt_id, body)
    settle(world)
    assert run(world, check)["scored"] == 3

    session_id = world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json["entries"][0]["id"]
    session = world.get(f"/api/v1/sessions/{session_id}").json
    by_trace = {score["target"]["traceId"]: score for score in session["scores"]}
    found = [by_trace[turn["traceId"]] for turn in session["turns"]]
    assert [one["value"] for one in found] == [float(one) for one in passed]
    assert {(one["name"], one["source"]) for one in found} == {("says it", "check")}


def test_a_judge_scores_with_its_reasons_and_no_turn_twice(world: World, upstream: Upstream) -> None:
    prompt_id = recorded(world)
    check = add(world, prompt_id, JUDGE)
    settle(world)
    upstream.script(JUDGED, JUDGED_WRONG, JUDGED)
    found = run(world, check)
    said = [("polite", "true", "It says so."), ("polite", "false", "It does not."), ("polite", "true", "It says so.")]
    assert scores(world) == said
    assert (found["scored"], found["problem"], found["spentUsd"] > 0) == (3, None, True)
    assert "It is polite." in str(upstream.requests[0].body)

    settle(world)
    assert run(world, check)["scored"] == 3
    assert (len(upstream.requests), scores(world)) == (3, said)
    assert world.count("usage_daily") == 0


def test_a_turn_that_expands_to_many_megabytes_is_not_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt_id = recorded(world, [HOT])
    session_id = world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json["entries"][0]["id"]
    trace_id = world.get(f"/api/v1/sessions/{session_id}").json["turns"][0]["traceId"]
    for number in (1, 2):
        result = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": "long " * (CHECK_BYTES // 10)}
        named = {"service.prompt.id": prompt_id} | result
        assert world.send(export(span(named, traceId=trace_id, spanId=f"{number:016x}"))).status_code == 200
    check = add(world, prompt_id, TEXT)
    settle(world)
    monkeypatch.setattr(spans, "spans_of", lambda *_, **__: pytest.fail("The turn is read."))

    checked = run(world, check)

    assert (checked["scored"], checked["problem"]) == (0, "too long to compare")
    assert scores(world) == []


def with_scopes(world: World, *scopes: str) -> World:
    keys = world.container.services.keys
    return replace(world, key=keys.create(project_id=world.project_id, name="scoped", scopes=frozenset(scopes)).secret)


def patch(world: World, check: Any, **values: Any) -> Any:
    path = f"/api/v1/online-checks/{check['id']}"
    return world.client.simulate_patch(path, headers=world.headers, json=values)


def test_a_key_with_write_only_adds_no_judge(world: World) -> None:
    prompt_id, writer = prompt(world), with_scopes(world, "write")

    refused = add(writer, prompt_id, JUDGE, 403)
    add(writer, prompt_id, JUDGE, 403, enabled=False)
    add(writer, prompt_id, TEXT)

    assert "scope run" in refused["error"]
    assert [
        check["kind"] for check in world.get(f"/api/v1/prompts/{prompt_id}/online-checks").json["onlineChecks"]
    ] == ["contains"]


def test_run_without_write_adds_no_judge(world: World) -> None:
    add(with_scopes(world, "run", "read"), prompt(world), JUDGE, 403)


JUDGE_FIELDS = {name: value for name, value in JUDGE.items() if name != "name"}


@pytest.mark.parametrize(
    ("body", "values"),
    [
        (JUDGE | {"enabled": False}, {"enabled": True}),
        (JUDGE, {"maxCostPerDay": 1.5}),
        (JUDGE | {"share": 0.5}, {"share": 0.6}),
        (JUDGE, {"value": "It is polite and short."}),
        (JUDGE | {"version": "1"}, {"version": None}),
        (JUDGE | {"enabled": False}, {"maxCostPerDay": 1.5}),
        (TEXT, JUDGE_FIELDS),
        (TEXT, JUDGE_FIELDS | {"enabled": False}),
    ],
)
def test_a_key_with_write_only_has_no_judge_ask_more(
    world: World, upstream: Upstream, body: dict[str, Any], values: dict[str, Any]
) -> None:
    check = add(world, prompt(world), body)

    refused = patch(with_scopes(world, "write"), check, **values)

    assert (refused.status_code, "scope run" in refused.json["error"]) == (403, True)
    assert world.get(f"/api/v1/online-checks/{check['id']}").json == check
    assert patch(with_scopes(world, "write", "run"), check, **values).status_code == 200


@pytest.mark.parametrize(
    ("body", "values"),
    [
        (JUDGE, {"enabled": False}),
        (JUDGE, {"name": "friendly", "share": 0.5, "maxCostPerDay": 0.5}),
        (JUDGE, {"maxCostPerDay": 1}),
        (JUDGE, TEXT),
        (TEXT, {"share": 0.1, "value": "more", "maxCostPerDay": 9}),
    ],
)
def test_a_key_with_write_only_restrains_a_judge_and_changes_other_checks(
    world: World, upstream: Upstream, body: dict[str, Any], values: dict[str, Any]
) -> None:
    check = add(world, prompt(world), body)

    changed = patch(with_scopes(world, "write"), check, **values)

    assert changed.status_code == 200, changed.text
    assert {name: changed.json[name] for name in values} == values


def test_the_clock_has_workers_check_what_was_recorded(world: World) -> None:
    prompt_id = recorded(world)
    add(world, prompt_id, TEXT)
    settle(world)
    world.container.check_delivery.sweep()

    wait_until(lambda: len(scores(world)) == 3, "the scores of the check")


def test_turns_are_checked_from_now_on_and_once_they_have_settled(world: World) -> None:
    prompt_id = recorded(world)
    check = add(world, prompt_id, TEXT)
    record(world, prompt_id, (RecordedTurn("Again?", "You are right."),))

    assert run(world, check)["scored"] == 0
    assert check["id"] not in world.container.services.online_check_runner.due()


def test_a_check_of_an_idle_prompt_is_not_due_again_for_the_turns_of_others(world: World) -> None:
    recorded(world)
    check = add(world, prompt(world), TEXT)
    settle(world)
    runner = world.container.services.online_check_runner
    assert check["id"] in runner.due()
    assert run(world, check)["scored"] == 0
    assert check["id"] not in runner.due()


def test_every_check_looks_at_the_same_share(world: World) -> None:
    turns = [RecordedTurn(f"{number}?", f"You are number {number}.") for number in range(40)]
    prompt_id = recorded(world, turns)
    checks = [add(world, prompt_id, TEXT | {"name": name}, share=0.5) for name in ("one", "two")]
    none = add(world, prompt_id, TEXT | {"name": "none"}, share=0)
    settle(world)
    for check in (*checks, none):
        run(world, check)

    found = world.get("/api/v1/scores", params={"limit": 200}).json["scores"]
    one, two = ({s["target"]["traceId"] for s in found if s["name"] == name} for name in ("one", "two"))
    assert one == two
    assert 0 < len(one) < 40
    assert scores(world, name="none") == []


@pytest.mark.parametrize("field", ["version", "model"])
def test_a_check_of_another_version_or_model_scores_nothing(world: World, field: str) -> None:
    check = add(world, recorded(world), TEXT, **{field: "another"})
    settle(world)

    assert run(world, check)["scored"] == 0


def test_no_judge_is_asked_beyond_the_cost_of_a_day(world: World, upstream: Upstream) -> None:
    check = add(world, recorded(world), JUDGE, maxCostPerDay=0)
    settle(world)

    assert run(world, check)["scored"] == 0
    assert upstream.requests == []


def test_a_judge_that_fails_leaves_its_turn_and_rests(world: World, upstream: Upstream) -> None:
    check = add(world, recorded(world), JUDGE)
    settle(world)
    upstream.script(Reply(status=401))
    assert "gpt-4o-mini" in run(world, check)["problem"]
    assert check["id"] not in world.container.services.online_check_runner.due()
    assert run(world, check)["scored"] == 0
    assert len(upstream.requests) == 1


def test_a_judge_without_a_verdict_gives_no_score_and_goes_on(world: World, upstream: Upstream) -> None:
    check = add(world, recorded(world), JUDGE)
    settle(world)
    upstream.script(JUDGED, Reply(text="Perhaps."), JUDGED)

    assert run(world, check)["scored"] == 2


def test_two_workers_ask_the_judge_once_a_turn(world: World, upstream: Upstream) -> None:
    check = add(world, recorded(world), JUDGE)
    settle(world)
    upstream.choose = lambda _body: JUDGED
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: world.container.services.online_check_runner.run(check["id"]), range(4)))

    assert (len(upstream.requests), len(scores(world))) == (3, 3)


def test_reasons_are_masked(world: World, upstream: Upstream) -> None:
    masking = {"masking": [{"kind": "pattern", "value": "says"}]}
    assert world.put("/api/v1/data-policy", json=masking).status_code == 200
    check = add(world, recorded(world, (THANKS,)), JUDGE)
    settle(world)
    upstream.script(JUDGED)
    run(world, check)

    assert scores(world) == [("polite", "true", "It [masked] so.")]


def test_a_removed_check_scores_nothing_more_and_its_scores_stay(world: World) -> None:
    prompt_id = recorded(world)
    check = add(world, prompt_id, TEXT)
    settle(world)
    run(world, check)
    assert world.delete(f"/api/v1/online-checks/{check['id']}").status_code == 204
    record(world, prompt_id, (RecordedTurn("Again?", "You are right."),))
    settle(world)
    world.container.services.online_check_runner.run(check["id"])
    assert len(scores(world)) == 3

    add(world, prompt_id, TEXT)
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)
    assert (world.count("online_checks"), scores(world)) == (0, [])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "regex", "value": "("}, "value: "),
        ({"kind": "judge"}, "judgeModelName: Name the model that judges."),
        ({"kind": "judge", "judgeModelName": "echo"}, "judgeModelName: echo is a builtin model"),
        ({"kind": "judge", "judgeModelName": "nothing"}, "judgeModelName: The model"),
        ({"kind": "feeling"}, "kind: "),
        ({"share": 1.5}, "share: "),
        ({"maxCostPerDay": -1}, "maxCostPerDay: "),
        ({"name": " "}, "name: "),
    ],
)
def test_a_check_that_can_not_work_is_refused(world: World, fields: dict[str, Any], message: str) -> None:
    assert message in add(world, prompt(world), TEXT, 400, **fields)["error"]


def test_a_prompt_has_so_many_checks_and_their_changes_are_audited(world: World) -> None:
    prompt_id = prompt(world)
    for _ in range(20):
        add(world, prompt_id, TEXT)
    add(world, prompt_id, TEXT, 400)
    listed = world.get(f"/api/v1/prompts/{prompt_id}/online-checks").json["onlineChecks"]
    assert len(listed) == 20

    assert world.delete(f"/api/v1/online-checks/{listed[0]['id']}").status_code == 204
    actions = [entry["action"] for entry in world.get("/api/v1/audit-log").json["entries"][:2]]
    assert actions == ["online_check.removed", "online_check.added"]


def change(world: World, check: Any, status: int = 200, **fields: Any) -> Any:
    changed = world.patch(f"/api/v1/online-checks/{check['id']}", json=fields)
    assert changed.status_code == status, changed.text
    return changed.json


def test_a_check_that_changes_checks_what_is_not_scored_yet(world: World) -> None:
    check = add(world, recorded(world), TEXT)
    settle(world)
    changed = change(world, check, name="warm", kind="regex", value=r"\d+ °C")

    assert changed == check | {"name": "warm", "kind": "regex", "value": r"\d+ °C"}
    assert run(world, check)["scored"] == 3
    assert sorted(one[:2] for one in scores(world)) == [("warm", "false"), ("warm", "false"), ("warm", "true")]
    entry = world.get("/api/v1/audit-log").json["entries"][0]
    assert (entry["action"], entry["details"]) == ("online_check.changed", {"changed": "name, kind, value"})


def test_a_paused_check_looks_at_nothing_and_goes_on_with_what_comes_later(world: World) -> None:
    check = add(world, recorded(world), TEXT)
    settle(world)
    assert change(world, check, enabled=False)["enabled"] is False
    runner = world.container.services.online_check_runner
    assert check["id"] not in runner.due()
    assert run(world, check)["scored"] == 0

    change(world, check, enabled=True)
    assert run(world, check)["scored"] == 0
    settle(world)
    assert run(world, check)["scored"] == 3


def test_a_worker_gives_up_a_check_that_changes(world: World) -> None:
    check = add(world, recorded(world), TEXT)
    now = world.container.now()
    held = {"check_id": check["id"], "until": now + timedelta(minutes=20)}
    with world.container.database.write() as connection:
        assert online_checks.hold(connection, now=now, **held)
    change(world, check, value="I am")
    with world.container.database.write() as connection:
        assert not online_checks.change_held(connection, **held, scored=9)
    assert run(world, check)["scored"] == 0


class ChangingProviders:
    """Has a check changed while each call of a model is answered, and then answers it."""

    def __init__(self, providers: ProviderPort, change: Callable[[], object]) -> None:
        self._providers, self._change = providers, change

    def complete(self, request: ModelRequest) -> Answer:
        self._change()
        return self._providers.complete(request)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._providers, name)


@pytest.mark.parametrize(
    ("field", "calls", "scored"), [("name", (3, 3), 3), ("maxCostPerDay", (3, 3), 3), ("value", (1, 2), 0)]
)
def test_a_call_of_a_judge_counts_whatever_is_changed_meanwhile(
    world: World, upstream: Upstream, field: str, calls: tuple[int, int], scored: int
) -> None:
    upstream.script(*[JUDGED] * 4)
    check, runner = add(world, recorded(world), JUDGE, maxCostPerDay=9), world.container.services.online_check_runner
    scopes = ("read", "write", "run") if field == "value" else ("read", "write")
    writer, values = with_scopes(world, *scopes), iter(range(8, 0, -1))

    def change_more() -> None:
        value = next(values)
        change(writer, check, **{field: value if field == "maxCostPerDay" else f"polite {value}"})

    providers: Any = ChangingProviders(runner.providers, change_more)
    counts, costs = [], []
    for _ in calls:
        settle(world)
        replace(runner, providers=providers).run(check["id"])
        shown = world.get(f"/api/v1/online-checks/{check['id']}").json
        counts.append(len(upstream.requests))
        costs.append(shown["spentUsd"])
        assert shown["scored"] == scored

    assert tuple(counts) == calls
    assert costs[0] > 0
    assert costs[1] == pytest.approx(costs[0] * calls[1] / calls[0], rel=0.01)


def test_a_call_under_way_counts_for_the_limit_of_a_day(world: World, upstream: Upstream) -> None:
    upstream.script(*[JUDGED] * 4)
    # The limit allows one call of at most 16,384 tokens, and no second one.
    check, runner = (
        add(world, recorded(world, [HOT]), JUDGE, maxCostPerDay=0.015),
        world.container.services.online_check_runner,
    )
    settle(world)
    while_asked: list[tuple[float, int]] = []

    def ask_something_else() -> None:
        change(world, check, value="It is short.")
        settle(world)
        shown = run(world, check)
        while_asked.append((shown["spentUsd"], len(upstream.requests)))

    providers: Any = ChangingProviders(runner.providers, ask_something_else)
    replace(runner, providers=providers).run(check["id"])

    [(reserved, asked)] = while_asked
    assert asked == 0
    shown = world.get(f"/api/v1/online-checks/{check['id']}").json
    assert 0 < shown["spentUsd"] < reserved <= 0.015
    assert len(upstream.requests) == 1


def test_a_judge_that_is_paused_while_it_is_asked_scores_that_turn_and_no_other(
    world: World, upstream: Upstream
) -> None:
    upstream.script(*[JUDGED] * 3)
    check, runner = add(world, recorded(world), JUDGE, maxCostPerDay=9), world.container.services.online_check_runner
    settle(world)
    writer = with_scopes(world, "read", "write")
    providers: Any = ChangingProviders(runner.providers, lambda: change(writer, check, enabled=False))

    replace(runner, providers=providers).run(check["id"])

    assert world.get(f"/api/v1/online-checks/{check['id']}").json["scored"] == 1
    assert len(upstream.requests) == 1


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "judge"}, "judgeModelName: Name the model that judges."),
        ({"kind": "regex", "value": "("}, "value: "),
        ({"share": 2}, "share: "),
        ({"name": None}, "name: Field may not be null."),
        ({"enabled": "no"}, "enabled: Must be true or false."),
        ({"position": 1}, "position: Unknown field."),
    ],
)
def test_a_change_that_could_not_be_made_new_is_refused(world: World, fields: dict[str, Any], message: str) -> None:
    check = add(world, prompt(world), TEXT)
    assert change(world, check, 400, **fields)["error"].startswith(message)
    assert world.get(f"/api/v1/online-checks/{check['id']}").json == check


def test_one_check_beyond_the_limit_of_a_project_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.services.scores.online_checks.CHECKS_OF_PROJECT", 2)
    for _ in range(2):
        add(world, prompt(world), TEXT)
    refused = add(world, prompt(world), TEXT, status=400)
    assert "A project may have 2 online checks" in str(refused)
