"""Answers, exports and the reading of requests are linear in each function."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

import falcon
import pytest
from falcon import testing
from marshmallow import Schema

from app.api.calibrations import TestCaseCalibrations
from app.api.experiments import PromptExperiments
from app.api.experiments import _events as of_experiment
from app.api.language_models import ModelsResource
from app.api.operation import ApiCall, _has
from app.api.programs import _program_request as request_of
from app.api.prompts import PromptsResource
from app.api.replays import PromptReplays
from app.api.runs import _prefers_async
from app.chat import Tokens
from app.errors import Invalid
from app.http import bodies, exports, run_events
from app.http.compression import _accepts_gzip
from app.models.language_models import LanguageModel
from app.models.runs import StoredCost, StoredMessage, StoredOutcome, StoredRequest, StoredToolCall
from app.models.scores import ScoreRow
from app.models.sessions import SessionRow
from app.models.usage import Spent
from app.pagination import ListPage
from app.prices.types import Bill, CalledModel
from app.providers.passing.openai import ChatCompletions
from app.rendering.render import Placeholder
from app.replay.cases import shown_document
from app.replay.effects import defined_tools
from app.schemas import calibrations, cases, experiments, histories, scores, suites
from app.schemas.answer import dump
from app.schemas.base import StrictSchema, load
from app.schemas.json_schemas import check_size, check_values
from app.schemas.programs import _files
from app.schemas.prompts import NewPromptSchema, PlaceholdersFound, RenderSchema
from app.schemas.replay_steps import turn_answer
from app.schemas.usage import UsageQuery, usage_csv
from app.services.data import export
from app.services.data.export import ExportService
from app.services.replays.programs import NextTurn
from app.services.runs.following import AnswerPiece
from app.services.runs.usage import UsageRow
from app.services.sessions.listing import ListedSession
from app.services.sessions.service import Session
from app.sessions.sums import part_of_names
from app.sessions.types import EarlierMessage, ShownSpan, Step, Turn
from tests.support.cores import Core, Make
from tests.support.growth import Work
from tests.unit.costs.conftest import cost_tests
from tests.unit.costs.replays import of_turns

pytestmark = pytest.mark.slow

NOW = datetime(2026, 1, 1, tzinfo=UTC)
# Texts that callers and models choose; each is repeated or numbered.
TEXTS: dict[str, Callable[[int], str]] = {
    "equal texts": lambda n: "refund",
    "different texts": lambda n: f"refund {n}",
    "falling texts": lambda n: f"{10**9 - n}",
    "letters": lambda n: "a",
    "combining marks": lambda n: "e\u0301\u0323" * (n % 7),
    "formulas and quotes": lambda n: f'="{n}"\n,;',
    "emojis": lambda n: "\U0001f600" * (n % 7),
}
VALUES: dict[str, Callable[[int], Any]] = {
    "nested lists": lambda n: nested(lambda inner: [inner], n),
    "nested objects": lambda n: nested(lambda inner: {"a": inner}, n),
    "many keys": lambda n: {f"k{k}": k for k in range(n)},
    "falling keys": lambda n: {f"k{k}": {} for k in range(n, 0, -1)},
    "a long list": lambda n: [[], {}, ""] * n,
    "a list of equal objects": lambda n: [{"a": 1, "b": "x"}] * n,
}


def nested(wrap: Callable[[Any], Any], count: int) -> Any:
    value: Any = 1
    for _ in range(50):
        value = wrap(value)
    return [value] * count


def step(number: int, text: str, value: Any) -> Step:
    if number % 2:
        return Step("answer", f"{number:016x}", text=text)
    return Step("tool_call", f"{number:016x}", name=text, arguments=value, result=text)


def shown_span(number: int, text: str, value: Any) -> ShownSpan:
    id_, parent = f"{number:016x}", f"{number - 1:016x}"
    bill = Bill(None, frozenset({CalledModel(text, text)}))
    return ShownSpan(id_, parent, text, "chat", number, number + 1, text, {"value": value}, bill=bill)


def answered(text: Callable[[int], str], value: Any, *, turns: int, spans: int) -> Session:
    """Return a session of as many turns with as many spans, steps, earlier messages and scores."""
    listed = tuple(shown_span(number, text(number), value) for number in range(spans))
    models = frozenset(CalledModel(text(number), f"{number}") for number in range(spans))
    one = Turn(
        f"{1:032x}",
        1,
        2,
        text(1),
        tuple(step(number, text(number), value) for number in range(spans)),
        placeholders={f"k{number}": text(number) for number in range(spans)},
        offered_tools=tuple(text(number) for number in range(spans)),
        bill=Bill(None, models),
        warnings=tuple(text(number) for number in range(spans)),
        earlier=tuple(EarlierMessage(role="user", text=text(number)) for number in range(spans)),
        spans=listed,
    )
    all_turns = tuple(replace(one, trace_id=f"{number:032x}", start_ns=turns - number) for number in range(turns))
    scored = tuple(
        ScoreRow(b"s" * 16, None, None, b"t" * 16, None, None, number, text(number), 1.0, None, text(number), "otlp")
        for number in range(turns)
    )
    return Session("s", 7, None, all_turns, scored)


def always(value: Any) -> Callable[..., Any]:
    """Return a function that returns a value. The calls of a mock would be a part of its caller's work."""
    return lambda *_args, **_options: value


