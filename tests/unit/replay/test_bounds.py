"""Comparisons of values of every shape are linear or within the budget of their replay."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from app.chat import Message
from app.replay.answers import ELEMENTS_MAX
from app.replay.arguments import CallRules, compare_arguments
from app.replay.attempt_sources import AttemptSources
from app.replay.case_types import Order, TestCase, ToolRules
from app.replay.checks import Checker
from app.replay.comparison import TOO_LONG
from app.replay.engine import replay
from app.replay.fingerprints import fingerprint, leaves, similarity, traits
from app.replay.json_differences import differences, equal, ignored_paths
from app.replay.loosening import Evidence, Loosening
from app.replay.matcher_places import ranked
from app.replay.matchers import parse_matchers
from app.replay.matching import Matching
from app.replay.recorded_sources import RecordedSources
from app.replay.result_types import ProducedAnswer, ProducedCall, ReplayResult
from app.replay.text_kinds import kinds_of
from app.replay.text_reader import COMPARISON_STEPS_MAX, TextReader
from app.replay.texts.scalars import letters
from app.replay.texts.sources import Sources
from app.values.budget import OverBudget, WorkBudget
from tests.support.growth import work_by_function
from tests.support.operations import PRIME, calls_of, colliding_numbers, growth_of, numbers_that_collide_by_index
from tests.unit.replay.fakes import FakeDraft, FakeJudge, FakeModel, answer, call, calls, pair, ports, says, turn

pytestmark = pytest.mark.slow

LINEAR = 2.4
SIZE = 100


def nested(leaf: Any, depth: int = 50) -> Any:
    for _ in range(depth):
        leaf = [leaf]
    return leaf


def nested_halves(n: int) -> list[Any]:
    return [n] if n < 2 else [nested_halves(n // 2), nested_halves(n - n // 2)]


VALUES: dict[str, Callable[[int], Any]] = {
    "equal numbers": lambda n: [7] * n,
    "rising numbers": lambda n: list(range(n)),
    "falling numbers": lambda n: list(range(n, 0, -1)),
    "numbers that collide": lambda n: [float(k) for k in colliding_numbers(n)],
    "keys": lambda n: {f"k{k}": k for k in range(n)},
    "keys that are indexes": lambda n: {str(k): k for k in range(n)},
    "lists of one": lambda n: [[k] for k in range(n)],
    "deep lists": lambda n: [nested(k) for k in range(n // 10)],
    "lists in lists": nested_halves,
    "objects": lambda n: [{"a": k, "b": {"c": str(k)}} for k in range(n)],
    "empty ones": lambda n: [[], {}, None, "", True] * n,
    "texts": lambda n: [f"word {k} of a text" for k in range(n)],
}


def pointers(n: int) -> tuple[str, ...]:
    return tuple(f"/k{k}" for k in range(n)) + tuple(f"/{k}/x" for k in range(n)) + ("/*/b/c", "/*/*", "/*/0")


ON_ONE: dict[str, Callable[[Any, int], object]] = {
    "leaves": lambda value, n: leaves(value),
    "fingerprint": lambda value, n: fingerprint(value),
    "traits": lambda value, n: traits(value),
    "kinds": lambda value, n: kinds_of(value, {}, "write"),
    "sources": lambda value, n: Sources(arguments=[value], results=[value]),
}
ON_TWO: dict[str, Callable[[Any, Any, int], object]] = {
    "equal": lambda one, other, n: equal(one, other),
    "similarity": lambda one, other, n: similarity(leaves(one), leaves(other)),
    "differences": lambda one, other, n: list(differences(one, other, ignored=[ignored_paths(pointers(n))])),
    "by kinds": lambda one, other, n: compared(one, other, {}),
    "exact": lambda one, other, n: compared(one, other, dict.fromkeys(pointers(n), "exact")),
    "facts": lambda one, other, n: compared(one, other, dict.fromkeys(pointers(n), "facts")),
    "unordered": lambda one, other, n: compared(one, other, {"": "unordered"}),
    "one_of": lambda one, other, n: compared(one, other, {"": {"match": "one_of", "values": [[1], one]}}),
    "number": lambda one, other, n: compared(one, other, {"/*": "number"}),
    "regex": lambda one, other, n: compared(one, other, {"": {"match": "regex", "value": "(a*)*b"}}),
    "ai": lambda one, other, n: compared(one, other, {"/*": {"match": "ai", "value": "fits"}}),
}


def compared(one: Any, other: Any, matchers: dict[str, Any]) -> object:
    return compare_arguments(one, other, ranked(parse_matchers(matchers)), Sources)


@pytest.mark.parametrize("shape", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("work", ON_ONE.values(), ids=ON_ONE)
def test_a_value_is_read_in_steps_that_grow_with_it(
    work: Callable[[Any, int], object], shape: Callable[[int], Any]
) -> None:
    assert growth_of(lambda n: partial(work, shape(n), n), SIZE, calls_of) < LINEAR


@pytest.mark.parametrize("shape", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("work", ON_TWO.values(), ids=ON_TWO)
def test_two_values_are_compared_in_steps_that_grow_with_them(
    work: Callable[[Any, Any, int], object], shape: Callable[[int], Any]
) -> None:
    assert growth_of(lambda n: partial(work, shape(n), shape(n), n), SIZE, calls_of) < LINEAR
    assert growth_of(lambda n: partial(work, shape(n), shape(n + 1), n), SIZE, calls_of) < LINEAR


def test_numbers_that_collide_with_their_index_are_not_compared_with_each_other() -> None:
    assert len({hash(((n,), number)) for n, number in enumerate(numbers_that_collide_by_index(400))}) < 350, (
        "they do collide"
    )
    assert len({hash(leaf) for leaf in leaves(numbers_that_collide_by_index(400))}) == 400


def reader() -> TextReader:
    return TextReader(WorkBudget(COMPARISON_STEPS_MAX))


ENTRIES: dict[str, Callable[[int], list[Any]]] = {
    "one list": lambda n: [[1] * n],
    "an object of lists": lambda n: [{f"k{k}": [k] for k in range(n)}],
    "deep lists": lambda n: [nested([1] * n)],
    "entries": lambda n: [[k] for k in range(n)],
}


@pytest.mark.parametrize("entries", ENTRIES.values(), ids=ENTRIES)
def test_what_is_nested_in_an_entry_of_a_list_in_any_order_is_counted_before_it_is_read(
    entries: Callable[[int], list[Any]],
) -> None:
    step = call("get", {"a": entries(100_000)}, arguments={"/a": "unordered"})
    produced = ProducedCall("get", {"a": [0] * len(step.arguments["a"])})

    def work() -> object:
        return Checker({}, Sources, reader=TextReader(WorkBudget(2_000))).compare(step, produced)

    assert calls_of(work) < 20_000
    assert work() is TOO_LONG


def test_a_recorded_list_is_read_once_for_all_calls_that_it_is_compared_with() -> None:
    recorded, matchers, counted = {"a": [[1] * 1_000]}, ranked(parse_matchers({"/a": "unordered"})), reader()

    for number in range(100):
        compare_arguments(recorded, {"a": [[number]]}, matchers, Sources, reader=counted)

    assert 5_000 < counted.budget.spent < 15_000


def test_a_value_that_is_searched_as_json_is_counted_before_it_is_written() -> None:
    matchers = ranked(parse_matchers({"/a": {"match": "regex", "value": "b"}}))
    work = partial(
        compare_arguments, {"a": 1}, {"a": [[1]] * 100_000}, matchers, Sources, reader=TextReader(WorkBudget(3_000))
    )

    with pytest.raises(OverBudget):
        work()


DEAR_PATTERN = "[ab]{500}c"


def test_a_pattern_counts_its_instructions_for_each_character() -> None:
    text = "ab" * 50_000
    answers, arguments = (Checker({}, Sources, reader=reader()) for _ in range(2))

    answers.compare(answer("", answer="regex", value=DEAR_PATTERN), ProducedAnswer(text))
    matcher = {"/a": {"match": "regex", "value": DEAR_PATTERN}}
    arguments.compare(call("get", {"a": ""}, arguments=matcher), ProducedCall("get", {"a": text}))

    for checker in (answers, arguments):
        assert checker.budget.spent > len(text) * 500 // 64


def test_a_pattern_that_was_compiled_counts_only_its_search_from_then_on() -> None:
    counted = reader()

    assert [counted.matches_pattern("a{3}", "aaa") for _ in range(100)] == [True] * 100
    assert counted.budget.spent < 2_000


def test_a_dear_pattern_on_a_long_answer_needs_review() -> None:
    checker = Checker({}, Sources, reader=reader())
    step = answer("", answer="regex", value=DEAR_PATTERN)

    assert checker.compare(step, ProducedAnswer("ab" * 500_000)) is TOO_LONG


@pytest.mark.parametrize("depth", [1, 50])
def test_two_long_lists_are_compared_in_the_memory_of_their_depth(depth: int) -> None:
    left, right = (nested([1] * 20_000, depth) for _ in range(2))

    assert peak_of(lambda: equal(left, right)) < 100_000
    assert peak_of(lambda: compared(left, right, {"/x": "number"})) < 100_000


def peak_of(work: Callable[[], object]) -> int:
    """Return the most bytes that work holds at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("check", ["strict", "json_subset", "meaning"])
