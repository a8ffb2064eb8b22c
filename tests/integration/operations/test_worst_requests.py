"""The work of each route grows in step with the stores and with its body, and the benchmark forgets no route."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import falcon
import orjson
import pytest

from app.api.operation import Resource
from app.http.access import Public
from app.models.cases import count_test_cases
from app.process.application import build_app
from app.wiring.container import Container
from bench.worst import derived
from bench.worst.__main__ import cases
from bench.worst.case import Case
from bench.worst.fullest import fill
from bench.worst.last import is_last
from bench.worst.stage import Size, Stage, stage
from tests.integration.operations.worst_bodies import values
from tests.integration.operations.worst_forms import SentForm, filled_forms
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.bodies import Bodies
from tests.support.growth import grown, work_by_function
from tests.support.statements import call_by_instructions

# Parts of the limits to which the stores are filled, and entries of the lists in bodies.
SHARES = (0.002, 0.02, 0.04)
ENTRIES = (2, 50, 100)


class Cost(NamedTuple):
    """The work of each function in the request's thread and what its answer has; SQLite's work is its callers'."""

    work: Counter[str]
    status: int


class Sent(NamedTuple):
    """The bytes of an answer, and its status."""

    size: int
    status: int


# Less work of a function is no sign: a cache that has expired, a connection that is opened.
FLOOR = 1_000
# What waits for workers does more on a busy machine. A request that seems to grow is asked so often again, and the
# least work of each function counts.
AGAIN = 2
BYTES = "bytes of the answer"
BYTES_PER_STEP = 64
# They show the process's own metrics, which grow with its minutes and not with the stores.
OF_PROCESS = {"GET /metrics", "GET /projects/{project_id}/operations"}
# Asks a vendor.
ELSEWHERE = "POST /api/v1/credentials/{vendor}/check"
# They refuse what has ended, or what no person has to decide.
REFUSED = {
    "POST /api/v1/calibrations/{calibration_id}/cancel",
    "POST /api/v1/experiments/{experiment_id}/cancel",
    "POST /api/v1/guard-maps/{map_id}/cancel",
    # The prompt has more sentences and test cases than a map may have.
    "POST /api/v1/prompts/{prompt_id}/guard-maps",
    "POST /api/v1/prompts/{prompt_id}/guard-maps/forecast",
    "POST /api/v1/judge-audits/{audit_id}/cancel",
    # The experiment's candidate is no program.
    "POST /api/v1/experiments/{experiment_id}/program-replays",
    "POST /api/v1/replays/{replay_id}/cancel",
    "POST /api/v1/runs/{run_id}/cancel",
    # Its example has the same time as since and until.
    "POST /api/v1/prompts/{prompt_id}/suite-proposals",
    "PATCH /api/v1/replays/{replay_id}/steps/{step}",
    "POST /api/v1/replays/{replay_id}/turns",
    "POST /api/v1/replays/{replay_id}/turns/{turn}/answer",
    # The newest session has recorded no instruction.
    "POST /api/v1/prompts/{prompt_id}/recorded-instruction/adopt",
    "POST /api/v1/prompts/{prompt_id}/recorded-instruction/placeholders",
}
# They need the token of a replay that a program plays.
OF_PROGRAMS = "/api/replay/"
# Quadratic for stretches of up to 80 lines or words, and linear beyond.
BOUNDED = {
    "replay/matching:longest_common_subsequence",
    "web/presenters/diffs:_Comparison._anchors",
    "web/presenters/diffs:_Comparison._inside",
    # Each two test cases of a suite, which has at most 200.
    "suites/coverage:_agree",
    "suites/coverage:covered_by",
    "suites/coverage:removable_cases",
    # A body of twice the entries has twice as many turns with texts of twice the length. 128 KiB of them are read.
    "search/words:words_of",
}
PLANTED, PLANTED_FORM = "/api/planted/", "/planted/"
QUADRATIC = {f"{PLANTED}2", f"{PLANTED_FORM}2"}
PLANTED_METHODS = {*((method, f"{PLANTED}2") for method in ("GET", "POST", "DELETE")), ("POST", f"{PLANTED_FORM}2")}
# Accepted for few sentences or test cases, and refused beyond a limit, with the page.
LIMITED = {"POST /projects/{project_id}/prompts/{prompt_id}/guard-maps"}
FORMS = {
    f"/projects/{{project_id}}/{path}"
    for path in (
        "prompts/new",
        "prompts/{prompt_id}/judge-audits",
        "prompts/{prompt_id}/preview",
        "replays/{replay_id}/batch/accept",
        "sessions/{session_id}/rating",
        "test-cases/{test_case_id}",
        "test-cases/{test_case_id}/copy",
    )
}
"""Forms that must be accepted. Others may be refused after they were read: a person must choose or enter something."""
# These forms are sent empty: filled ones make more of what a store is full of, remove something, or change settings.
EMPTY = ("/account", "/online-checks", "/schedules", "/projects/{project_id}/sessions", "/suites/{suite_id}")
# Rows that fill a store with their copies. Requests are about the newest copy: it may be removed.
COPIED = {
    "key_id": "api_keys",
    "invitation_id": "invitations",
    "model_id": "language_models",
    "user_id": "users",
    "delivery_id": "webhook_deliveries",
}
Costs = dict[str, Cost]


