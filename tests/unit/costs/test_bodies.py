"""What services make for the bodies of answers is linear in each function."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest import mock

import msgspec
import pytest

from app.chat import Message, ToolCall
from app.errors import Invalid
from app.experiments.behaviour import EDITION, Behaviour
from app.models.labels import Label
from app.models.runs import StoredRequest
from app.models.scores import ScoreRow
from app.otlp.decode import span_of
from app.otlp.masking import Masking, Rule
from app.rendering.render import Placeholder, PlaceholderValue
from app.services.experiments.findings import Findings, Summary, findings_of, present, summary_of
from app.services.experiments.guard_plan import MapParameters, MapPlan, PlannedMutant, ReplayedMap
from app.services.experiments.plan import CANDIDATE, PlannedCandidate, Repeats, Series
from app.services.experiments.replayed_experiment import ReplayedExperiment, WantedReplay
from app.services.insight.insights import Insight, added_up, findings
from app.services.masking.rules import MessageMasking
from app.services.prompts.agent_splits import AgentSplitter, agent_names
from app.services.prompts.content import PromptContent, commit_hash, without_defaults
from app.services.prompts.splits import labels_by_hash
from app.services.replays import masking
from app.services.replays.masking import masked_replay
from app.services.replays.mistake_signs import mistake_signs
from app.services.replays.proposals import with_instruction_gaps
from app.services.replays.stored_cases import columns, title
from app.services.runs.request import conversation_after, freeze_request, history_of
from app.services.sessions.service import Session
from app.sessions.figures import Figures
from app.sessions.types import ShownSpan, Step, Turn
from tests.support.cores import Core, Make
from tests.support.growth import Work
from tests.unit.costs.conftest import cost_tests
from tests.unit.costs.replays import of_turns
from tests.unit.services.experiments.test_replayed_experiment import NOW, plan, played
from tests.unit.services.replays.test_masking import differing_replay

pytestmark = pytest.mark.slow

STATUSES: dict[str, Callable[[int], dict[str, Any]]] = {
    "passed": lambda n: {"status": "passed"},
    "failed with a violation": lambda n: {"status": "failed", "violated": True},
    "errors": lambda n: {"status": "error"},
    "in work": lambda n: {"status": "running"},
    "mixed": lambda n: {"status": ("passed", "failed", "void", "needs_review", "error")[n % 5], "reused": n % 2 == 0},
}


def experiment(values: Callable[[int], dict[str, Any]], *, cases: int, repeats: int, **arms: Any) -> Make:
    """Decide and show an experiment, of which either the test cases or the replays of one grow."""

    def make(size: int) -> Work:
        fixed = plan(cases or size, **arms)
        rows = [
            played(
                WantedReplay(ordinal, Series(arm, case.test_case_id)), ordinal, **values(ordinal + case.test_case_id)
            )
            for arm in sorted(set(fixed.played_arms.values()))
            for case in fixed.cases
            for ordinal in range(repeats or 2 * size)
        ]
        violation = {"kind": "extra_write", "tool": "t", "turn": 0, "arguments": {}, "message": "m"}

        def work() -> None:
            experiment = ReplayedExperiment(replace(fixed), rows)
            assessment = experiment.assessment
            summary = summary_of(experiment, assessment.decisions, lambda _: [violation])
            present(msgspec.to_builtins(summary), Summary)
            present(msgspec.to_builtins(findings_of(experiment, assessment.decisions)), Findings)
            assert experiment.ended + experiment.in_work == len(rows)
            experiment._has_only_errors(CANDIDATE, is_over=True)

        return work

    return make


def guard_map(values: Callable[[int], dict[str, Any]], *, cases: int = 0, repeats: int = 0, sentences: int = 0) -> Make:
    """Decide a guard map, of which either the test cases, the replays of one, or the sentences grow."""

    def make(size: int) -> Work:
        of_experiment = plan(cases or size)
        parameters = MapParameters(Repeats(2, 6), 0.5, 0.05, max_replays=10**6)
        mutants = tuple(PlannedMutant(n // 2, "without", n, n + 1, "", (1, 0)) for n in range(2 * (sentences or size)))
        fixed = MapPlan(of_experiment.row, parameters, of_experiment.cases, (), mutants)
        rows = [
            played(
                WantedReplay(ordinal, Series(arm, case.test_case_id)), ordinal, **values(ordinal + case.test_case_id)
            )
            for arm in fixed.played_arms
            for case in fixed.cases
            for ordinal in range(repeats or 2 * size)
        ]

        def work() -> None:
            experiment = ReplayedMap(replace(fixed), rows)
            assessment = experiment.assess_map(10**6)
            assert len(assessment.decided.sentences) + len(assessment.wanted) > 0 or experiment.in_work
            assert experiment.never_passed is None or "passes" in experiment.never_passed

        return work

    return make


def insight(equal: bool) -> Make:
    """Add up as many groups with as many scores, of one name or each of another."""

    def make(size: int) -> Work:
        groups = []
        for number in range(size):
            values: defaultdict[str, list[float]] = defaultdict(list, {"s" if equal else f"s{number}": [1.0]})
            groups.append(Insight("day", number, Figures(latency={number: 1}), run_ms=[1.0], values=values))

        def work() -> None:
            group = added_up("day", None, groups)
            assert group.scores
            findings(group, replace(group, values=defaultdict(list, {f"t{n}": [1.0] for n in range(size)})))

        return work

    return make


def masked(size: int) -> Work:
    """Mask a replay of as many calls with a difference, each with a violation, and one with as many differences."""
    rule = Masking([Rule("pointer", "/gen_ai.tool.call.arguments/card"), Rule("pattern", "secret1")])
    many, long = differing_replay(size), differing_replay(1)
    [turn] = many["result"]["turns"]
    turn["extra"] = [{"kind": "answer", "text": "secret1"}, {"kind": "tool_call", "name": "t", "arguments": {}}] * size
    turn["violations"] = [violation | {"turn": 0} for violation in many["violations"]]
    step = long["result"]["turns"][0]["steps"][0]
    step["diff"] = [{"path": f"/card/{n}", "expected": n, "actual": "x"} for n in range(size)]
    step["facts"] = {"kept": ["secret1"] * size}
    step["findings"] = [{"recorded": "a", "produced": "b", "why": "c"}] * size
    turn["calls"] = [["secret1"] * 2] * size
    behaviour = Behaviour(EDITION, 1, tuple((f"secret1 {n}", n) for n in range(size)), ("secret1",) * size)
    one_turn = {**many["result"], "turns": [turn | {"steps": [], "extra": [], "violations": [], "calls": []}] * size}

    def work() -> None:
        with mock.patch.object(masking, "COMPARED_MAX", 400):
            for replay in (many | {"behaviour": behaviour}, long, {"error": None, "result": one_turn}):
                masked_replay(replay, MessageMasking(rule))

    return work


def session(size: int) -> Work:
    """Look for signs of mistakes in a session of many turns, and in one turn of as many steps, spans and scores."""
    steps = tuple(Step("tool_call", f"{n:016x}", name="t", error="e") for n in range(size))
    spans = tuple(ShownSpan(f"{n + size:016x}", None, "s", "chat", 0, 1, "e", {}, convention="c") for n in range(size))
    placeholders = {f"k{n}": "v" for n in range(size)}
    wide = Turn("ab" * 16, 1, 2, "?", steps, placeholders, prompt_version="v", instruction="a b", spans=spans)
    small = replace(wide, steps=steps[:1], spans=spans[:1], placeholders={})
    turns = tuple(replace(small, trace_id=f"{n:032x}", prompt_version=f"v{n}") for n in range(size))
    keys = [(bytes.fromhex("ab" * 16), n.to_bytes(8)) for n in range(size)]
    scores = tuple(ScoreRow(b"", None, None, *key, None, 0, "n", 0.1, None, "c", "api") for key in keys)
    case = of_turns("replayed")(size)

    def work() -> None:
        for listed in (turns, (wide,)):
            shown = Session("s", 1, None, listed, scores)
            assert mistake_signs(shown)
            assert [shown.usage, shown.bill, shown.duration_ms, shown.first_token_ms]
            with_instruction_gaps(case, listed, lambda version, values: "a  b")
        columns(case)
        title("\n" * size + "x" * size, "")
        title(" \n" * size, "")

    return work


def agent_spans(size: int, *, names: Callable[[int], str], parent: Callable[[int], int | None]) -> Any:
    listed = []
    for number in range(1, size + 1):
        above = parent(number)
        attribute = {"key": "gen_ai.agent.name", "value": {"stringValue": names(number)}}
        raw = {
            "name": "s",
            "traceId": "ab" * 16,
            "spanId": f"{number:016x}",
            "parentSpanId": "" if above is None else f"{above:016x}",
            "startTimeUnixNano": "1",
            "endTimeUnixNano": "2",
            "attributes": [attribute] if names(number) else [],
        }
        listed.append(span_of(msgspec.Raw(json.dumps(raw).encode()), "", prompt_id=1))
    return listed


def agents(names: Callable[[int], str], parent: Callable[[int], int | None]) -> Make:
    """Split as many spans, of which each may name an agent and may be within another one."""

    def make(size: int) -> Work:
        spans = agent_spans(4 * size, names=names, parent=parent)
        adoption: Any = SimpleNamespace(find=lambda **_: SimpleNamespace(adopted_at=1, prompt_id=2))
        splitter = AgentSplitter(adoption=adoption, owners=None)  # type: ignore[arg-type] # no agent is made

        def work() -> None:
            agent_names(spans)
            assert len(splitter.split(1, 1, spans, may_make=False)) == len(spans)

        return work

    return make


def prompt(size: int) -> Work:
    """Read a prompt of as many placeholders and values, its labels, and a run with as many messages and calls."""
    values = tuple(PlaceholderValue(f"v{n}", "x") for n in range(size))
    placeholders = (*(Placeholder(f"k{size - n}", values[:1]) for n in range(size)), Placeholder("a", values))
    model = SimpleNamespace(vendor="OPENAI", name="m", completion_tokens_max=9)
    config = {f"k{n}": n for n in range(size)}
    content: Any = SimpleNamespace(
        value=" ".join(f"{{{{k{n}}}}}" for n in range(size)),
        placeholders=placeholders,
        model=model,
        fallback=None,
        config=config,
        instruction_format="RAW",
    )
    calls = tuple(ToolCall(f"c{n}", "t", {}) for n in range(size))
    history = (Message("user", "?"), Message("assistant", "", tool_calls=calls)) + (Message("user", "?"),) * size
    chosen = {f"k{n}": "v0" for n in range(size)}
    command: Any = SimpleNamespace(
        selections=chosen,
        productive=True,
        stream=False,
        files=(SimpleNamespace(name="f", media_type="", content=b""),) * size,
        history=history,
        question="?",
    )
    outcome = SimpleNamespace(tool_calls=calls)
    labels = {f"l{n}": Label(f"l{n}", f"{n % 3}", NOW) for n in range(size)}

    def work() -> None:
        commit_hash(content, parent=None)
        assert PromptContent.filled_length.__get__(content) > size
        without_defaults(config, model)  # type: ignore[arg-type] # only its limit of tokens
        labels_by_hash(labels)
        with suppress(Invalid):
            request: StoredRequest = freeze_request(content, command).request
            history_of(request)
            answered: Any = SimpleNamespace(request=request, question="?", answer="a", outcome=outcome)
            conversation_after(answered, {f"c{n}": "r" for n in range(size)})

    return work


NAMED: dict[str, Callable[[int], str]] = {
    "no agent": lambda n: "",
    "one agent": lambda n: "a",
    "an agent each": lambda n: f"agent {n}",
    "an agent of every third": lambda n: "a" if n % 3 == 0 else "",
}
PARENTS: dict[str, Callable[[int], int | None]] = {
    "in the one before": lambda n: n - 1 or None,
    "in the one behind": lambda n: n + 1,
    "in a ring of two": lambda n: n ^ 1,
    "without a parent": lambda n: None,
}
CANDIDATES = tuple(PlannedCandidate(f"c{n}", "draft", None, n, "f") for n in (1, 3, 4))
WORKS: dict[str, Make] = {
    **{f"many test cases {name}": experiment(of, cases=0, repeats=3) for name, of in STATUSES.items()},
    **{f"many replays {name}": experiment(of, cases=2, repeats=0) for name, of in STATUSES.items()},
    **{f"a map of many test cases {name}": guard_map(of, repeats=3, sentences=2) for name, of in STATUSES.items()},
    **{f"a map of many replays {name}": guard_map(of, cases=2, sentences=2) for name, of in STATUSES.items()},
    **{f"a map of many sentences {name}": guard_map(of, cases=2, repeats=3) for name, of in STATUSES.items()},
    "a limited cost": experiment(STATUSES["mixed"], cases=2, repeats=0, max_cost=10**6),
    "named candidates": experiment(STATUSES["mixed"], cases=0, repeats=3, candidates=CANDIDATES),
    "insight of one score": insight(equal=True),
    "insight of many scores": insight(equal=False),
    "a masked replay": masked,
    "a session": session,
    **{
        f"spans of {name} {place}": agents(of_name, parent)
        for name, of_name in NAMED.items()
        for place, parent in PARENTS.items()
    },
    "a prompt": prompt,
}
FOLDERS = (
    "services/experiments/findings",
    "services/experiments/guard_plan",
    "services/experiments/plan",
    "services/experiments/replayed_experiment",
    "services/insight/insights",
    "services/prompts/agent_splits",
    "services/prompts/content",
    "services/prompts/splits",
    "services/replays/mistake_signs",
    "services/replays/masking",
    "services/replays/proposals",
    "services/replays/stored_cases",
    "services/runs/request",
)
CORE = Core(FOLDERS, WORKS, size=40)
NOT_GROWING: dict[str, set[str]] = {
    "loop over the arms of an experiment: a baseline, and a few candidates or models": {
        "services/experiments/findings:findings_of",
        "services/experiments/findings:ranked_arms",
        "services/experiments/plan:Plan.compared",
        "services/experiments/plan:Plan.played_arms",
        "services/experiments/plan:Plan.snapshots",
        "services/experiments/replayed_experiment:ReplayedExperiment._arm_without_result",
        "services/experiments/replayed_experiment:ReplayedExperiment.decisions",
        "services/experiments/replayed_experiment:_is_decided",
    },
    "return at most 50 scores": {"services/insight/insights:Insight.scores", "services/insight/insights:findings"},
}

(
    test_twice_the_input_is_at_most_about_twice_the_work_of_each_function,
    test_each_function_that_loops_is_counted_or_has_a_reason,
    test_each_reason_is_about_a_function_that_loops,
) = cost_tests(CORE, NOT_GROWING)
