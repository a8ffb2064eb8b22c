"""What pages show is prepared in work that is linear in each function."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace as replace_fields

from app.errors import Invalid
from app.models.scores import ScoreRow
from app.replay.case_types import TestCase, ToolRules
from app.replay.effects import tools_of
from app.replay.fault_types import Fault, Variant
from app.services.sessions.service import Session
from app.sessions.facts import TurnFacts
from app.sessions.types import Step, Turn
from app.web.forms import Form
from app.web.presenters import evidence_form
from app.web.presenters.case_corrections import corrections_sent, demands
from app.web.presenters.case_faults import faults_body, faults_of, faults_sent, single_faults_sent, variants_body
from app.web.presenters.case_fields import fields_of, fields_sent
from app.web.presenters.case_form import case_body, cuts, shown_choices, tool_rows, with_confirmed, written_body
from app.web.presenters.case_turns import shown_chunks, shown_turns
from app.web.presenters.diffs import diff_json, diff_rows
from app.web.presenters.experiment import ShownExperiment
from app.web.presenters.experiment_failures import failures_of, replays_to_read
from app.web.presenters.experiment_form import fields_asked, version_choices
from app.web.presenters.experiment_form import fields_of as fields_of_experiment
from app.web.presenters.markdown import to_html
from app.web.presenters.marks import pieces
from app.web.presenters.prompt_editor import change_body, edited, model_choices, preview_of
from app.web.presenters.prompt_editor import fields_of as fields_of_stored
from app.web.presenters.prompt_editor import fields_sent as fields_of_draft
from app.web.presenters.refusals import refusals
from app.web.presenters.replay import batch_progress
from app.web.presenters.replay import shown_turns as shown_replayed_turns
from app.web.presenters.replay_findings import first_trouble, shown_findings, troubled_turns
from app.web.presenters.replay_parts import part_of
from app.web.presenters.replay_violations import kinds_by_anchor, placed_violations
from app.web.presenters.session import (
    conversation,
    depths,
    in_tree_order,
    low_scores,
    next_errors,
    text_of,
    timeline,
    users_of,
)
from app.web.presenters.session import shown_turns as shown_session_turns
from app.web.presenters.texts import block, folds
from app.web.presenters.tries import opponents, origin_of
from tests.support.cores import Core, Make
from tests.support.experiments import case, experiment, side
from tests.support.growth import Work
from tests.unit import test_costs
from tests.unit.costs.conftest import cost_tests
from tests.unit.costs.replays import of_turns

pytestmark = pytest.mark.slow


def texts(piece: str, other: str) -> Make:
    """Compare two texts of as many lines."""

    def prepare(size: int) -> Work:
        left, right = (form.format("\n") * 4 * size for form in (piece, other))
        numbered = ["\n".join(f"{text.strip()} {n}" for n in range(4 * size)) for text in (piece, other)]
        backwards = "\n".join(reversed(numbered[0].split("\n")))
        return lambda: (diff_rows(left, right), diff_rows(*numbered), diff_rows(numbered[0], backwards))

    return prepare


def case_page(size: int) -> Work:
    """Show a test case of as many turns and tools, and read its form."""
    case = of_turns("replayed")(size)
    tools = tools_of(case, ())
    numbers = range(size)
    form = Form(
        {
            **{f"user.{n}": ["x"] for n in numbers},
            **{f"fix.{n}.2.text": ["x"] for n in numbers},
            **{f"add.{n}.1.text": ["x"] for n in numbers},
            **{f"tool.{n}.name": [f"put_{n}"] for n in numbers},
            **{f"tool.{n}.matcher.{k}.path": ["/a"] for n in numbers for k in range(2)},
            **{f"step.{n}.0.enabled": ["on"] for n in numbers},
        }
    )

    long = replace_fields(case, turns=(replace_fields(case.turns[0], steps=case.turns[0].steps * size),))

    def work() -> None:
        shown_turns(long)
        shown = fields_of("name", case, tools)
        sent = fields_sent(form, shown)
        case_body(sent, shown)
        tool_rows(shown, case, ())
        cuts(case)
        shown_choices(case)
        demands(case)
        corrections_sent(form, case)
        shown_turns(case)
        shown_chunks(case, size, ())

    return work


def case_rules(size: int) -> Work:
    """Show and read the rules of as many paths, of a tool and of a step, and of effects that a person confirmed."""
    paths = [f"/a{n}" for n in range(size)]
    matchers = {path: {"match": "one_of", "values": [1]} for path in paths}
    kinds = dict.fromkeys([f"/k{n}" for n in range(size)], "id")
    [turn] = of_turns("replayed")(1).turns
    steps = tuple(
        replace_fields(step, check=replace_fields(step.check, arguments=matchers)) if step.kind == "tool_call" else step
        for step in turn.steps
    )
    case = TestCase(
        turns=(replace_fields(turn, steps=steps),), tools={"put_0": ToolRules(arguments=matchers, kinds=kinds)}
    )
    at = next(index for index, step in enumerate(steps) if step.kind == "tool_call")
    rows = {"path": paths, "match": ["regex"] * size, "option": ["x"] * size}
    of_step = {f"step.0.{at}.{name}": values for name, values in rows.items()}
    of_tool = {f"tool.0.{name}": values for name, values in rows.items()}
    form = Form({"tool.0.name": ["put_0"], f"step.0.{at}.check": ["exact"], **of_step, **of_tool})
    unmatched = {f"step.0.{at}.path": paths, **{f"step.0.{at}.{name}": [""] * size for name in ("match", "option")}}
    other = Form({f"step.0.{at}.check": ["ignore"], **unmatched})

    def work() -> None:
        shown = fields_of("name", case, tools_of(case, ()))
        sent = fields_sent(form, shown)
        body = case_body(sent, shown)
        assert len(body["tools"]["put_0"]["arguments"]) == len(body["steps"][0]["check"]["arguments"]) == size
        case_body(fields_sent(other, shown), shown)
        assert all(row.rules for row in tool_rows(sent, case, ()))
        with_confirmed(body, [f"read t{n}" for n in range(size)])

    return work


def session_page(size: int) -> Work:
    """Show a turn of as many spans, each within the next, of which all failed."""
    spans = test_costs.spans(size)
    return lambda: (conversation(spans), depths(spans), in_tree_order(spans))


def written_case(size: int) -> Work:
    """Read the form of a test case of as many written turns."""
    form = Form({"question": ["?"] * size, "expected": ["!"] * size})
    return lambda: written_body(form)


def scored_session(size: int) -> Work:
    """Show a session of as many turns of one trace, each with a score of its only span."""
    ids = [n.to_bytes(8, "big") for n in range(size)]
    trace_id = b"t" * 16
    listed = [replace(test_costs.spans(1).spans[0], span_id=id_.hex(), parent_span_id=None) for id_ in ids]
    turns = tuple(
        Turn(trace_id.hex(), n, n, "Hi", (Step("answer", span.span_id, text="x"),), user_id=f"{n}", spans=(span,))
        for n, span in enumerate(listed)
    )
    scores = tuple(
        ScoreRow(b"", None, None, trace_id, id_, None, 0, f"{id_.hex()}", 0.0, None, None, "otlp") for id_ in ids
    )
    session = Session("s", 7, None, turns, scores)
    many_steps = replace(turns[0], steps=tuple(Step("answer", span.span_id, text="x") for span in listed))
    of_turn = replace(session, turns=(many_steps,))
    facts = tuple(TurnFacts(0, 1, 1, errors=1) for _ in ids)
    part: Any = SimpleNamespace(by_number=dict(enumerate(facts, 1)), start=0, summary=SimpleNamespace(preview="Hi"))

    def work() -> None:
        shown_session_turns(session)
        shown = shown_session_turns(of_turn)[0]
        assert shown.anchors
        assert not shown.failed_calls
        low_scores(session)
        users_of(session)
        next_errors(part)
        timeline(part)
        text_of(many_steps, f"{size - 1}-text")
        origin_of(session, None)

    return work


def fault_rows(size: int) -> Work:
    """Read and show as many rows of faults, of as many variants and of one."""
    columns = {"tool": ["put"] * size, "call": ["1"] * size, "kind": ["timeout"] * size, "message": ["m"] * size}
    texts = {f"fault.{name}": values for name, values in columns.items()}
    forms = [Form(texts | {"fault.variant": names}) for names in ([f"v{n}" for n in range(size)], ["v"] * size)]
    variant = Variant(name="v", faults=(Fault(tool="put", call=0, kind="timeout"),))
    case = TestCase(turns=(), variants=(variant,) * size)

    def work() -> None:
        faults_of(case)
        for form in forms:
            variants_body(faults_sent(form, ()))
            faults_body(single_faults_sent(form))

    return work


def editor(size: int) -> Work:
    """Read, change, show and refuse a draft of as many placeholders, and of one with as many values."""
    placeholders = [
        {f"placeholder.{n}.key": [f"k{n}"], f"placeholder.{n}.name": ["v"], f"placeholder.{n}.content": ["x"]}
        for n in range(size)
    ]
    values = {f"placeholder.0.{name}": [f"{n}" for n in range(size)] for name in ("name", "content")}
    of_many = Form({name: texts for of_one in placeholders for name, texts in of_one.items()})
    of_one = Form(
        values
        | {"placeholder.0.key": ["k"], "placeholder.0.default": [f"{size - 1}"], "stop": ["\n".join(["x"] * size)]}
    )
    problems = Invalid(*(f"placeholders.{n}.values.{n}.name: It is wrong." for n in range(size)))
    deep = Invalid(f"value.{'.'.join(['1'] * size)}: It is wrong.")
    value, content = SimpleNamespace(name="v", content="x", is_default=True), SimpleNamespace(config={}, fallback=None)
    content.value, content.model = "", SimpleNamespace(name="m")
    content.placeholders = [SimpleNamespace(key="k", description="", values=[value])] * size
    view: Any = SimpleNamespace(
        content=content, head=SimpleNamespace(name="p", assertion_type="STRICT", assertion_value="")
    )
    models: Any = [SimpleNamespace(id=n, name=f"m{n}", vendor="OPENAI", usable=True) for n in range(size)]

    def work() -> None:
        for form in (of_many, of_one):
            fields = fields_of_draft(form)
            fields.with_blanks().with_values()
            preview_of(None, fields, {})
            change_body(fields, fields)
            edited(fields, "remove.0")
            refusals(problems, fields)
            refusals(deep, fields)
        fields_of_stored(view)
        model_choices(models, set(range(0, size, 2)))
        opponents([], [(f"m{n}", "M") for n in range(size)])
        list(pieces("a " * size, [(2 * n, 2 * n + 1) for n in range(size)]))

    return work


def replay_page(size: int) -> Work:
    """Show a replay of as many turns and steps that needed review, of which the last failed, and a judge's findings."""
    expected = {"name": "pay", "arguments": {"at": 1}}
    step = {"kind": "tool_call", "result": "needs_review", "expected": expected, "actual": expected | {"name": "ship"}}
    failed = step | {"result": "failed", "actual": None}
    extra = {"kind": "tool_call", "name": "pay", "arguments": {}}
    one_turn = {"user": "?", "steps": [*[step] * size, failed], "extra": [extra] * size}
    turns = [{"user": "?", "steps": [step], "extra": []} for _ in range(size)]
    finding = {"matters": True, "recorded": "a", "produced": "b", "kind": "other"}
    answer = {"kind": "answer", "expected": "a b", "actual": "b c", "findings": [finding] * size}
    violation = {"kind": "extra_write", "tool": "pay", "turn": 0, "arguments": {}, "message": ""}
    outcomes: Any = [SimpleNamespace(finished=True, status="passed", total=1, done=1)] * size

    def work() -> None:
        for listed in ([one_turn], turns):
            result = {"status": "failed", "turns": listed, "violations": [violation] * size}
            shown_replayed_turns(part_of(result), kinds_by_anchor(placed_violations(result)))
            part_of(result, anchor=f"step-{size - 1}")
            first_trouble(result)
            troubled_turns(result)
        shown_findings(answer)
        batch_progress(outcomes)

    return work