@EMBEDDED_CONTAINER
def test_every_route_has_a_dearest_request(container: Container) -> None:
    app = build_app(container)
    routes = {f"{method} {route.path}" for route in app.routes for method in route.responders}

    assert routes == {case.route for case in cases(app)}


class Planted(Resource):
    """Calls a function for each test case of a prompt, or for each two of them."""

    access = Public({"GET", "POST", "DELETE"})

    def __init__(self, made: Stage, power: int) -> None:
        super().__init__(made.world.container)
        self._ids = made.ids
        self._power = power

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.media = self._work(self._count())

    on_post = on_delete = on_get

    def _count(self) -> int:
        with self.container.database.read() as connection:
            return count_test_cases(connection, prompt_id=self._ids["prompt_id"], search=None)

    def _work(self, count: int) -> int:
        return sum(abs(number) for number in range(10 * count**self._power))


class PlantedForm(Planted):
    """A page with a box for each test case. Its form calls a function for each ticked box, or for each two of them."""

    access = Public({"GET", "POST", "DELETE"})

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        boxes = "".join(f'<input type="checkbox" name="case" value="{number}">' for number in range(self._count()))
        resp.text, resp.content_type = f'<form method="post" action="{req.path}">{boxes}</form>', falcon.MEDIA_HTML

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        resp.media = self._work(len(parse_qs(req.bounded_stream.read()).get(b"case", [])))

    on_delete = on_get


@pytest.fixture
def growing() -> Iterator[Stage]:
    """A stage to be filled, with a route and a form of linear work, and a route and a form of quadratic work."""
    with stage() as made:
        made.world.container.database.engine.dispose()
        call_by_instructions(made.world.container.database.engine)
        for power in (1, 2):
            made.app.add_route(f"{PLANTED}{power}", Planted(made, power))
            made.app.add_route(f"{PLANTED_FORM}{power}", PlantedForm(made, power))
        yield made


@pytest.mark.parametrize("methods", [{"GET"}, {"POST", "PUT", "PATCH", "DELETE"}], ids=["reads", "changes"])
def test_twice_as_much_is_at_most_about_twice_the_work_of_each_route(growing: Stage, methods: set[str]) -> None:
    asked = sorted(_asked(growing, methods), key=_order)
    small, once = (_filled(growing, asked, number) for number in range(2))
    twice = _filled(growing, asked, 2, before=(small, once))

    costs = {
        name: _grown(small[name], once[name], twice[name])
        for name in once
        if name.strip() not in LIMITED or once[name].status == twice[name].status
    }
    planted = {name for name, functions in costs.items() if functions and name.split()[1] in QUADRATIC}

    assert {name: functions for name, functions in costs.items() if functions and name not in planted} == {}
    assert {tuple(name.split()[:2]) for name in planted} == {
        (method, path) for method, path in PLANTED_METHODS if method in methods
    }
    assert {name: cost.status for name, cost in twice.items() if cost.status >= 400 and _must_be_allowed(name)} == {}
    if "POST" in methods:
        assert {
            name.split()[1] for name, cost in twice.items() if name.startswith("POST ") and cost.status < 400
        } >= FORMS


def _grown(small: Cost, once: Cost, twice: Cost) -> dict[str, Any]:
    functions = grown(small.work, once.work, twice.work, FLOOR)
    return {name: counts for name, counts in functions.items() if name not in BOUNDED}