def exported(kind: str, records: list[Any]) -> bytes:
    """Return an export as its caller gets it."""
    methods = dict.fromkeys(("of_sessions", "of_runs", "of_test_cases"), always(iter(records)))
    service: Any = SimpleNamespace(check=always(None), **methods)
    resp = falcon.Response()
    lines = exports.records(service, kind, project_id=1, prompt_id=1)
    exports.send_lines(testing.create_req(), resp, lines, name="x")
    assert resp.stream is not None
    return b"".join(resp.stream)


def of_sessions(text: Callable[[int], str]) -> Make:
    """Export and answer many sessions, one of many turns, and one of a turn with many spans."""

    def make(size: int) -> Work:
        many = [answered(text, text(1), turns=1, spans=1)] * size
        long = answered(text, text(1), turns=size, spans=1)
        wide = answered(text, text(1), turns=1, spans=size)

        def work() -> None:
            for listed in (many, [long], [wide]):
                lines = exported("sessions", listed).splitlines()
                assert len(lines) == len(listed)
                resp = falcon.Response()
                with mock.patch.object(exports, "WHOLE_BYTES_MAX", 4_000 * size):
                    exports.send_json(testing.create_req(), resp, exports.session_pieces(listed[0]))
                assert json.loads(resp.data or b"".join(resp.stream or ()))["turns"]

        return work

    return make


def of_values(value: Callable[[int], Any]) -> Make:
    """Export a session of one turn with a value, and check the value as that of a body."""

    def make(size: int) -> Work:
        made = value(8 * size)

        def work() -> None:
            exported("sessions", [answered(TEXTS["letters"], made, turns=1, spans=2)])
            for check in (check_values, partial(check_size, maximum=10**6)):
                check(made)

        return work

    return make


def of_listed(text: Callable[[int], str]) -> Make:
    """Write a list of many sessions, and of one with many names, as CSV and as JSON lines."""

    def make(size: int) -> Work:
        kinds: tuple[Any, ...] = ("model", "version", "tool", "failed_tool")
        names = "".join(part_of_names(kind, f"{text(n)} {n}") for n in range(size) for kind in kinds)
        few = SessionRow(b"s" * 16, 1, 1, text(1), 1, 2)
        many = [ListedSession(few, text(number), text(number)) for number in range(size)]
        wide = [ListedSession(replace(few, names=names), text(1), text(1))]

        def work() -> None:
            for listed in (many, wide):
                for as_csv in (True, False):
                    resp = falcon.Response()
                    exports.send_sessions(testing.create_req(), resp, listed, as_csv=as_csv)
                    assert resp.stream is not None
                    sent = b"".join(resp.stream).decode()
                    rows = [*csv.reader(io.StringIO(sent))][1:] if as_csv else sent.splitlines()
                    assert len(rows) == len(listed)

        return work

    return make