def test_json_of_more_elements_than_an_answer_may_have_is_too_long_to_compare(check: str) -> None:
    checker = Checker({}, Sources, reader=TextReader())
    text = "[" + "1," * ELEMENTS_MAX + "1]"

    assert checker.compare(answer(text, answer=check), ProducedAnswer(text)) is TOO_LONG
    assert checker.compare(answer("1," * ELEMENTS_MAX, answer="strict"), ProducedAnswer("1")).result == "failed"


@pytest.mark.parametrize("text", ["a b-c+", "a+", "\ufdfa"])
def test_letters_are_counted_by_what_is_between_them(text: str) -> None:
    budget = WorkBudget()

    calls = calls_of(partial(letters, text * 1_000, budget))

    assert budget.spent > calls / 10, (budget.spent, calls)


SHAPES_OF_CALLS: dict[str, Callable[[int], Any]] = {
    "equal": lambda k: {"n": 1},
    "different": lambda k: {"n": k},
    "falling": lambda k: {"n": -k},
    "colliding": lambda k: k * PRIME + 1,
}
CHECKS: dict[str, Any] = {"exact": "exact", "subset": "subset", "ignored": "ignore", "matchers": {"/n": "number"}}


def case_of(n: int, shape: Callable[[int], Any], arguments: Any, order: Order) -> TestCase:
    steps = [call("get", shape(k), "ok", arguments=arguments) for k in range(n)]
    return TestCase(turns=(turn("Do it", *steps, answer("Done")),), order=order)


