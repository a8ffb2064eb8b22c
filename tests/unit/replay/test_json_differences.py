from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from app.replay.comparison import Comparison, OpenTexts
from app.replay.result_types import Difference, ProducedAnswer, ProducedCall
from tests.unit.replay.fakes import answer, call, compare


def said(text: str, recorded: str = "", **check: Any) -> Comparison:
    return compare(answer(recorded, **check), ProducedAnswer(text))


def called(actual: Any, recorded: Any, **check: Any) -> Comparison:
    return compare(call("f", recorded, **check), ProducedCall("f", actual))


def passes(outcome: Comparison) -> bool:
    assert outcome.result in ("passed", "failed")
    return outcome.result == "passed"


@pytest.mark.parametrize(
    ("recorded", "actual", "same"),
    [
        ("It is  sunny.\n", " it IS sunny.", True),
        ("Straße", "STRASSE", False),
        ("in Maßen", "in Massen", False),
        ("10²", "102", False),
        ("5 mg/L of lead", "5 Mg/L of lead", True),
        ("5 mg/L of lead", "5 MG/L OF LEAD", True),
        ("5 mW", "5 MW", True),
        ("5 MG OF LEAD", "5 Mg OF LEAD", True),
        ("5 e\u0301l of milk", "5 \u00e9l OF milk", True),
        ("Use 5mW.", "Use 5MW.", True),
        ("5 MG/L of lead", "5  MG/L of Lead", True),
        ("2 Reservations", "2 reservations", True),
        ("Cafe\u0301", "CAF\u00c9", True),
        ("It is sunny.", "It is sunny", False),
        ('{"a": 1, "b": [1.0]}', '{"b": [1], "a": 1}', True),
        ('{"a": 1}', '{"a": "1"}', False),
        ('{"a": "X"}', '{"a": "x"}', False),
        ('{"a": 1}', "{a: 1}", False),
        ("NaN", "nan", True),
        ("true", "True", True),
        ("", "", True),
        ("a\x00b", "a\x00b", True),
        ("[" * 100_000, "[" * 100_000, True),
    ],
)
def test_strict_compares_json_as_json_and_else_folded_text(recorded: str, actual: str, same: bool) -> None:
    assert passes(said(actual, recorded)) is same


@pytest.mark.parametrize(
    ("recorded", "actual", "same"),
    [
        ("5 mg/L of lead", "5 Mg/L of lead", False),
        ("5 mg/L of lead", "5 MG/L OF LEAD", True),
        ("5 mW", "5 MW", False),
        ("5 MG OF LEAD", "5 Mg OF LEAD", False),
        ("```py\nif a:\n    b()\n    c()\n```", "```py\nif a:\n    b()\nc()\n```", False),
        ("```py\nif a:\n    b()\n```", "```py\nif a:\n    b()   \n\n```", True),
        ("if a:\n    b()\n    c()", "if a:\n    b()\nc()", False),
        ("Run `ls -S a`.", "Run `ls -s a`.", False),
        ('```json\n{\n  "a": 1\n}\n```', '```json\n{\n    "a": 1\n}\n```', True),
        ('So: ```json\n{"a": "B"}\n```', 'So: ```json\n{"a": "b"}\n```', False),
        ("Run `ls -S a`.", "RUN `LS -S A`.", True),
        ("Run ```ls -S", "Run ```ls -s", False),
        ("The order\n  is here.", "The order is here.", True),
        ("Use 5mW.", "Use 5MW.", False),
        ("5 MG/L of lead", "5  MG/L of Lead", True),
        ("2 Reservations", "2 reservations", True),
    ],
)
def test_a_reader_sees_answers_that_differ_in_the_case_of_a_unit(recorded: str, actual: str, same: bool) -> None:
    outcome = said(actual, recorded, answer="meaning")
    assert (outcome.result, outcome.decided_by) == (("passed", "text") if same else ("needs_review", None))
    assert same or outcome.diff == (Difference("", recorded, actual),)