def of_usage(text: Callable[[int], str]) -> Make:
    def make(size: int) -> Work:
        group = {"day": date(2026, 1, 1), "source": "api", "language_model_id": 1, "vendor": "OPENAI"}
        rows = [UsageRow(group | {"name": text(number)}, Spent()) for number in range(size)]
        return lambda: usage_csv(rows, ["day", "model", "source"])

    return make


def a_run(text: Callable[[int], str], value: Any, size: int) -> Any:
    request = StoredRequest(
        format="RAW",
        config={"tools": value},
        resolved={f"k{n}": text(n) for n in range(size)},
        ignored=[text(n) for n in range(size)],
        files=[],
        history=[StoredMessage(role="user", text=text(n)) for n in range(size)],
    )
    calls = [StoredToolCall(id=f"{n}", name=text(n), arguments=value) for n in range(size)]
    outcome = StoredOutcome(Tokens(1, 1), StoredCost(1.0, 1.0, 2.0), text(1), calls)
    plain = dict.fromkeys(("commit_hash", "nok", "error", "error_kind", "started_at", "finished_at"))
    return SimpleNamespace(
        **plain,
        id=1,
        prompt_id=1,
        source="api",
        status="done",
        question=text(1),
        answer=text(2),
        instruction=text(3),
        language_model_id=1,
        model_name="m",
        vendor="OPENAI",
        response_time_ms=1,
        created_at=NOW,
        request=request,
        outcome=outcome,
    )


def of_runs(text: Callable[[int], str]) -> Make:
    def make(size: int) -> Work:
        many, wide = [a_run(text, text(1), 1)] * size, [a_run(text, text(1), size)]
        return lambda: (exported("runs", many), exported("runs", wide))

    return make


def of_cases(size: int) -> Work:
    """Export test cases of as many turns and tools, and replays of them with as many steps."""
    case = of_turns("replayed")(size)
    document = shown_document(case, (), {}, defined_tools(()))
    row = SimpleNamespace(id=1, prompt_id=1, name="c", session_id=None, created_at=NOW, updated_at=NOW)
    view: Any = SimpleNamespace(row=row, document=document)

    def work() -> None:
        assert exported("test-cases", [view] * 3).count(b"\n") == 3
        dump(cases.TestCaseExportSchema, view)

    return work


def of_replays(size: int) -> Work:
    """Answer a replay of as many turns, and one of a turn with as many steps, an experiment and a calibration."""
    evidence = {"kept": ["1"], "lost": [], "invented": []}
    verdict = {"kind": "answer", "result": "failed", "expected": "a", "actual": "b", "form": ["f"], "facts": evidence}
    turn = dict.fromkeys(("user", "stopReason", "drift", "error")) | {"extra": []}
    turns = [[turn | {"steps": [verdict] * 2}] * size, [turn | {"steps": [verdict] * size}]]
    candidates = [{"name": f"c{n}", "kind": "draft", "commitHash": None, "fingerprint": "f"} for n in range(size)]
    findings = {"candidates": [{"name": f"c{n}", "testCases": []} for n in range(size)]}
    shown: Any = SimpleNamespace(row=None, summary={"candidates": candidates}, findings=findings)
    played = [
        SimpleNamespace(id=n, prompt_tokens=1, completion_tokens=1, prompt_cost_usd=0.1, completion_cost_usd=0.1)
        for n in range(size)
    ]
    view: Any = SimpleNamespace(replays=played)

    def work() -> None:
        for listed in turns:
            for answered_turn in listed:
                turn_answer(answered_turn)
        experiments._candidates(shown)
        experiments._candidate(shown)
        calibrations._tokens(view)
        calibrations._cost(view)

    return work