def played(case: TestCase, shape: Callable[[int], Any], budget: WorkBudget) -> ReplayResult:
    """Play a draft that makes as many calls as the recording has, at once."""
    made = len(case.turns[0].steps) - 1
    script = [calls(*(("get", shape(k + 1)) for k in range(made))), says("Done")]
    return replay(case, ports(FakeModel(lambda n, messages: script[n]), judge=None), budget=budget)


@pytest.mark.parametrize("order", ["effects", "any", "in_order"])
@pytest.mark.parametrize("arguments", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("shape", SHAPES_OF_CALLS.values(), ids=SHAPES_OF_CALLS)
def test_a_turn_of_many_calls_costs_no_more_than_its_budget(
    shape: Callable[[int], Any], arguments: Any, order: Order
) -> None:
    limit = 4_000

    def prepare(n: int) -> Callable[[], object]:
        case = case_of(n, shape, arguments, order)
        return lambda: played(case, shape, WorkBudget(limit))

    assert growth_of(prepare, SIZE, calls_of) < LINEAR


READ_ONCE = {
    "replay/shell_commands:command_reads": ToolRules(),
    "values/json_pointer:PointerTree.__init__": ToolRules(kinds={f"/k{k}": "prose" for k in range(50)}),
}


@pytest.mark.parametrize("order", ["effects", "in_order"])
@pytest.mark.parametrize("function", READ_ONCE)
def test_what_is_known_of_a_call_is_read_once_however_often_it_is_compared(function: str, order: Order) -> None:
    def work(n: int) -> int:
        check = {"arguments": "subset", "ignore_paths": ("/x", "/y")}
        steps = [call("run", {"command": f"cat {k}"}, **check) for k in range(n)]
        case = TestCase(turns=(turn("?", *steps, answer("Done")),), order=order, tools={"run": READ_ONCE[function]})
        script = [calls(*(("run", {"command": f"cat {k + 1}"}) for k in range(n))), says("Done")]
        model = FakeModel(lambda at, messages: script[at])
        return work_by_function(lambda: replay(case, ports(model, judge=None)))[function]

    assert 0 < work(16) <= LINEAR * work(8)


@pytest.mark.parametrize("check", ["strict", "facts", "meaning", "contains"])
def test_an_answer_that_is_too_long_to_compare_needs_review_and_the_replay_ends(check: str) -> None:
    numbers = " ".join(map(str, range(1_000, 3_000)))
    case = TestCase(turns=(turn("?", answer(numbers, answer=check)), turn("?", answer("Done"))))
    script = [says(numbers + " "), says("Done")]

    result = replay(case, ports(FakeModel(lambda n, messages: script[n]), judge=None), budget=WorkBudget(1_000))

    assert [step.result for played in result.turns for step in played.steps] == ["needs_review", "needs_review"]
    assert {step.reason for played in result.turns for step in played.steps} == {"too long to compare"}
    assert (result.status, result.stop_reason) == ("needs_review", None)


def test_what_is_too_long_to_compare_is_neither_passed_nor_asked_of_a_judge() -> None:
    checker = Checker({}, Sources, reader=TextReader(WorkBudget(10)))

    assert checker.compare(answer("x" * 1_000, answer="ai"), ProducedAnswer("y")) is TOO_LONG
    assert checker.compare(call("get", {"a": [1] * 100}), ProducedCall("get", {"a": [1] * 100})) is TOO_LONG


def test_a_conversation_of_300_kilobytes_needs_less_than_half_of_the_budget() -> None:
    sentence = "The order A-17 of Anna Schmidt left our store in Berlin on 5 May for $17.50. "
    steps = [(call("get_order", {"id": n}, sentence * 100), answer(sentence * 10, answer="meaning")) for n in range(30)]
    case = TestCase(turns=tuple(turn(f"Where is {n}?", *steps[n]) for n in range(30)))
    budget = WorkBudget()

    def script(n: int, messages: Sequence[Message]) -> Any:
        turn, is_answer = divmod(n, 2)
        return says(sentence * 9) if is_answer else calls(("get_order", {"id": turn}))

    judge = FakeJudge(lambda expected, actual: "passed")
    assert replay(case, ports(FakeModel(script), judge=judge), budget=budget).status == "passed"
    assert budget.spent < COMPARISON_STEPS_MAX / 2, budget.spent


@pytest.mark.parametrize("order", ["any", "in_order"])
@pytest.mark.parametrize("n", [10, 120])
def test_calls_are_paired_in_every_order(n: int, order: Order) -> None:
    steps = [call("get", {"n": k}) for k in range(n)]
    produced = [ProducedCall("get", {"n": k}) for k in range(n)]

    assert pair(steps, produced, order) == {k: k for k in range(n)}


def test_a_call_is_compared_only_with_the_steps_that_accept_it() -> None:
    def work(n: int) -> int:
        steps = [call(f"get_{k}", {"n": k}, arguments="ignore") for k in range(n)]
        produced = [ProducedCall(f"get_{k}", {"n": -k - 1}) for k in range(n)]
        return work_by_function(lambda: pair(steps, produced, "any"))["replay/pairing:_Pairing._closest"]

    assert 0 < work(200) <= LINEAR * work(100)


def test_a_matching_without_a_budget_gives_free_rights() -> None:
    matching = Matching(0b111, budget=WorkBudget(0))

    assert [matching.add(left, 0b011) for left in range(3)] == [0, 1, None]
    assert matching.add(3, 0b100) == 2


def test_further_turns_read_the_earlier_words_only_once() -> None:
    def prepare(n: int) -> Callable[[], object]:
        text = "The order A-17 is on its way to Berlin. " * 30
        case = TestCase(turns=tuple(turn(text, answer(text + str(k), answer="facts")) for k in range(n)))
        script: Iterator[Any] = iter([says(text + str(k)) for k in range(n)])
        return lambda: replay(case, ports(FakeModel(lambda n, messages: next(script)), judge=None))

    assert growth_of(prepare, 10, calls_of) < 2.6


def test_each_turn_of_a_long_conversation_costs_as_much_as_the_one_before_it() -> None:
    """The steps are those of the budget, which cuts what the longest test case compares."""

    def spent(count: int) -> tuple[int, int]:
        turns = tuple(
            turn(f"Where is {n}?", call("find", {"n": n}, {"n": n}), answer(f"{n} is at {n + 9000}.", answer="facts"))
            for n in range(count)
        )
        case = TestCase(turns=turns)
        script = [made for n in range(count) for made in (calls(("find", {"n": n})), says(f"At {n + 9001}, {n}."))]
        played, calibrated = WorkBudget(10**9), WorkBudget(10**9)
        result = replay(case, ports(FakeModel(lambda at, messages: script[at]), judge=None), budget=played)
        sources = AttemptSources(case, FakeDraft(), RecordedSources(case, TextReader()), TextReader(calibrated), result)
        for n in range(count):
            sources.of(n)
        return played.spent, calibrated.spent

    few, many = spent(100), spent(400)

    assert [more / less < 5.5 for less, more in zip(few, many, strict=True)] == [True, True], (few, many)


REQUEST = {"method": "POST", "url": "http://a/b"}
OPERATION = {"query": "mutation { pay(at: $v) { id } }"}
MEMBERS: dict[str, Callable[[int], tuple[str, dict[str, Any]]]] = {
    "headers": lambda n: ("http_request", REQUEST | {"headers": {f"h{k}": k for k in range(n)}}),
    "long headers": lambda n: ("http_request", REQUEST | {"headers": {f"h{k}": "x" * 99 * n for k in range(30)}}),
    "parameters": lambda n: ("http_request", REQUEST | {"params": {f"h{k}": k for k in range(n)}}),
    "other arguments": lambda n: ("http_request", REQUEST | {f"h{k}": k for k in range(n)}),
    "a body": lambda n: ("http_request", REQUEST | {"body": {f"h{k}": "{" for k in range(n)}}),
    "variables": lambda n: ("graphql", OPERATION | {"variables": {"v": [[k] for k in range(n)]}}),
    "variables of a body": lambda n: ("post", REQUEST | {"body": OPERATION | {"variables": {"v": [[0]] * n}}}),
    "an object that only one call has": lambda n: ("t", {"x": {f"h{k}": k for k in range(n)}}),
    "words": lambda n: ("run", {"command": ["a"] * n}),
}


@pytest.mark.parametrize("shape", MEMBERS)
def test_the_members_of_a_request_are_counted_for_each_recorded_call_that_it_is_compared_with(shape: str) -> None:
    def compared(size: int) -> tuple[int, int]:
        """Return the steps and the work of the second comparison."""
        name, produced = MEMBERS[shape](size)
        recorded = [{key: value for key, value in produced.items() if key == "command"} | {"url": "c"}] * 2
        reader = TextReader(WorkBudget())

        def compare(call: Any) -> None:
            compare_arguments(call, produced, ranked({}), Sources, rules=CallRules("write", name=name), reader=reader)

        compare(recorded[0])
        before = reader.budget.spent
        work = work_by_function(partial(compare, recorded[1])).total()
        return reader.budget.spent - before, work

    few, many = compared(500), compared(8_000)
    # A step is a microsecond: so many lines and calls.
    assert many[0] - few[0] >= (many[1] - few[1]) / 25
    assert many[0] - few[0] >= 7_500


@pytest.mark.parametrize(("name", "argument"), [("run_python", "code"), ("bash", "command")])
def test_the_readings_of_code_are_counted(name: str, argument: str) -> None:
    left, right = ({argument: "a;" * 5_000 + last} for last in "bc")
    reader = TextReader(WorkBudget())
    compare_arguments(left, right, ranked({}), Sources, rules=CallRules("write", name=name), reader=reader)
    assert reader.budget.spent > 5 * 2 * 10_000


def test_a_request_of_many_headers_ends_its_budget_instead_of_reading_them_for_each_recorded_call() -> None:
    produced = REQUEST | {"headers": {f"h{n}": n for n in range(40_000)}}
    reader, compared = TextReader(WorkBudget(500_000)), list[int]()
    rules = CallRules("write", name="http_request")

    def compare_with_all() -> None:
        for number in range(400):
            recorded = REQUEST | {"url": f"http://a/{number}"}
            compare_arguments(recorded, produced, ranked({}), Sources, rules=rules, reader=reader)
            compared.append(number)

    with pytest.raises(OverBudget):
        compare_with_all()
    assert len(compared) < 5


def test_a_tool_with_thousands_of_matchers_is_looked_up_path_by_path() -> None:
    def prepare(n: int) -> Callable[[], object]:
        recorded = {f"k{k}": k for k in range(n)}
        rules = {"get": ToolRules(arguments={f"/k{k}": "number" for k in range(n)})}
        case = TestCase(turns=(turn("?", call("get", recorded), answer("Done")),), tools=rules)
        script = [calls(("get", recorded | {"k0": 0.0})), says("Done")]
        return lambda: replay(case, ports(FakeModel(lambda at, messages: script[at]), judge=None))

    assert growth_of(prepare, 200, calls_of) < LINEAR


def test_names_of_the_turns_before_are_counted_where_a_turn_joins_them() -> None:
    """There is no plain word, so that only the names have to be joined."""
    names = [f"Ann{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(2_000)]
    counted = reader()
    before = Sources(results=[{"name": name} for name in names], reader=counted)
    spent = counted.budget.spent

    Sources(before=[before], reader=counted)

    assert counted.budget.spent - spent >= len(names) // 8


def test_differences_deep_in_lists_format_each_place_once() -> None:
    def work(depth: int) -> int:
        left, right = (nested(leaf, depth) for leaf in ([0] * 30, [*range(1, 31)]))
        return work_by_function(lambda: compared(left, right, {}))["values/json_pointer:format_pointer"]

    assert 0 < work(16) <= LINEAR * work(8)


def test_a_matcher_for_a_place_deep_in_lists_formats_only_the_innermost_list() -> None:
    def work(depth: int) -> int:
        step, produced = call("put", nested(0, depth)), ProducedCall("put", nested(1, depth))
        loosened = partial(Loosening().of, step, [Evidence(produced, Checker({}, Sources))])
        return work_by_function(loosened)["values/json_pointer:format_pointer"]

    assert 0 < work(16) <= LINEAR * work(8)
