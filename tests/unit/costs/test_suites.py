"""Proposing suites and measuring what they cover is linear in each function."""

from __future__ import annotations

from typing import Literal

import pytest

from app.replay.result_types import ProducedAnswer, StepVerdict, TurnResult
from app.sessions.facts import TurnFacts
from app.suites.behaviour import behaviour_of
from app.suites.cases import of_case
from app.suites.cover import greedy_cover
from app.suites.coverage import (
    SuiteCase,
    compare,
    covered_by,
    new_behaviour,
    obsolete_cases,
    removable_cases,
    share_of,
)
from app.suites.features import Feature, ScoredFingerprint, Vocabulary, given_by
from app.suites.findings import LowScores, came_back, group_into_findings, problems_of
from app.suites.fingerprints import CalledTool, Fingerprint, make, of_facts, of_turns
from app.suites.proposals import propose
from app.suites.refusals import is_refused
from app.suites.samples import Sample, Weights
from tests.support.cores import Core, Make
from tests.support.growth import Work
from tests.unit.costs.conftest import cost_tests
from tests.unit.costs.replays import of_turns as many_turns
from tests.unit.costs.test_traces import spans_of

pytestmark = pytest.mark.slow

PIECES = {
    "words": "refund order ",
    "one letter each": "a ",
    "combining marks": "e\u0301\u0323 ",
    "a script without spaces": "東京",
    "half pairs": "\ud800 ",
}


def effect_of(tool: str) -> Literal["read", "write"]:
    return "write" if tool.endswith("1") else "read"


def fingerprint(number: int, tools: int) -> Fingerprint:
    calls = [CalledTool(f"tool_{number}_{n}", "", n == 0) for n in range(tools)]
    return make(turns=1, calls=calls, texts=[f"topic{chr(97 + number % 20)} of the order"], has_error=number % 2 == 0)


def samples_of(fingerprints: list[Fingerprint]) -> list[Sample]:
    return [Sample(f"{n}", n, 1, n / 7, ScoredFingerprint(made, n % 3 == 0)) for n, made in enumerate(fingerprints)]


def sessions(different: int, tools: int) -> Make:
    """Propose a suite of as many sessions, and measure what one covers."""

    def prepare(size: int) -> Work:
        samples = samples_of([fingerprint(n % (different or size), tools) for n in range(size)])
        vocabulary = Vocabulary.of([sample.scored.fingerprint for sample in samples])
        cases = [
            SuiteCase(n, "c", given_by(sample.scored, vocabulary, effect_of), frozenset({f"gone_{n}"}))
            for n, sample in enumerate(samples)
        ]

        def work() -> None:
            proposal = propose(samples, size=12, weights=Weights(), effect_of=effect_of)
            assert proposal.summary
            compared = compare(samples, frozenset(), vocabulary, effect_of)
            share_of(compared, Weights(), effect_of)
            new_behaviour(compared, when="today")
            obsolete_cases(samples, cases, when="today")
            covered_by(cases)

        return work

    return prepare


def found(different: int, tools: int) -> Make:
    """Group as many sessions that went wrong into findings."""

    def prepare(size: int) -> Work:
        samples = samples_of([fingerprint(n % (different or size), tools) for n in range(size)])
        vocabulary = Vocabulary.of([sample.scored.fingerprint for sample in samples])
        low = {sample.id: LowScores("polite", f"score {n}") for n, sample in enumerate(samples)}

        def work() -> None:
            problems = problems_of(samples, low)
            groups = group_into_findings(samples, problems, [*problems.values()], vocabulary, effect_of)
            assert groups
            came_back(samples, solved_ns=size, solved_by=None, versions={})

        return work

    return prepare


def tools(size: int) -> Work:
    """Make the fingerprints of a conversation with as many calls and turns."""
    calls = [CalledTool(f"tool{n % 90}", f"{n // 2}", n % 2 == 0) for n in range(10 * size)]
    case = many_turns("replayed")(size)
    facts = [TurnFacts.of(spans_of(2))] * size

    def work() -> None:
        make(turns=size, calls=calls, texts=["a refund"] * size, versions=[f"v{n}" for n in range(size)])
        of_case(case)
        of_facts(facts)
        of_turns([], facts)

    return work


def answered(size: int) -> Work:
    """Make the fingerprint of a replay with as many turns, each with calls and answers."""
    step = StepVerdict("answer", "passed", "", "It is here.")
    turns = [
        TurnResult("?", (step,), (ProducedAnswer("It is there."),), calls=((f"tool{n}", "other"), ("other",)))
        for n in range(size)
    ]
    return lambda: behaviour_of(turns)


def text_of(piece: str) -> Make:
    return lambda size: lambda: make(turns=1, calls=[], texts=[piece * 20 * size])


def gains(size: int) -> Work:
    """Choose among candidates that share one feature, so that each choice lowers the gain of all."""
    values = {n: float(n + 1) for n in range(size + 1)}
    candidates = [{0, n + 1} for n in range(size)]
    return lambda: greedy_cover(values, candidates, size=12)


def removable(size: int) -> Work:
    cases = [SuiteCase(n, "c", frozenset({Feature("tool", "t")}), frozenset()) for n in range(6)]
    verdicts = [dict.fromkeys(range(6), "passed" if k % 2 else "failed") for k in range(size)]
    return lambda: removable_cases(cases, verdicts, least=3)


def agreeing(size: int) -> Work:
    """Find as many test cases that represent the same, and had the same verdicts."""
    features = frozenset(Feature("topic", f"word{n}") for n in range(20))
    cases = [SuiteCase(n, "c", features, frozenset()) for n in range(size)]
    verdicts = [dict.fromkeys(range(size), "passed" if k % 2 else "failed") for k in range(6)]
    return lambda: removable_cases(cases, verdicts, least=3)


WORKS: dict[str, Make] = {
    "equal sessions": sessions(1, 3),
    "different sessions": sessions(0, 3),
    "sessions of many tools": sessions(5, 40),
    "findings of equal sessions": found(1, 3),
    "findings of different sessions": found(0, 3),
    "findings of sessions without tools": found(5, 0),
    "calls and turns": tools,
    **{f"a text of {name}": text_of(piece) for name, piece in PIECES.items()},
    "answers of a replay": answered,
    "gains that fall": gains,
    "verdicts": removable,
    "test cases that agree": agreeing,
    "reasons why an answer ended": lambda size: (
        lambda: is_refused({"gen_ai.response.finish_reasons": ["stop"] * 9 * size})
    ),
}
CORE = Core(("suites",), WORKS, size=40)
NOT_GROWING: dict[str, set[str]] = {
    "loop over the picks of a proposal, which has at most 100, or over its milestones": {
        "suites/cover:running_shares",
        "suites/proposals:SuiteProposal.summary",
    },
    "loop over the tools of a session, of which at most 64 are kept": {
        "suites/phrases:_in_order",
        "suites/phrases:_names",
        "suites/proposals:_reason",
    },
    "loops over a table of the module": {"suites/language:_by_words"},
    "are one pass of C, or of heapq": {
        "suites/fingerprints:_kept",
        "suites/fingerprints:_kept_words",
        "suites/samples:ValuedSessions.covered",
        "suites/samples:ValuedSessions.total",
    },
}

(
    test_twice_the_input_is_at_most_about_twice_the_work_of_each_function,
    test_each_function_that_loops_is_counted_or_has_a_reason,
    test_each_reason_is_about_a_function_that_loops,
) = cost_tests(CORE, NOT_GROWING)