def of_prompts(size: int) -> Work:
    """Answer which of as many placeholders a prompt lacks and does not use."""
    text = " ".join(f"{{{{k{n}}}}}" for n in range(size))
    content = SimpleNamespace(value=text, placeholders=[Placeholder(f"k{n}", ()) for n in range(size // 2, 2 * size)])

    def work() -> None:
        found = dump(PlaceholdersFound, content)
        assert len(found["undefinedKeys"]) == size // 2

    return work


def sent(schema: type[Schema], *bodies: Callable[[int], Any]) -> Make:
    """Load bodies of a size, which may be refused."""

    def make(size: int) -> Work:
        made = [body(size) for body in bodies]

        def work() -> None:
            for body in made:
                with suppress(Invalid):
                    load(schema(), body)

        return work

    return make


def score(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"s{number}", "name": "n", "value": 1, "target": {"traceId": f"{number:032x}"}} | more


def asked(calls: int, **more: Any) -> list[dict[str, Any]]:
    """Return messages of which one has as many calls, each with its result."""
    listed = [{"id": f"c{n}", "name": "t", "arguments": {}} | more for n in range(calls)]
    results = [{"role": "tool", "text": "r", "toolCallId": f"c{n}"} for n in range(calls)]
    return [
        {"role": "user", "text": "?"},
        {"role": "assistant", "text": "", "toolCalls": listed},
        *(results if not more else results[:1] * calls),
    ]


class HistorySchema(StrictSchema):
    history = histories.History()


def placeholder(number: int, values: int, **more: Any) -> dict[str, Any]:
    listed = [{"name": f"v{n}", "content": "x"} | more for n in range(values)]
    return {"key": f"k{number}", "values": listed} | more


def of_prompt(**fields: Any) -> dict[str, Any]:
    return {"name": "p", "value": "x"} | fields


LOADS: dict[str, Make] = {
    "scores": sent(
        scores.ScoreBatchSchema,
        lambda n: {"scores": [score(k) for k in range(n)]},
        lambda n: {"scores": [score(k) for k in (*range(n), n - 1)]},
        lambda n: {"scores": [{f"x{k}": 1} for k in range(n)]},
    ),
    "a history": sent(
        HistorySchema,
        lambda n: {"history": asked(n)},
        lambda n: {"history": asked(n, id="c0")},
        lambda n: {"history": asked(1)[:1] * n},
        lambda n: {"history": asked(1) * n},
        lambda n: {"history": [1] * n},
    ),
    "placeholders": sent(
        NewPromptSchema,
        lambda n: of_prompt(placeholders=[placeholder(k, 1) for k in range(n)]),
        lambda n: of_prompt(placeholders=[placeholder(0, n)]),
        lambda n: of_prompt(placeholders=[placeholder(0, n, name="v"), placeholder(0, 1)]),
        lambda n: of_prompt(placeholders=[placeholder(0, 1)] * n),
    ),
    "tools": sent(
        NewPromptSchema,
        *(
            lambda n, make=make: of_prompt(
                languageModelConfig={"tools": [{"name": "t", "parameters": {"type": "object", "properties": make(n)}}]}
            )
            for make in VALUES.values()
        ),
        lambda n: of_prompt(languageModelConfig={"tools": [{"name": f"t{k // 2}"} for k in range(n)]}),
    ),
    "selections": sent(
        RenderSchema,
        lambda n: {"placeholders": {f"k{k}": "v" for k in range(n)}},
        lambda n: {"placeholders": {f"k{k}": "v" for k in range(n)} | {"k": 1}},
    ),
    "candidates": sent(
        experiments.StartExperimentSchema,
        lambda n: {"candidates": [{"name": f"c{k}"} for k in range(n)]},
        lambda n: {"candidates": [{"name": "c"}] * n, "testCaseIds": [*range(1, n)]},
    ),
    "members of a suite": sent(suites.NewSuiteSchema, lambda n: {"name": "s", "testCaseIds": [*range(1, n)]}),
    "changes of a test case": sent(
        cases.CaseChangeSchema,
        *(lambda n, make=make: {"steps": [make(n)], "tools": {"t": make(n)}} for make in VALUES.values()),
    ),
    "groups": sent(UsageQuery, lambda n: {"groupBy": "day," * n}, lambda n: {"groupBy": ["model"] * n}),
}

BODIES: dict[str, Callable[[int], bytes]] = {
    "quotes": lambda n: b'"' * 99_991 * n,
    "backslashes": lambda n: b"\\" * 99_991 * n,
    "commas": lambda n: b"," * 99_991 * n,
    "brackets": lambda n: b"[" * 99_991 * n,
    "texts": lambda n: b'["a,b\\"c",' * 9_991 * n,
}


def body(piece: Callable[[int], bytes]) -> Make:
    """Read a body of many pieces, which come a few bytes at a time, and count its elements."""

    def make(size: int) -> Work:
        text = piece(size)
        req = testing.create_req(method="POST", body=text)

        def work() -> None:
            bodies.has_more_elements(text, len(text))
            with mock.patch.object(bodies, "CHUNK", 9_999):
                assert len(bodies.read_capped(req, len(text))) == len(text)

        return work

    return make


def headers(size: int) -> Work:
    """Read headers of as many entries."""
    tags = ", ".join(f'"t{n}"' for n in range(size))
    names = {"If-None-Match": tags, "If-Match": tags, "Prefer": "a," * size, "Accept-Encoding": "br," * size}

    def work() -> None:
        req = testing.create_req(headers=names)
        _has(req, "none")
        assert len(ApiCall(req, falcon.Response(), 0).if_match or ()) == size
        _prefers_async(req)
        _accepts_gzip(req)

    return work


def events(size: int) -> Work:
    """Send as many events of a run and of an experiment."""
    pieces: list[Any] = [AnswerPiece(f"{n}-0", "text", b'"a"') for n in range(size)]

    def work() -> None:
        b"".join(run_events._events(iter([*pieces, *[None] * size]), 1, "/"))
        b"".join(of_experiment(iter([None] * size), ""))

    return work


def stored(count: int) -> Callable[..., list[Any]]:
    """Return a function that lists as many rows, page by page, as models do."""
    rows = [SimpleNamespace(id=n, session_key=b"s" * 16, start_ns=n, created_at=n) for n in range(count)]

    def list_rows(_connection: Any, *within: Any, limit: int, **which: Any) -> list[Any]:
        after = which.get("after") or which.get("before_id") or getattr(next(iter(within), None), "after", None)
        last = after[1] if isinstance(after, tuple) else after
        start = 0 if last is None else last + 1
        return rows[start : start + limit]

    return list_rows


def pages(size: int) -> Work:
    """Read as many pages of each kind of records."""
    rows, found = stored(4 * size), mock.Mock()

    def ids(*args: Any, **which: Any) -> list[int]:
        return [row.id for row in rows(*args, **which)]

    service = ExportService(database=mock.MagicMock(), sessions=mock.MagicMock(), test_cases=mock.Mock(view=always(1)))

    def work() -> None:
        with (
            mock.patch.object(export, "ROWS_PER_PAGE", 4),
            mock.patch.object(export.session_log, "list_sessions", rows),
            mock.patch.object(export, "page_of_runs", rows),
            mock.patch.object(export.runs, "find_run", found),
            mock.patch.object(export.cases, "list_ids", ids),
            mock.patch.object(export.cases, "find_test_case", found),
        ):
            which = {"project_id": 1, "prompt_id": 1}
            for records in (service.of_sessions(**which), service.of_runs(**which), service.of_test_cases(**which)):
                assert sum(1 for _ in records) == 4 * size

    return work


MODEL = SimpleNamespace(
    **dict.fromkeys((*LanguageModel.__dataclass_fields__, "is_default", "enabled", "usable"), NOW) | {"retired": False}
)


def resources(size: int) -> Work:
    """Answer lists of the API of as many entries."""
    rows = [SimpleNamespace(project_id=1, id=n, summary=None) for n in range(size)]
    services = {
        "experiments": SimpleNamespace(list=always(ListPage(rows, None))),
        "models": SimpleNamespace(list=always([MODEL] * size)),
        "prompts": SimpleNamespace(list=always(SimpleNamespace(prompts=rows))),
        "replays": SimpleNamespace(start_all=always(rows)),
        "calibrations": SimpleNamespace(start=always(SimpleNamespace(replays=rows))),
    }
    container: Any = SimpleNamespace(
        services=SimpleNamespace(**services),
        replay_delivery=SimpleNamespace(send=list),
        settings=SimpleNamespace(public_url=""),
    )
    key: Any = SimpleNamespace(project_id=1, organization_id=1, scopes={"read"})
    call: Any = SimpleNamespace(req=testing.create_req())
    messages = [{"role": "system", "content": "a"}] * size
    tools = [{"type": "function", "function": {"name": f"f{n}", "parameters": {}}} for n in range(size)]

    def work() -> None:
        PromptExperiments(container).on_get(key, 1, {})
        ModelsResource(container).on_get(key)
        PromptsResource(container).on_get(key, {})
        PromptReplays(container).on_post(key, 1, {})
        TestCaseCalibrations(container).on_post(key, 1, {})
        request_of(call, ChatCompletions(), {"model": "m", "messages": messages, "tools": tools}, "")
        content: Any = SimpleNamespace(files=[SimpleNamespace(kind="file", name="f", media_type="", data="")] * size)
        _files(NextTurn(0, 1, content))

    return work


WORKS: dict[str, Make] = {
    **{f"sessions of {name}": of_sessions(text) for name, text in TEXTS.items()},
    **{f"a list of sessions of {name}": of_listed(text) for name, text in TEXTS.items()},
    **{f"usage of {name}": of_usage(text) for name, text in TEXTS.items()},
    **{f"runs of {name}": of_runs(text) for name, text in TEXTS.items()},
    **{f"sessions of {name}": of_values(value) for name, value in VALUES.items()},
    "test cases": of_cases,
    "replays": of_replays,
    "prompts": of_prompts,
    **{f"a body of {name}": load for name, load in LOADS.items()},
    **{f"bytes of {name}": body(piece) for name, piece in BODIES.items()},
    "headers": headers,
    "events": events,
    "pages": pages,
    "resources": resources,
}
FOLDERS = ("api", "schemas", "http", "services/data/export")
CORE = Core(FOLDERS, WORKS, size=40)


NOT_GROWING: dict[str, set[str]] = {
    "loop over a page of replays": {"api/replays:PromptReplays.on_get"},
    "loop over the routes, methods, schemas or fields of Reprise": {
        "api/openapi:_answer",
        "api/openapi:_camel",
        "api/openapi:_describe_fields",
        "api/openapi:_namer",
        "api/openapi:_operation",
        "api/openapi:_parameters",
        "api/openapi:_path_parameters",
        "api/openapi:_responses",
        "api/openapi:build_document",
        "api/operation:Responder.__init__",
        "api/routes:install",
        "http/access:check_declared",
        "http/route_table:RoutedApp.add_route",
        "http/route_table:Router.map_http_methods",
        "schemas/answer:CamelCaseMeta.get_declared_fields",
        "schemas/answer:FieldGroup._moved",
        "schemas/answer:FieldGroup.expand",
        "schemas/answer:_described",
        "schemas/answer:answer_of",
        "schemas/answer:fields_of",
        "schemas/session_filters:FilterQuerySchema.build",
    },
    "loop over a few names of the module": {
        "api/authentication:Authentication._check_program",
        "api/operation:Responder._answer",
        "api/programs:_program_request",
        "api/replays:_of_program",
        "http/middleware:Forwarded.process_request",
        "http/middleware:is_counted",
        "schemas/experiments:_candidate",
        "schemas/guard_maps:_counts",
        "schemas/labels:ChosenVersion.make_command",
        "schemas/lists:with_ranges",
        "schemas/programs:accepted_program",
        "schemas/prompt_log:log_page",
        "schemas/sessions:_with_filters",
        "schemas/webhooks:_in_order",
    },
    "loop over the routes of the code": {"api/kept_answers:KeptRoute.of", "api/operation:kept_routes"},
    "loops over the headers of an answer, and adds up the length of its few parts": {
        "api/kept_answers:KeptAnswers._made",
    },
    "name the first ten errors": {"schemas/base:_messages", "schemas/base:load"},
    "loops over the candidates of an experiment, of which a body has at most eight": {
        "schemas/experiments:StartExperimentSchema._check_combinations"
    },
    "loops over an error and the errors that it was raised for, a few by the code": {"http/errors:_forget_frames"},
    "calls a function, which is counted, for each message": {"schemas/histories:History._deserialize"},
    "names the place of a breach, which has at most 64 levels": {"schemas/json_schemas:_check_schema"},
}

(
    test_twice_the_input_is_at_most_about_twice_the_work_of_each_function,
    test_each_function_that_loops_is_counted_or_has_a_reason,
    test_each_reason_is_about_a_function_that_loops,
) = cost_tests(CORE, NOT_GROWING)