def _asked(made: Stage, methods: set[str]) -> Iterator[Case]:
    """Yield the requests, without forms that remove what the API removes, too."""
    for case in derived.requests(made.app, by_fields=False):
        method, _, path = case.route.partition(" ")
        is_form = is_last(case.route) and not path.startswith("/api/")
        if method in methods and case.route not in OF_PROCESS and case.route != ELSEWHERE and not is_form:
            yield case


def _order(case: Case) -> tuple[bool, bool, bool, int]:
    """Return what sorts requests: what removes comes last, what belongs to something before it.

    Guard maps come after experiments, which would use their results again.
    """
    return is_last(case.route), case.route.endswith("/guard-maps"), "/sessions/" in case.route, -len(case.route)


def _must_be_allowed(name: str) -> bool:
    """Return whether a request must succeed: its body is valid. For forms see `FORMS`."""
    method, path = name.split()[:2]
    is_refused = f"{method} {path}" in REFUSED or path.startswith(OF_PROGRAMS)
    return method != "GET" and "/api/" in path and not is_refused


def _filled(made: Stage, asked: list[Case], number: int, before: Sequence[Costs] = ()) -> Costs:
    """Fill the stores to the `number`th share, and return the cost of each request.

    A request that seems to grow from the costs `before` is asked again.
    """
    originals = {name: made.ids[name] for name in (*COPIED, "score_id")}
    fill(made, Size(SHARES[number], number), listed=Size(SHARES[min(number, 1)], number))
    made.ids |= {name: made.newest(table) for name, table in COPIED.items()}
    made.ids["score_id"] = f"{made.ids['session_many_turns']}-0"
    document, entries = made.world.get("/api/openapi.json").json, ENTRIES[number]
    bodies = Bodies(document, values(made.ids, entries, number), entries, start=number * 100_000)
    forms = _forms(made, f"What is {number}?") if any(case.route.startswith("POST ") for case in asked) else {}
    if number == 0:
        for case in asked:  # fills caches
            if not is_last(case.route):
                _sent(made, case, bodies, forms)
    costs = {_name_of(case): _counted(made, case, bodies, forms) for case in asked if not before}
    for case in asked if before else ():
        small, once = (costs_before[_name_of(case)] for costs_before in before)
        costs[_name_of(case)] = _least(lambda case=case: _counted(made, case, bodies, forms), case, small, once)
    made.ids |= originals
    return costs


def _forms(made: Stage, text: str) -> dict[str, SentForm]:
    """Return the filled forms of all pages, of each page for one object."""
    cases = {case.route: case for case in derived.requests(made.app, by_fields=False)}
    pages = []
    for route, case in cases.items():
        method, _, template = route.partition(" ")
        if method == "GET" and "/api/" not in template and route not in OF_PROCESS:
            answer = made.answer(method, template, case.ask(made))
            if answer.headers.get("content-type", "").startswith("text/html"):
                pages.append((template, answer.text))
    forms = filled_forms(made.app, pages, text)
    return {path: form for path, form in forms.items() if not path.endswith(EMPTY) and "/settings/" not in path}


def _name_of(case: Case) -> str:
    return f"{case.route} {case.name}"


def _least(count: Callable[[], Cost], case: Case, small: Cost, once: Cost) -> Cost:
    cost = count()
    for _ in range(0 if is_last(case.route) else AGAIN):
        if not _grown(small, once, cost):
            break
        again = count()
        if again.status == cost.status:
            cost = Cost(cost.work & again.work, cost.status)  # the least of each function
    return cost


def _counted(made: Stage, case: Case, bodies: Bodies, forms: Mapping[str, SentForm]) -> Cost:
    answers: list[Sent] = []
    work = work_by_function(lambda: answers.append(_sent(made, case, bodies, forms)))
    work[BYTES] = answers[0].size // BYTES_PER_STEP
    return Cost(work, answers[0].status)


def _sent(made: Stage, case: Case, bodies: Bodies, forms: Mapping[str, SentForm]) -> Sent:
    method, _, template = case.route.partition(" ")
    ask, body = case.ask(made), bodies.of(method, template)
    if body is not None:
        ask = replace(ask, body=orjson.dumps(body))
    elif method == "POST" and template in forms:
        ask = replace(ask, body=forms[template].body)
    answer = made.answer(method, template, ask)
    return Sent(len(answer.content), answer.status_code)  # reads a streamed answer to its end
