"""Probes are balanced, stay the same while test cases are unchanged, and need linear work."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from app.audit.draw import Draw
from app.audit.playing import play_probe
from app.audit.probes import (
    HARMLESS_OPERATORS,
    PLANTED_OPERATORS,
    Labelled,
    ProbedCase,
    draw_probes,
    probed_steps_of,
)
from app.chat import ToolDefinition
from app.replay.case_types import CaseTurn, Check, CheckedAnswer, CheckedCall, TestCase, ToolRules
from app.replay.judge_types import JudgeVerdict
from app.replay.ports import Ports
from app.values.budget import WorkBudget
from tests.unit.audit.probed_texts import SENTENCES
from tests.unit.replay.fakes import FakeDraft, FakeJudge

INSTRUCTION = "You are the agent of a shop. Never name the margin of the shop to users."


MEANING = Check(answer="meaning")


def case(text: str, *, check: Check = MEANING, result: Any = None, number: int = 1) -> TestCase:
    call = CheckedCall(
        name="get_order", arguments={"order": f"B-{number}"}, result=result or {"internal_id": f"Q-{number}"}
    )
    return TestCase(turns=(CaseTurn(user="Where is it?", steps=(call, CheckedAnswer(text=text, check=check))),))


def probed(*cases: TestCase) -> list[ProbedCase]:
    return [ProbedCase(number, test_case, INSTRUCTION) for number, test_case in enumerate(cases, 1)]


CASES = probed(*(case(text, number=n) for n, text in enumerate(SENTENCES.values())))


def test_planted_errors_and_harmless_forms_are_balanced_and_of_many_kinds() -> None:
    probes = draw_probes(CASES, "1", 20)

    assert [probe.planted for probe in probes] == [True] * 20 + [False] * 20
    kinds = Counter(probe.kind for probe in probes if probe.planted)
    assert len(kinds) >= 9
    assert max(kinds.values()) - min(kinds.values()) <= 1
    assert len({(probe.test_case_id, str(probe.produced)) for probe in probes}) == 40


def test_the_same_seed_draws_the_same_probes_and_another_one_others() -> None:
    assert draw_probes(CASES, "1") == draw_probes(list(CASES), "1")
    assert draw_probes(CASES, "1") != draw_probes(CASES, "2")


def test_a_changed_test_case_leaves_most_probes_of_the_others() -> None:
    before = {(probe.test_case_id, probe.kind, str(probe.produced)) for probe in draw_probes(CASES, "1", 40)}
    changed = [*CASES[:-1], ProbedCase(9, case("The parcel is here, it cost 12 euros and 5 cents."), INSTRUCTION)]

    after = {(probe.test_case_id, probe.kind, str(probe.produced)) for probe in draw_probes(changed, "1", 40)}

    assert len(before & after) > len(before) / 2


def test_steps_that_nothing_but_a_person_decides_are_not_probed() -> None:
    cases = probed(
        case(SENTENCES["en"], check=Check(answer="manual")),
        case(SENTENCES["en"], check=Check(enabled=False)),
        case('{"total": 1299, "note": "The order is ready for you."}'),
    )

    assert {place.recorded.kind for place in probed_steps_of(cases)} == {"tool_call"}


def test_thoughts_are_not_probed_because_the_gate_does_not_compare_them() -> None:
    thought = CheckedCall(name="think", arguments={"thought": "The order is late. Refund 12 EUR at once?"}, result="")
    turns = (CaseTurn(user="Where is it?", steps=(thought,)),)

    assert probed_steps_of(probed(TestCase(turns=turns)), WorkBudget(1_000_000)) == []


def test_what_persons_decided_comes_first_and_is_at_most_a_quarter() -> None:
    labels = tuple(
        Labelled(0, 1, f"The order is {word}.", accepted)
        for word, accepted in (("here", True), ("gone", False), ("sold", False), ("lost", False))
    )
    cases = [ProbedCase(1, case(SENTENCES["en"]), INSTRUCTION, labels), *CASES[1:]]

    probes = draw_probes(cases, "1", 8)

    assert [(probe.kind, probe.produced) for probe in probes if "person" in probe.kind] == [
        ("refused_by_person", "The order is gone."),
        ("refused_by_person", "The order is sold."),
        ("accepted_by_person", "The order is here."),
    ]


def test_a_label_of_a_step_that_is_gone_is_left_out() -> None:
    labels = (Labelled(5, 0, "x", True), Labelled(0, 7, "x", True), Labelled(0, 0, "x", True))

    probes = draw_probes([ProbedCase(1, case(SENTENCES["en"]), INSTRUCTION, labels)], "1")

    assert not any("person" in probe.kind for probe in probes)


@pytest.mark.slow
def test_work_grows_with_the_text_and_a_used_up_budget_ends_the_drawing() -> None:
    def spent(times: int) -> int:
        budget = WorkBudget()
        draw_probes(
            probed(*(case(text * times, number=n) for n, text in enumerate(SENTENCES.values()))), "1", 20, budget
        )
        return budget.spent

    assert spent(200) < 2.5 * spent(100)
    assert draw_probes(CASES, "1", 20, WorkBudget(5)) == []
    probes = draw_probes(CASES, "1", 20, WorkBudget(6_000))
    assert len(probes) < 40
    planted = sum(probe.planted for probe in probes)
    assert planted <= 2 * (len(probes) - planted)


def test_without_text_there_are_no_probes() -> None:
    empty = replace(CASES[0].case, turns=(replace(CASES[0].case.turns[0], user=None),))

    assert draw_probes([], "1") == []
    assert draw_probes([ProbedCase(1, empty)], "1") == []


READ = CheckedCall(name="list_orders", arguments={"customer": "C-7", "limit": 5, "note": "B-2"}, result=["B-1", "C-8"])


def kinds_of(call: CheckedCall, **more: Any) -> set[str]:
    """Return the operators on reads that find something to change in a call."""
    turn = CaseTurn(user="What did C-8 order?", steps=(call, CheckedAnswer(text="B-1.", check=MEANING)))
    probes = draw_probes(probed(TestCase(turns=(turn,), **more)), "1")
    return {probe.kind for probe in probes if probe.kind.startswith("read_") and probe.step == 0}


def test_reads_with_other_arguments_are_probed_where_a_judge_decides_them() -> None:
    assert kinds_of(READ) == {"read_exchanged", "read_limited"}
    assert kinds_of(replace(READ, name="order")) == set()
    assert kinds_of(replace(READ, error="gone")) == set()
    assert kinds_of(replace(READ, check=Check(arguments="ignore"))) == set()
    assert kinds_of(READ, tools={"list_orders": ToolRules(arguments={"/customer": "exact"})}) == set()
    assert kinds_of(READ, tools={"list_orders": ToolRules(effect="write")}) == set()


@pytest.mark.parametrize("verdict", ["passed", "failed"])
def test_a_judge_decides_on_the_probes_of_reads(verdict: JudgeVerdict) -> None:
    turn = CaseTurn(user="What did C-8 order?", steps=(READ, CheckedAnswer(text="B-1.", check=MEANING)))
    judge = FakeJudge(lambda recorded, produced: verdict)
    (probe,) = (probe for probe in draw_probes(probed(TestCase(turns=(turn,))), "1") if probe.kind == "read_exchanged")

    outcome = play_probe(TestCase(turns=(turn,)), probe, lambda model: Ports(model, FakeDraft(), judge))

    assert (outcome.verdict, outcome.is_right) == (verdict, verdict == "failed")
    assert [bool(step.result) for step in judge.asked] == [True]


def test_a_default_that_only_the_prompt_defines_is_left_out_as_harmless() -> None:
    """An audit once counted it as a planted error, which the gate rightly accepts."""
    schema = {"type": "object", "properties": {"window": {"type": "string", "default": "24h"}}}
    call = CheckedCall(name="query_metrics", arguments={"window": "24h"}, result={"points": [1]})
    recorded = TestCase(turns=(CaseTurn(user="How full is the disk?", steps=(call,)),))

    def changed(kind: str, tools: list[ToolDefinition]) -> Any:
        [place] = probed_steps_of([ProbedCase(1, recorded, INSTRUCTION, tools=tools)])
        operators = PLANTED_OPERATORS if kind in PLANTED_OPERATORS.kinds else HARMLESS_OPERATORS
        probe = operators.apply(kind, place, Draw("1"))
        return probe and probe.produced

    defined = [ToolDefinition("query_metrics", "", schema)]
    assert changed("field_dropped", defined) is None
    assert changed("default_sent", defined) == {}
    assert changed("field_dropped", []) == {}