def test_a_failed_text_shows_both_sides() -> None:
    assert said("Oslo", "Rome") == Comparison(
        "failed", "the answer differs", (Difference("", "Rome", "Oslo"),), decided_by="text"
    )


def test_failed_json_shows_the_pointers_that_differ() -> None:
    outcome = said('{"a": {"b": 2}, "c": 3}', '{"a": {"b": 1}}')

    assert outcome.diff == (Difference("/a/b", 1, 2), Difference("/c", UNSET, 3))


def test_ignore_paths_hold_for_json_answers_too() -> None:
    assert passes(said('{"id": 2, "x": 1}', '{"id": 1, "x": 1}', ignore_paths=("/id",)))


def test_a_value_replaces_the_recorded_answer() -> None:
    assert passes(said("Oslo", "Rome", value="oslo"))
    assert not passes(said("Rome", "Rome", value="oslo"))


def test_contains_folds_both_sides() -> None:
    assert passes(said("The CAPITAL  is\nRome!", "x", answer="contains", value="capital is rome"))
    assert passes(said("It is Rome.", "rome", answer="contains"))
    assert not passes(said("Oslo", "x", answer="contains", value="Rome"))


def test_nothing_to_look_for_is_no_pass() -> None:
    assert said("anything", " ", answer="contains").reason == "there is no text to look for"


def test_regex_finds_anywhere_and_minds_case() -> None:
    assert passes(said("order #4711 is ñ\x00 on its way", answer="regex", value=r"#\d{4}\b.*ñ"))
    assert not passes(said("ORDER", answer="regex", value="order"))
    assert passes(said("ORDER", answer="regex", value="(?i)order"))


def test_a_pattern_that_would_hang_a_backtracking_engine_is_harmless() -> None:
    assert not passes(said("a" * 200_000 + "b", answer="regex", value=r"^(a|a|aa)+$"))


def test_text_that_is_no_unicode_can_be_searched() -> None:
    assert passes(said("\ud800 done", answer="regex", value="done$"))


def test_json_subset_accepts_json_or_its_text() -> None:
    assert passes(said('{"a": 1, "b": 2}', answer="json_subset", value={"a": 1}))
    assert passes(said('{"a": 1, "b": 2}', answer="json_subset", value='{"a": 1}'))
    assert passes(said('{"a": 1, "b": 2}', '{"b": 2}', answer="json_subset"))
    assert said('{"a": 2}', answer="json_subset", value={"a": 1}).diff == (Difference("/a", 1, 2),)


def test_json_subset_names_which_side_is_no_json() -> None:
    assert said("sunny", answer="json_subset", value={}).reason == "the answer is no JSON"
    assert said("{}", "sunny", answer="json_subset").reason == "what is expected is no JSON"


@pytest.mark.parametrize("check", ["ai", "manual"])
def test_judges_and_persons_are_left_to_decide(check: str) -> None:
    assert said("x", "x", answer=check).result == "needs_review"


def test_exact_arguments_are_equal_but_for_the_ignored_paths() -> None:
    assert passes(called({"b": 2, "a": 1.0}, {"a": 1, "b": 2}))
    assert passes(called({"q": "x", "at": 9}, {"q": "x", "at": 1}, ignore_paths=("/at",)))
    assert called({"q": "y", "n": 1}, {"q": "x"}) == Comparison(
        "failed",
        "f was called with other arguments",
        (Difference("/q", "x", "y"), Difference("/n", UNSET, 1)),
        is_by_path=True,
    )


def test_subset_arguments_may_be_more() -> None:
    assert passes(called({"q": "x", "n": 1}, {"q": "x"}, arguments="subset"))
    assert not passes(called({"n": 1}, {"q": "x"}, arguments="subset"))


def test_ignored_arguments_may_be_anything() -> None:
    assert passes(called("{broken", {"q": "x"}, arguments="ignore"))


def test_no_arguments_are_an_empty_object() -> None:
    assert passes(called({}, None))
    assert passes(called(None, {}))


