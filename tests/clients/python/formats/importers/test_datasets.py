"""Rows of datasets, tests of promptfoo and versions of Langfuse, with what other tools leave out or write otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from reprise_formats.importers import langfuse_prompts, promptfoo
from reprise_formats.importers.datasets import NAME_MAX, ImportedCase, braintrust_row, langsmith_example
from reprise_formats.importers.promptfoo import PARTS_MAX
from reprise_formats.importers.spans import Unreadable
from reprise_formats.importers.text_limits import TextLimits


@pytest.mark.parametrize(
    ("given", "question", "earlier"),
    [
        ("Where?", "Where?", []),
        ({"question": "Where?", "user": "u-1"}, "Where?", []),
        ({"anything": "Where?"}, "Where?", []),
        ('{"question": "Where?"}', "Where?", []),
        ({"input": {"messages": [{"type": "human", "content": "Where?"}]}}, "Where?", []),
        ([{"type": "human", "data": {"content": "Where?"}}], "Where?", []),
        (
            [{"role": "user", "content": "A"}, {"role": "tool", "content": "x"}, {"role": "user", "content": "B"}],
            "B",
            ["A"],
        ),
    ],
)
def test_the_question_is_the_last_text_of_the_user(given: Any, question: str, earlier: list[str]) -> None:
    case = braintrust_row({"input": given, "expected": "There."})

    assert (case.question, [message["text"] for message in case.earlier]) == (question, earlier)


@pytest.mark.parametrize(
    "given", [None, 7, {}, [], {"a": "x", "b": "y"}, [{"role": "assistant", "content": "A"}], [[[[]]]]]
)
def test_without_a_question_a_row_is_unreadable(given: Any) -> None:
    with pytest.raises(Unreadable, match="no question"):
        langsmith_example({"inputs": given, "outputs": {"answer": "x"}})


@pytest.mark.parametrize(
    ("expected", "text", "answer"),
    [
        ("There.", "There.", "meaning"),
        ({"answer": "There."}, "There.", "meaning"),
        ({"output": {"content": "There."}}, "There.", "meaning"),
        ({"message": {"role": "assistant", "content": [{"type": "text", "text": "There."}]}}, "There.", "meaning"),
        ([{"role": "user", "content": "A"}, {"role": "assistant", "content": "There."}], "There.", "meaning"),
        (4, "4", "meaning"),
        ({"a": 1, "b": 2}, '{"a": 1, "b": 2}', "json_subset"),
        ([1, 2], "[1, 2]", "json_subset"),
    ],
)
def test_the_expected_answer_is_a_text_or_json(expected: Any, text: str, answer: str) -> None:
    case = braintrust_row({"input": "Where?", "expected": expected})

    assert (case.expected, case.check["answer"]) == (text, answer)


def test_names_differ_and_are_the_same_in_every_import() -> None:
    cases = [braintrust_row({"id": id_, "input": "x " * 500, "expected": "y"}) for id_ in ("1", "2", "1")]
    titles = [case.title for case in cases]

    assert titles[0] == titles[2] != titles[1]
    assert max(map(len, titles)) <= NAME_MAX


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a: [", "is no YAML"),
        ("prompts: []", "has no tests"),
        ("tests: file://tests.yaml", "import that file"),
        ("- 7", "import that file"),
        ("7", "has no tests"),
        ("a: !!bool abc", "is no YAML"),
        ("a: !!int ''", "is no YAML"),
        ("a: !!float ''", "is no YAML"),
        ("a: !!timestamp abc", "is no YAML"),
        ("a: !!omap abc", "is no YAML"),
        ("a: !!binary abcd", "is no YAML"),
        ("a: !!set {b}", "is no YAML"),
        ("a: !!python/object:os.system ls", "is no YAML"),
        (f"- 0x{'f' * 5000}", "A number has more than 1,000 characters"),
        (f"- {{vars: {{? 0x{'f' * 5000} : Hi}}}}", "A number has more than 1,000 characters"),
        (f"a: !!float 1{':1' * 400}.5", "A number has"),
        ("a: !!int 1:30", "or a colon"),
    ],
)
def test_a_file_without_tests_is_reported(content: str, problem: str) -> None:
    [record] = promptfoo.records(content, "file")

    assert problem in record.problem


def test_a_date_without_quotes_is_a_text() -> None:
    document = "tests: [{vars: {question: Which day, day: 2026-01-01}, assert: [{type: equals, value: 2026-01-02}]}]"
    [record] = promptfoo.records(document, "file")

    case = promptfoo.convert(record.value)

    assert (case.variables, case.expected) == ({"day": "2026-01-01"}, "2026-01-02")


@pytest.mark.parametrize("time", ["1:30", "-1:30.5", "1" + ":1" * 400 + ".5"])
def test_a_number_to_the_base_60_is_a_text(time: str) -> None:
    """PyYAML would read it as 90, in time that is quadratic in its length."""
    [record] = promptfoo.records(f"- {{vars: {{question: {time}}}, assert: [{{type: equals, value: x}}]}}", "file")

    assert promptfoo.convert(record.value).question == time


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
            f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
        ), "too large"),
        (f"long: &long {'x' * 100_000}\ntests: [{', '.join(['{vars: {q: *long}}'] * 400)}]\n", "too large"),
        ("tests: &t [*t]\n", "contains it"),
        ("tests: &t [{vars: {q: [*t]}}]\n", "contains it"),
    ],
    ids=["aliases to aliases", "a long text many times", "a list of itself", "a list within itself"],
)  # fmt: skip
def test_aliases_that_mean_more_than_a_memory_holds_are_refused(document: str, problem: str) -> None:
    [record] = promptfoo.records(document, "file")

    assert problem in record.problem


@pytest.mark.parametrize("line", ["- a\n", "-\n", "- *x\n"])
def test_a_document_with_very_many_values_is_refused(line: str) -> None:
    """PyYAML needs a kilobyte of memory for each of them."""
    document = "- &x a\n" + line * 1000

    [record] = promptfoo.records(document, "file", TextLimits(values=1000))
    records = promptfoo.records(document, "file", TextLimits(values=2010))

    assert "more than 1,000 values" in record.problem
    assert [record for record in records if "more than" in record.problem] == []


@pytest.mark.parametrize("shared", ["vars: {%s}", "assert: [%s]"])
def test_a_test_with_very_many_parts_is_refused(shared: str) -> None:
    """What all tests share is copied for each of them."""
    parts = ", ".join(f"k{number}: x" for number in range(PARTS_MAX))
    document = f"defaultTest: {{{shared % parts}}}\ntests: [{{vars: {{question: Hi}}}}, {{}}]"

    first, second = promptfoo.records(document, "file")

    assert first.problem == f"has more than {PARTS_MAX} variables and assertions"
    assert not second.problem


def test_aliases_are_replaced() -> None:
    usual = "shared: &shared {kind: short}\ntests:\n" + 3 * "- {vars: {question: Hi, <<: *shared}, assert: []}\n"

    records = list(promptfoo.records(usual, "file"))

    assert [record.value["vars"] for record in records] == 3 * [{"question": "Hi", "kind": "short"}]


def test_a_file_of_tests_needs_no_configuration() -> None:
    [record] = promptfoo.records('- vars: {q: "Where?"}\n  assert: [{type: contains, value: There}]', "file")

    case = promptfoo.convert(record.value)
    assert (case.question, case.check, case.variables) == ("Where?", {"answer": "contains", "value": "There"}, {})


@pytest.mark.parametrize(
    ("variables", "reason"),
    [({}, "no question"), ({"a": "x", "b": "y"}, "no question"), ({"input": "file://x.txt"}, "another file")],
)
def test_a_test_without_a_question_is_unreadable(variables: dict[str, str], reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        promptfoo.convert({"vars": variables, "assert": [{"type": "contains", "value": "x"}]})


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"version": 1, "prompt": "x"}, "name"),
        ({"name": "a", "prompt": "x"}, "version"),
        ({"name": "a", "version": True, "prompt": "x"}, "version"),
        ({"name": "a", "version": 1}, "prompt"),
        (
            {"name": "a", "version": 1, "prompt": [{"role": "user", "content": "x"}, {"role": "user", "content": "y"}]},
            "system",
        ),
    ],
)
def test_a_version_that_lacks_something_is_unreadable(record: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        langfuse_prompts.convert(record)


def test_versions_are_in_order_and_a_chat_of_one_message_is_its_text() -> None:
    records = [
        {"name": "a", "version": number, "prompt": [{"role": "user", "content": f"v{number}"}]} for number in (2, 1, 2)
    ]

    [(name, versions)] = langfuse_prompts.by_name(map(langfuse_prompts.convert, records)).items()

    assert (name, [version.text for version in versions]) == ("a", ["v1", "v2"])


def test_a_case_has_only_what_its_row_has() -> None:
    case = ImportedCase("1", "Where?", "There.", {"answer": "meaning"})

    assert case.document({})["testCase"] == {
        "turns": [{"user": "Where?", "steps": [{"kind": "answer", "text": "There.", "check": {"answer": "meaning"}}]}]
    }


def nested(depth: int, *, innermost: Any) -> Any:
    for _ in range(depth):
        innermost = [innermost]
    return innermost


def test_messages_in_lists_and_objects_of_very_many_levels_are_read() -> None:
    question = {"role": "user", "content": "How warm is it?"}
    for given in (nested(5_000, innermost=question), [[question, [question]], [[question]]]):
        case = braintrust_row({"id": "1", "input": given, "expected": "Warm."})
        assert case.question == "How warm is it?"
    assert len(case.earlier) == 2
    within: Any = [question]
    for _ in range(5_000):
        within = {"input": within}
    assert braintrust_row({"id": "1", "input": within, "expected": "Warm."}).question == "How warm is it?"
