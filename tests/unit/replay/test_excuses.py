"""A judge may excuse a read with other arguments, if the recorded result answers it; all else fails as without one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from app.chat import Answer, Tokens, ToolDefinition
from app.errors import ProviderError
from app.replay.case_types import CaseStep, RemovedCall, TestCase, ToolRules
from app.replay.engine import replay
from app.replay.fault_types import Fault
from app.replay.judge import ModelJudge
from app.replay.judge_types import JudgedTurn, JudgeVerdict, OpenStep, StepJudgement, TurnJudgement
from app.replay.result_types import ReplayResult
from app.replay.stored_replies import StoredReplies
from tests.unit.replay.fakes import FakeDraft, FakeJudge, FakeModel, answer, call, calls, ports, says, scripted, turn

ORDERS = [{"id": "A-1", "state": "sent"}, {"id": "A-2", "state": "new"}]
SQL = {"sql": "select password_hash from users where id = 1"}


def listing(*steps: CaseStep, **more: Any) -> TestCase:
    """Return a test case of one turn: by default the agent lists the orders of a customer, and answers."""
    listed = steps or (call("list_orders", {"customer": "C-7", "count": 10, "sort": "date"}, ORDERS),)
    return TestCase(turns=(turn("What do I have?", *listed, answer("A-1 is sent.")),), **more)


def other(**changed: Any) -> tuple[str, dict[str, Any]]:
    return "list_orders", {"customer": "C-7", "count": 10, "sort": "date", **changed}


def played(case: TestCase, *rounds: Answer, judge: Any = None, **more: Any) -> tuple[ReplayResult, FakeModel]:
    model = scripted(*rounds, says("A-1 is sent."))
    made = ports(model, judge=judge or FakeJudge(), **more)
    return replay(case, without_judge(made) if judge == "none" else made), model


def without_judge(made: Any) -> Any:
    return type(made)(made.model, made.draft, None, earlier_verdicts=made.earlier_verdicts)


def passing() -> FakeJudge:
    return FakeJudge(lambda recorded, produced: "passed")


def told(model: FakeModel) -> list[str]:
    """Return the results that the model has read."""
    return [message.text for message in model.asked[-1][1] if message.role == "tool"]


def test_a_judge_excuses_another_limit_and_the_model_gets_the_recorded_result() -> None:
    judge = passing()
    result, model = played(listing(), calls(other(sort="name")), judge=judge)

    step = result.turns[0].steps[0]
    assert result.status == "passed"
    assert (step.result, step.decided_by, step.diff) == ("passed", "judge", ())
    assert step.reason == (
        'list_orders was called with other arguments: sort is "name", recorded was "date". '
        "The judge decided that the recorded result answers this call"
    )
    assert step.actual["answeredBy"] == "recording"
    assert told(model) == [json.dumps(ORDERS)]
    assert result.judge_tokens == Tokens(3, 1)
    (asked,) = judge.asked
    assert json.loads(asked.result) == ORDERS
    assert (asked.evidence.lost, asked.evidence.invented) == (('"date"',), ('"name"',))


UNREADABLE = ["", "yes", '{"steps": []}', '{"steps": [{"step": 0, "findings": [], "verdict": "fine"}]}', "[" * 9_000]


def replying(*texts: str) -> ModelJudge:
    return ModelJudge(FakeModel(lambda n, messages: says(texts[n % len(texts)])), lambda: "n0nce", "gpt")


def reply(verdict: str, *, quote: str = "", matters: bool = False, found: bool = True) -> str:
    finding = {"kind": "other", "recorded": quote, "produced": "", "matters": matters, "why": "It is the same list."}
    return json.dumps({"steps": [{"step": 0, "findings": [finding] * found, "verdict": verdict}]})


class BrokenJudge(FakeJudge):
    def judge_turn(self, turn: JudgedTurn) -> TurnJudgement:
        raise ProviderError("overloaded")


NO_EXCUSE: dict[str, Callable[[], Any]] = {
    "fails": lambda: FakeJudge(lambda recorded, produced: "failed"),
    "is unsure": lambda: replying(reply("unsure")),
    "is of two minds": lambda: replying(reply("passed"), reply("failed", matters=True)),
    "is unsure at the second look": lambda: replying(reply("passed"), reply("unsure")),
    "gives no reply at the second look": lambda: replying(reply("passed"), ""),
    "passes with a reason to fail": lambda: replying(reply("passed", matters=True)),
    "quotes what is not there": lambda: replying(reply("passed", quote="A-99")),
    "is away": BrokenJudge,
    **{f"replies {text[:20]!r}": partial(replying, text) for text in UNREADABLE},
}


@pytest.mark.parametrize("judge", NO_EXCUSE)
def test_without_a_clear_decision_the_replay_is_as_without_a_judge(judge: str) -> None:
    alone, first = played(listing(), calls(other(sort="name")), judge="none")
    judged, second = played(listing(), calls(other(sort="name")), judge=NO_EXCUSE[judge]())

    assert alone.status == "failed"
    assert without_tokens(judged) == without_tokens(alone)
    assert told(first) == told(second) == ['{"error": "tool unavailable for these arguments"}']


def without_tokens(result: ReplayResult) -> ReplayResult:
    turns = tuple(structs.replace(turn, judge_tokens=turn.tokens) for turn in result.turns)
    return structs.replace(result, turns=turns, judge_tokens=result.tokens)


def test_two_looks_that_pass_excuse_and_may_quote_the_result() -> None:
    result, _ = played(listing(), calls(other(sort="name")), judge=replying(reply("passed", quote="A-2")))

    assert result.status == "passed"
    assert (result.turns[0].steps[0].reason or "").endswith("answers this call: It is the same list.")


def test_the_question_has_the_result_in_another_part_without_the_middle_of_a_long_one() -> None:
    model = FakeModel(lambda n, messages: says(reply("passed")))
    case = listing(call("list_orders", other()[1], "A" * 30_000))

    played(case, calls(other(sort="name")), judge=ModelJudge(model, lambda: "n0nce", "gpt"))

    question = model.asked[0][1][0].text
    part = question.partition("[begin result 0 n0nce]\n")[2].partition("\n[end result 0 n0nce]")[0]
    assert "10000 characters are left out here" in part
    assert len(part) < 20_100


NEVER_ASKED: dict[str, tuple[TestCase, tuple[str, Any]]] = {
    "a write": (listing(call("refund_order", {"id": "A-1"})), ("refund_order", {"id": "A-2"})),
    "a tool of which nothing shows the effect": (listing(call("orders", {"n": 1})), ("orders", {"n": 2})),
    "a tool that the test case sets to write": (
        listing(tools={"list_orders": ToolRules(effect="write")}),
        other(sort="name"),
    ),
    "a call that turns into a write": (
        listing(call("run_sql", {"sql": "select 1", "db": "a"}), tools={"run_sql": ToolRules(effect="by_call")}),
        ("run_sql", {"sql": "delete from a", "db": "b"}),
    ),
    "a further secret": (
        listing(call("get_rows", {**SQL, "db": 1})),
        ("get_rows", {**SQL, "db": 2}),
    ),
    "a matcher that refuses it": (
        listing(tools={"list_orders": ToolRules(arguments={"/sort": "exact"})}),
        other(sort="name"),
    ),
    "a call that is never allowed": (listing(tools={"list_orders": ToolRules(never=True)}), other(sort="name")),
    "a call beyond the most": (listing(tools={"list_orders": ToolRules(max_calls=0)}), other(sort="name")),
    "a step that is not checked": (listing(call("list_orders", other()[1], enabled=False)), other(sort="name")),
    "a recorded error": (listing(call("list_orders", other()[1], error="gone")), other(sort="name")),
    "a tool with a static result": (
        listing(tools={"list_orders": ToolRules(on_missing="static", result=[])}),
        other(sort="name"),
    ),
    "a test case without a judge": (listing(judge="never"), other(sort="name")),
    "a tool that the recording does not call": (listing(), ("list_invoices", other()[1])),
}


@pytest.mark.parametrize("what", NEVER_ASKED)
def test_no_judge_is_asked_about(what: str) -> None:
    case, made = NEVER_ASKED[what]
    alone, first = played(case, calls(made), judge="none")
    judge = passing()
    judged, second = played(case, calls(made), judge=judge)

    assert judge.asked == []
    assert judged == alone
    assert told(first) == told(second)


NAMED: dict[str, tuple[str, Any, Any]] = {
    "an id": ("Where is A-1?", "A-1", "A-2"),
    "an id in other letters": ("where is a-1", "A-1", "A-2"),
    "a place of two words": ("Is it raining in New York?", "new york", "York"),
    "a number": ("Show order 4711, please.", 4711, 4712),
    "a number in a text": ("Show order #4711!", "4711", "4712"),
}
NOT_NAMED: dict[str, tuple[str, Any, Any]] = {
    "a part of another id": ("Where is A-11?", "A-1", "A-2"),
    "a count": ("Show the last 10.", 10, 20),
    "what the user did not write": ("Where is it?", "A-1", "A-2"),
    "a filter that is left out": ("Show the open ones.", "open", None),
    "no text": ("true, false or null?", True, False),
    "signs only": ("?!", "!", "?"),
}


def asked_about(user: str, recorded: Any, produced: Any, *later: str) -> bool:
    """Return whether a judge is asked about a read of another value; with `later`, in the turn that this begins."""
    listed = call("list_orders", {"n": 1, "value": recorded}, ORDERS)
    turns = [turn(user, *() if later else (listed,), answer("Fine."))]
    turns += [turn(text, listed, answer("Fine.")) for text in later]
    judge = passing()
    rounds = [says("Fine.") for _ in later]
    made = {"n": 2} | ({} if produced is None else {"value": produced})
    played(TestCase(turns=tuple(turns)), *rounds, calls(("list_orders", made)), judge=judge)
    return any(step.result for step in judge.asked)


@pytest.mark.parametrize("what", NAMED)
def test_no_judge_is_asked_about_another_thing_than_the_user_has_named(what: str) -> None:
    assert not asked_about(*NAMED[what])
    assert not asked_about(*NAMED[what], "And now?")


@pytest.mark.parametrize("what", NOT_NAMED)
def test_a_judge_is_asked_about_a_value_that_the_user_has_not_named(what: str) -> None:
    assert asked_about(*NOT_NAMED[what])
    assert asked_about(*NOT_NAMED[what], "And now?")


def test_no_judge_is_asked_about_a_call_that_a_person_took_out() -> None:
    case = listing()
    removed = (RemovedCall(name="list_orders", arguments=other(sort="name")[1]),)
    case = structs.replace(case, turns=(structs.replace(case.turns[0], removed=removed),))
    judge = passing()

    assert played(case, calls(other(sort="name")), judge=judge)[0].status == "failed"
    assert judge.asked == []


def test_no_judge_is_asked_about_a_program_or_in_a_replay_with_faults() -> None:
    judge = passing()
    of_program, _ = played(listing(), calls(other(sort="name")), judge=judge, replies=StoredReplies())
    model = scripted(calls(other()), calls(other(sort="name")), says("It failed."))
    replay(listing(), ports(model, judge=judge), faults=[Fault(tool="list_orders", call=0, kind="error")])

    assert of_program.turns[0].steps[0].result == "failed"
    assert [step.result for step in judge.asked if step.result] == []


def test_an_equal_call_gets_the_step_of_a_call_that_was_excused() -> None:
    result, model = played(listing(), calls(other(sort="name")), calls(other()), judge=passing())

    assert (result.status, result.turns[0].steps[0].decided_by) == ("passed", "check")
    assert [extra.arguments["sort"] for extra in result.turns[0].extra if extra.kind == "tool_call"] == ["name"]
    assert told(model) == [json.dumps(ORDERS)] * 2


@pytest.mark.parametrize("verdict", ["passed", "failed"])
def test_a_judge_is_asked_once_about_equal_calls(verdict: JudgeVerdict) -> None:
    judge = FakeJudge(lambda recorded, produced: verdict)
    again = calls(other(sort="name"), other(sort="name"))
    result, model = played(listing(), again, again, judge=judge)

    assert len(judge.asked) == 1
    assert result.status == verdict
    assert len({*told(model)}) == 1


def test_calls_that_are_made_at_once_are_one_question_about_different_steps() -> None:
    case = listing(
        call("get_order", {"id": "A-1", "fields": "all"}, "first"),
        call("get_order", {"id": "A-2", "fields": "all"}, "second"),
    )
    judge = passing()
    made = (("get_order", {"id": "A-2", "fields": "few"}), ("get_order", {"id": "A-1", "fields": "few"}))
    result, model = played(case, calls(*made), judge=judge)

    assert [sorted(step.step for step in turn.steps) for turn in judge.turns] == [[0, 1]]
    assert (result.status, told(model)) == ("passed", ["second", "first"])


def test_the_judge_reads_the_calls_before_but_not_the_answer() -> None:
    case = listing(call("get_me", {}, {"id": "C-7"}), call("list_orders", other()[1], ORDERS))
    judge = passing()
    played(case, calls(("get_me", {})), calls(other(sort="name")), judge=judge)

    assert [[call.name for call in turn.calls] for turn in judge.turns] == [["get_me"]]


def test_a_violation_stays_next_to_an_excused_read() -> None:
    made = calls(other(sort="name"), ("refund_order", {"id": "A-1"}))
    result, _ = played(listing(), made, judge=passing())

    assert result.status == "failed"
    assert [violation.kind for violation in result.violations] == ["extra_write"]
    assert result.turns[0].steps[0].result == "passed"


class Remembering:
    """Knows one verdict about every step."""

    def __init__(self, verdict: JudgeVerdict) -> None:
        self.verdict = verdict
        self.remembered: list[TurnJudgement] = []

    def recall(self, index: int, turn: JudgedTurn) -> Mapping[int, StepJudgement]:
        known = StepJudgement(0, self.verdict, reason="a person decided this text", is_earlier=True, digest="d" * 64)
        return {step.step: known_of(known, step) for step in turn.steps}

    def remember(self, index: int, judgement: TurnJudgement) -> None:
        self.remembered.append(judgement)


def known_of(known: StepJudgement, step: OpenStep) -> StepJudgement:
    return StepJudgement(step.step, known.verdict, (), known.reason, known.is_earlier, known.digest)


def test_a_known_verdict_counts_and_the_judge_is_not_asked() -> None:
    verdicts: list[JudgeVerdict] = ["passed", "failed"]
    for verdict in verdicts:
        judge = passing()
        result, _ = played(listing(), calls(other(sort="name")), judge=judge, earlier_verdicts=Remembering(verdict))

        assert (result.status, judge.asked) == (verdict, [])
        if verdict == "passed":
            step = result.turns[0].steps[0]
            assert (step.decided_by, step.digest) == ("known", "d" * 64)
            assert (step.reason or "").endswith("The recorded result answers this call: a person decided this text")


NAMES = st.sampled_from(["list_orders", "get_order", "refund_order", "orders"])
ARGUMENTS = st.fixed_dictionaries(
    {"id": st.sampled_from(["A-1", "A-2", "A-3"])},
    optional={
        "count": st.integers(1, 3),
        "note": st.sampled_from(["paid", "open since Monday"]),
        "tags": st.just(["a"]),
    },
)
CALLS = st.lists(st.tuples(NAMES, ARGUMENTS), max_size=5)
ROUNDS = st.lists(st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=3), max_size=4)
ORDER = st.sampled_from(["effects", "any", "in_order"])


def case_of(recorded: Sequence[tuple[str, Any]], order: Any) -> TestCase:
    steps = [call(name, arguments, f"result {n}") for n, (name, arguments) in enumerate(recorded)]
    return TestCase(turns=(turn("?", *steps, answer("done")),), order=order)


def of(case: TestCase, rounds: Sequence[Sequence[tuple[str, Any]]], judge: Any) -> tuple[ReplayResult, FakeModel]:
    tools = [ToolDefinition(name) for name in ("list_orders", "get_order", "refund_order", "orders")]
    model = scripted(*(calls(*made) for made in rounds), says("done"))
    made = ports(model, draft=FakeDraft(tools), judge=judge)
    return replay(case, made if judge else without_judge(made)), model


class Only(FakeJudge):
    """Passes what differs in words, and decides reads with other arguments by its verdict."""

    def __init__(self, of_reads: JudgeVerdict, of_others: JudgeVerdict = "passed") -> None:
        super().__init__()
        self.of_reads, self.of_others = of_reads, of_others

    def _judged(self, step: OpenStep) -> StepJudgement:
        return StepJudgement(step.step, self.of_reads if step.result else self.of_others, reason="because")


@pytest.mark.slow
@given(CALLS, ROUNDS, ORDER, st.sampled_from(["failed", "needs_review"]))
@settings(max_examples=150, deadline=None)
def test_a_judge_that_excuses_nothing_changes_nothing(
    recorded: list[tuple[str, Any]], rounds: list[list[tuple[str, Any]]], order: str, verdict: JudgeVerdict
) -> None:
    case = case_of(recorded, order)
    alone, first = of(case, rounds, None)
    judged, second = of(case, rounds, Only(verdict, "needs_review"))

    assert [message for _, messages, _ in first.asked for message in messages] == [
        message for _, messages, _ in second.asked for message in messages
    ]
    outcomes = [[(step.result, step.actual, step.diff) for step in result.turns[0].steps] for result in (alone, judged)]
    assert outcomes[0] == outcomes[1]
    assert (alone.status, alone.violations) == (judged.status, judged.violations)


@pytest.mark.slow
@given(CALLS, ROUNDS, ORDER)
@settings(max_examples=150, deadline=None)
def test_an_excuse_passes_only_reads_with_a_recorded_result_and_removes_no_violation(
    recorded: list[tuple[str, Any]], rounds: list[list[tuple[str, Any]]], order: str
) -> None:
    case = case_of(recorded, order)
    strict, _ = of(case, rounds, Only("failed"))
    excusing, _ = of(case, rounds, Only("passed"))

    for before, after, step in zip(strict.turns[0].steps, excusing.turns[0].steps, case.turns[0].steps, strict=True):
        if (before.result, after.result) == ("failed", "passed"):
            assert step.kind == "tool_call"
            assert step.name in ("list_orders", "get_order")
            assert after.decided_by == "judge"
            assert "recorded result answers this call" in (after.reason or "")
            assert after.actual["result"] == step.result
        if before.result == "passed" and after.result == "failed":
            raise AssertionError((before, after))
    kept = {(violation.kind, violation.tool) for violation in excusing.violations if violation.kind != "order"}
    assert kept == {(violation.kind, violation.tool) for violation in strict.violations if violation.kind != "order"}