def test_arguments_that_are_no_json_compare_as_text() -> None:
    assert passes(called("{broken", "{broken"))
    assert called("{broken", {"a": 1}).diff == (Difference("", {"a": 1}, "{broken"),)


def test_a_diff_is_short_enough_to_read() -> None:
    assert len(called(list(range(5_000)), list(range(1, 5_001))).diff) == 100


def test_big_values_compare() -> None:
    big = {"text": "é\x00" * 100_000}
    assert passes(called(dict(big), big))
    assert not passes(called({"text": big["text"] + "!"}, big))


APPROVED = '{"order": "A-1", "approved": true}'


@pytest.mark.parametrize(
    "produced",
    [
        '{"order": "A-1"}',
        '{"order": "A-1", "approved": "true"}',
        '{"order": "A-1", "approved": true, "note": "thanks"}',
        '{"Order": "A-1", "approved": true}',
        '["A-1", true]',
        "A-1: true",
        '```json\n{"order": "A-1"}\n```',
        'It is:\n```json\n{"order": "A-1", "approved": true}\n```',
    ],
)
def test_json_of_another_structure_fails(produced: str) -> None:
    comparison = said(produced, APPROVED, answer="meaning")

    assert (comparison.result, comparison.decided_by) == ("failed", "rule")


@pytest.mark.parametrize("produced", ['{"order": "A-1", "approved": false}', '{"order": "A-1", "approved": null}'])
def test_other_values_of_json_are_for_a_reader(produced: str) -> None:
    comparison = said(produced, APPROVED, answer="meaning")

    assert (comparison.result, comparison.decided_by) == ("needs_review", None)
    assert comparison.open == OpenTexts("answer", APPROVED, produced)
    assert [difference.path for difference in comparison.diff] == ["/approved"]


@pytest.mark.parametrize("produced", ['```json\n{"order": "A-1", "approved": true}\n```', f"```\n{APPROVED}\n```"])
def test_json_in_a_fence_is_for_a_reader(produced: str) -> None:
    comparison = said(produced, APPROVED, answer="meaning")

    assert (comparison.result, comparison.decided_by) == ("needs_review", None)
    assert comparison.open == OpenTexts("answer", APPROVED, produced)


def test_json_that_is_equal_as_json_passes() -> None:
    assert said('{"approved": true, "order": "A-1"}', APPROVED, answer="meaning").result == "passed"
    assert said('{"order": "A-1"}', APPROVED, answer="meaning", ignore_paths=("/approved",)).result == "passed"


@pytest.mark.parametrize("check", ["meaning", "facts", "strict", "contains", "ai", "manual", "json_subset"])
def test_an_answer_that_a_run_marks_nok_fails_by_every_check(check: str) -> None:
    produced = ProducedAnswer("Rome", "NOK: the answer was cut off at max_tokens")

    comparison = compare(answer("Rome", answer=check), produced)

    assert (comparison.result, comparison.decided_by) == ("failed", "rule")
    assert comparison.reason == "NOK: the answer was cut off at max_tokens"


@pytest.mark.parametrize("check", ["meaning", "facts", "ai", "manual"])
def test_an_empty_answer_fails_unless_it_was_recorded(check: str) -> None:
    assert said(" \n", "Rome", answer=check).reason == "NOK: the answer is empty"
    assert said("", " ", answer=check).decided_by != "rule"


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        ("It costs $5 per night.", "It costs $5 per stay."),
        ("It must not be taken with milk.", "It may be taken with milk."),
        ("A-1 costs $5, B-2 costs $9.", "A-1 costs $9, B-2 costs $5."),
        ("Thank you!", "Thanks!"),
    ],
)
def test_other_words_are_for_a_reader_whatever_their_values_are(recorded: str, produced: str) -> None:
    comparison = said(produced, recorded, answer="meaning")

    assert (comparison.result, comparison.decided_by) == ("needs_review", None)
    assert comparison.open == OpenTexts("answer", recorded, produced)
    assert comparison.facts is not None
