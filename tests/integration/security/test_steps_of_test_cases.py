"""Test cases of very many steps: what accepts, lists, changes and shows them does twice the work for twice of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

import pytest
from falcon.testing import Result

from app.models.organizations import Role
from app.replay import case_limits
from app.replay.case_limits import CASE_MATCHERS_MAX, MATCHERS_MAX, STEPS_MAX, TOOLS_MAX, TURNS_MAX
from app.services.replays import acceptance, cases
from app.services.sessions import service as session_service
from app.sessions.spans import RawSpan
from app.sessions.types import Turn
from app.web.forms import csrf_token
from app.web.views import case_form as view
from tests.integration.replays.recording import BOOKED, HOT, THANKS, finished, prompt, record, replayed
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.operations import work_of
from tests.support.statements import executed
from tests.support.world import World

FEWEST, FEW, MANY = 2, 60, 120
PAGE = 100
"""Steps that are listed at once."""
TIMES = 2
"""The first time compiles statements and fills caches."""


def recorded(steps: int) -> list[dict[str, Any]]:
    """Calls that the model `echo` never makes, and its answer."""
    calls = [{"kind": "tool_call", "name": "look", "arguments": {"at": n}, "result": n} for n in range(steps - 1)]
    return [*calls, {"kind": "answer", "text": "hello"}]


def document(turns: int, steps: int) -> dict[str, Any]:
    return {"turns": [{"user": "hello", "steps": recorded(steps)} for _ in range(turns)]}


def imported(world: World, case: dict[str, Any], name: str = "many steps", prompt_id: int | None = None) -> Result:
    path = f"/api/v1/prompts/{prompt_id or prompt(world, model='echo')}/test-cases/import"
    return world.post(path, json={"format": "reprise.test-case/2", "name": name, "testCase": case})


def case_of(world: World, steps: int) -> int:
    made = imported(world, document(1, steps))
    assert made.status_code == 201, made.text
    case_id: int = made.json["id"]
    return case_id


Ask = Callable[[int, int, int], object]
"""A request about a test case of so many steps: its id, that of its replay, and the number of steps."""


def work_at(world: World, steps: int, ask: Ask) -> int:
    """Return the calls and lines that a request needs on a test case of so many steps, replayed once."""
    case_id = case_of(world, steps)
    replay_id = replayed(world, case_id)["id"]
    return min(work_of(lambda: ask(case_id, replay_id, steps)) for _ in range(TIMES))


def assert_linear(world: World, ask: Ask) -> None:
    """Compare what steps add: the work that any request needs would hide how it grows."""
    fewest, few, many = (work_at(world, steps, ask) for steps in (FEWEST, FEW, MANY))
    assert many - fewest <= 2.6 * (few - fewest)


def test_quadratic_work_behind_the_work_of_any_request_is_found(world: World) -> None:
    def ask(case_id: int, _replay_id: int, steps: int) -> None:
        world.get(f"/api/v1/test-cases/{case_id}")
        for number in range(2 * steps**2):
            abs(number)

    with pytest.raises(AssertionError):
        assert_linear(world, ask)


def test_listing_what_a_batch_can_accept_needs_twice_the_work_for_twice_the_steps(world: World) -> None:
    def ask(_case_id: int, replay_id: int, steps: int) -> None:
        listed = world.get(f"/api/v1/replays/{replay_id}/batch/accept").json["steps"]
        assert len(listed) == min(steps - 1, PAGE)

    assert_linear(world, ask)


def test_accepting_all_steps_of_a_test_case_is_one_transaction(world: World) -> None:
    statements = []
    for steps in (30, 60):
        case_id = case_of(world, steps)
        replay_id = replayed(world, case_id)["id"]
        with executed() as of_accepting:
            answer = world.post(f"/api/v1/replays/{replay_id}/batch/accept")
        assert answer.json == {"accepted": steps - 1}
        statements.append(len([text for text in of_accepting if "test_cases" in text or "audit_log" in text]))

    assert 0 < statements[0] == statements[1]


def test_a_change_of_every_step_needs_twice_the_work_for_twice_the_steps(world: World) -> None:
    def ask(case_id: int, _replay_id: int, steps: int) -> None:
        changes = [{"turn": 0, "step": n, "check": {"enabled": True}} for n in range(steps)]
        assert world.patch(f"/api/v1/test-cases/{case_id}", json={"steps": changes}).status_code == 200

    assert_linear(world, ask)


@pytest.mark.parametrize("page", ["/test-cases/{case}", "/replays/{replay}", "/replays/{replay}/batch/accept"])
def test_pages_need_twice_the_work_for_twice_the_steps(world: World, page: str) -> None:
    cookies = {"reprise_session": world.session_of(Role.MEMBER)}

    def ask(case_id: int, replay_id: int, _steps: int) -> None:
        path = f"/projects/{world.project_id}" + page.format(case=case_id, replay=replay_id)
        assert world.client.simulate_get(path, cookies=cookies).status_code == 200

    assert_linear(world, ask)


def turn_with(check: dict[str, Any]) -> dict[str, Any]:
    return {"user": "hello", "steps": [{"kind": "tool_call", "name": "look", "arguments": {}, "check": check}]}


def matchers(number: int) -> dict[str, str]:
    return {f"/{n}": "any" for n in range(number)}


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(
    ("case", "refusal"),
    [
        (document(TURNS_MAX + 1, 1), f"testCase.turns: at most {TURNS_MAX}"),
        (document(2, STEPS_MAX // 2 + 1), f"testCase.turns: at most {STEPS_MAX} steps in all"),
        (
            {"turns": [turn_with({"arguments": matchers(MATCHERS_MAX + 1)})]},
            f"testCase.turns.0.steps.0.check.arguments: at most {MATCHERS_MAX} matchers",
        ),
        (
            document(1, 2) | {"tools": {"look": {"arguments": matchers(MATCHERS_MAX + 1)}}},
            f"testCase.tools.look.arguments: at most {MATCHERS_MAX} matchers",
        ),
        (
            {"turns": [turn_with({"arguments": matchers(MATCHERS_MAX)})] * (CASE_MATCHERS_MAX // MATCHERS_MAX + 1)},
            f"testCase.turns: at most {CASE_MATCHERS_MAX} matchers and patterns in all",
        ),
        (
            document(1, 2) | {"tools": {f"tool {n}": {"never": True} for n in range(TOOLS_MAX + 1)}},
            f"testCase.tools: at most {TOOLS_MAX}",
        ),
    ],
    ids=["turns", "steps", "matchers of a check", "matchers of a tool", "matchers in all", "tools"],
)
def test_a_file_over_a_limit_is_refused_with_the_limit(world: World, case: dict[str, Any], refusal: str) -> None:
    answer = imported(world, case)
    assert (answer.status_code, answer.json["error"]) == (400, refusal)


@EMBEDDED_CONTAINER
def test_a_change_over_a_limit_is_refused_with_the_limit(world: World) -> None:
    path = f"/api/v1/test-cases/{case_of(world, 3)}"
    change = {"turn": 0, "step": 0, "check": {}}
    refused = [
        world.patch(path, json=body).json["error"]
        for body in (
            {"steps": [change] * (STEPS_MAX + 1)},
            {"steps": [change, change | {"check": {"arguments": matchers(MATCHERS_MAX + 1)}}]},
            {"tools": {f"tool {n}": None for n in range(TOOLS_MAX + 1)}},
            {"tools": {"look": {"arguments": matchers(MATCHERS_MAX + 1)}}},
        )
    ]
    assert refused == [
        f"steps: Must have at most {STEPS_MAX} entries.",
        f"steps.1.check.arguments: at most {MATCHERS_MAX} matchers",
        f"tools: Must have at most {TOOLS_MAX} entries.",
        f"tools.look.arguments: at most {MATCHERS_MAX} matchers",
    ]


@EMBEDDED_CONTAINER
def test_a_stored_test_case_over_the_limits_is_read_played_changed_and_deleted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    case_id = case_of(world, 4)
    path = f"/api/v1/test-cases/{case_id}"
    for name in ("TURNS_MAX", "STEPS_MAX", "TOOLS_MAX", "MATCHERS_MAX", "CASE_MATCHERS_MAX"):
        monkeypatch.setattr(case_limits, name, 0)
    cookies = {"reprise_session": world.session_of(Role.MEMBER)}

    assert world.get(path).status_code == world.get(f"{path}/export").status_code == 200
    assert world.client.simulate_get(f"/projects/{world.project_id}{path[7:]}", cookies=cookies).status_code == 200
    assert replayed(world, case_id)["status"] == "failed"
    assert world.patch(path, json={"steps": [{"turn": 0, "step": 0, "check": {"enabled": False}}]}).status_code == 200
    assert world.post(f"{path}/copy").json["error"] == "turns: at most 0"
    assert world.delete(path).status_code == 204


@EMBEDDED_CONTAINER
def test_a_session_that_is_too_long_makes_a_test_case_of_its_first_turns(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = record(world, prompt(world, model="echo"), [HOT, BOOKED, THANKS])
    monkeypatch.setattr(case_limits, "TURNS_MAX", 2)
    path = f"/api/v1/sessions/{session_id}/test-cases"
    cookies = {"reprise_session": world.session_of(Role.MEMBER)}

    refused = world.post(path)
    too_many = world.post(path, json={"includedTurns": 3})
    made = world.post(path, json={"includedTurns": 1})
    page = world.client.simulate_get(f"/projects/{world.project_id}/sessions/{session_id}/test-case", cookies=cookies)

    assert refused.status_code == too_many.status_code == 400
    assert refused.json["error"].startswith("turns: The session has 3 turns. A test case has at most 1000 turns, ")
    assert "Set includedTurns to use only the first 2 turns" in refused.json["error"]
    assert [turn["user"] for turn in made.json["turns"]] == [HOT.user]
    assert "this is its first 2 turns, without the 1 later turn." in page.text


@EMBEDDED_CONTAINER
def test_a_session_of_too_many_spans_makes_a_test_case_of_its_first_turns_without_building_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = record(world, prompt(world, model="echo"), [HOT, BOOKED, THANKS])
    monkeypatch.setattr(cases, "SPANS_MAX", 4)
    built = counted(monkeypatch)
    path = f"/api/v1/sessions/{session_id}/test-cases"
    cookies = {"reprise_session": world.session_of(Role.MEMBER)}

    refused, made = world.post(path), world.post(path, json={"includedTurns": 1})
    page = world.client.simulate_get(f"/projects/{world.project_id}/sessions/{session_id}/test-case", cookies=cookies)

    assert (refused.status_code, made.status_code, page.status_code) == (400, 201, 200)
    assert "is made of turns of at most 8000 spans in all. Set includedTurns to use only" in refused.json["error"]
    assert max(built) <= 4


@EMBEDDED_CONTAINER
def test_a_turn_of_too_many_spans_makes_no_test_case(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    session_id = record(world, prompt(world, model="echo"), [HOT])
    for module in (cases, view):
        monkeypatch.setattr(module, "SPANS_MAX", 1)
    path = f"/projects/{world.project_id}/sessions/{session_id}/test-case"
    cookies = {"reprise_session": world.session_of(Role.MEMBER)}

    refused = world.post(f"/api/v1/sessions/{session_id}/test-cases")
    page = world.client.simulate_get(path, cookies=cookies)

    assert refused.status_code == 400
    assert "spans in all." in refused.json["error"]
    assert re.search(r"The first turn has \d+ spans, too many for a test case.", page.text)


@EMBEDDED_CONTAINER
def test_a_form_that_makes_a_test_case_of_a_session_builds_it_once_also_where_it_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = record(world, prompt(world, model="echo"), [HOT, BOOKED])
    cookie = world.session_of(Role.MEMBER)
    path = f"/projects/{world.project_id}/sessions/{session_id}/test-case"
    built = counted(monkeypatch)

    def sent(**fields: str) -> int:
        built.clear()
        body = urlencode({"csrf": csrf_token(cookie), **fields})
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = world.client.simulate_post(path, body=body, headers=headers, cookies={"reprise_session": cookie})
        assert len(built) == 1
        return answer.status_code

    assert sent(name="x" * 1_000) == 400
    assert sent(name="Heat") == 303


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each session that is built adds the number of its spans."""
    built: list[int] = []
    build = session_service.build_session

    def counting(turns: Iterable[Sequence[RawSpan]], *others: Any, **options: Any) -> tuple[Turn, ...]:
        listed = [*turns]
        built.append(sum(map(len, listed)))
        return build(listed, *others, **options)

    monkeypatch.setattr(session_service, "build_session", counting)
    return built


@EMBEDDED_CONTAINER
def test_a_batch_of_large_test_cases_is_accepted_a_few_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt_id = prompt(world, model="echo")
    for name in ("first", "second"):
        assert imported(world, document(1, 3), name, prompt_id).status_code == 201
    started = world.post(f"/api/v1/prompts/{prompt_id}/replays").json["replays"]
    for replay in started:
        finished(world, replay["id"])
    monkeypatch.setattr(acceptance, "READ_BYTES", 100)
    monkeypatch.setattr(acceptance, "SEARCHED_BYTES", 100)
    path = f"/api/v1/replays/{started[0]['id']}/batch/accept"

    assert len(world.get(path).json["steps"]) == 2
    assert world.post(path).json == {"accepted": 2}
    refused = world.post(path)

    assert (refused.status_code, "one by one" in refused.json["error"]) == (400, True)