def experiment_pages(size: int) -> Work:
    """Show an experiment of as many test cases and models, and read and fill its form."""
    cases = [case(n, f"{n}", "regressed", side(1, 4), side(4, 4)) for n in range(size)]
    few = cases[:2]
    several = [{"languageModelName": f"m{n}", "testCases": few} for n in range(size)]
    broken = {"testCaseId": 1, "replayId": 2}
    many_cases = experiment(cases, verdict="failed", violations=[broken] * size, models=several[:1])
    many_models = experiment(few, verdict="failed", models=several)
    failing = [{"testCaseId": n, "candidate": {"failedReplayIds": [*range(size)]}} for n in range(size)]
    texts = {"case": [f"{n}" for n in range(size)], "model": ["m"] * size, "other": [f"{n:040}" for n in range(size)]}
    versions: Any = [SimpleNamespace(commit_hash=f"{n:040}", message="m") for n in range(size)]

    def work() -> None:
        for written in (many_cases, many_models):
            shown = ShownExperiment(written)
            assert all((shown.to_look_at, shown.models))
            assert len(shown.broken) <= 1
            assert len(shown.violations) <= 1
            assert not shown.steady
        assert len(ShownExperiment(many_models).by_model) == len(few)
        fields_of_experiment(Form(texts)).body()
        fields_asked({f"x{n}": "y" for n in range(size)})
        version_choices(versions, "")
        failures_of(failing, {})
        replays_to_read(failing)

    return work


def label_form(size: int) -> Work:
    """Read the ids of as many test cases that a guard requires."""
    ids = {evidence_form.CASES: ", ".join(map(str, range(size)))}
    return lambda: evidence_form.EvidenceFields(ids, ids).cases


WORKS: dict[str, Make] = {
    "equal lines": texts("a {}", "b {}"),
    "lines of words that change": texts("the word is {}", "the other word was {}"),
    "combining marks": texts("e\u0301 {}", "e\u0323 {}"),
    "Markdown": lambda size: lambda: (to_html("# a\n\n* b `c`\n\n> d\n\n" * size), to_html("|a|b" * size)),
    "JSON of many lines": lambda size: (
        lambda: (
            diff_json([[n] for n in range(size)], [[n + 1] for n in range(size)]),
            block(json.dumps([[]] * size), parse=True),
            list(folds("\n".join([*[" {"] * size, *[" }"] * size]))),
        )
    ),
    "a test case": case_page,
    "rules of a test case": case_rules,
    "a turn of a session": session_page,
    "a test case by hand": written_case,
    "violations": lambda size: test_costs.violations(size, equal=False),
    "a preview": test_costs.preview,
    "the form of a label": label_form,
    "a session with scores": scored_session,
    "rows of faults": fault_rows,
    "the editor": editor,
    "a replay": replay_page,
    "an experiment": experiment_pages,
}
CORE = Core(("web/presenters",), WORKS, size=40)
NOT_GROWING: dict[str, set[str]] = {
    "loop over pages, operations or code samples of Reprise": {
        "web/presenters/api_docs:_bounds",
        "web/presenters/api_docs:_content_type",
        "web/presenters/api_docs:_members",
        "web/presenters/api_docs:_operation",
        "web/presenters/api_docs:_type",
        "web/presenters/api_docs:api_docs",
        "web/presenters/manual:_address",
        "web/presenters/manual:_linked",
        "web/presenters/manual:_name",
        "web/presenters/manual:_sections",
        "web/presenters/manual:contents",
        "web/presenters/manual:document",
        "web/presenters/manual:find",
        "web/presenters/manual:names",
        "web/presenters/snippets:_javascript",
        "web/presenters/snippets:_trace",
    },
    "loop over the words of a search, of which it reads eight": {"web/presenters/manual:_excerpt"},
    "loop over the five fields of a label's form": {
        "web/presenters/evidence_form:EvidenceFields.body",
        "web/presenters/evidence_form:EvidenceFields.changed",
        "web/presenters/evidence_form:fields_of",
        "web/presenters/evidence_form:fields_sent",
    },
    "loop over two sides, some fields or values of the module, or one entry": {
        "web/presenters/experiment:ShownExperiment.again",
        "web/presenters/experiment:ShownExperiment.candidates",
        "web/presenters/experiment:hashes_of",
        "web/presenters/experiment_form:ExperimentFields.more",
        "web/presenters/prompt_editor:other_changes",
        "web/presenters/session:text_of",
        "web/presenters/session_files:_media_type",
        "web/presenters/session_files:_shown",
        "web/presenters/tries:columns",
        "web/presenters/tries:origin_of",
    },
    "loop up to a limit of the page": {
        "web/presenters/case_turns:opened_chunks",
        "web/presenters/case_turns:shown_turns",
        "web/presenters/experiment_failures:_failures",
        "web/presenters/experiment_failures:failures_of",
        "web/presenters/experiment_failures:replays_to_read",
        "web/presenters/replay:shown_turns",
        "web/presenters/session_files:shown_files",
    },
}

(
    test_twice_the_input_is_at_most_about_twice_the_work_of_each_function,
    test_each_function_that_loops_is_counted_or_has_a_reason,
    test_each_reason_is_about_a_function_that_loops,
) = cost_tests(CORE, NOT_GROWING)
