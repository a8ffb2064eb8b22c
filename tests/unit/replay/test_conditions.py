"""Conditions of one form select the same rows: a database is asked."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from functools import partial
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.replay.conditions import number_form
from app.replay.statement_forms import is_narrower, statement_form
from tests.support.operations import calls_of

VALUES = (None, 0, 1, 2, 3)
ROWS = [*product(VALUES, VALUES, (None, 0, 1))]
NUMBERS = st.sampled_from(["0", "1", "2", "2.0", "3", "+1", "-1", "1e0"])
COLUMNS = st.sampled_from(["a", "b", "t.a"])
SIDES = st.one_of(
    COLUMNS,
    NUMBERS,
    st.builds("{} {} {}".format, COLUMNS, st.sampled_from("+-*"), NUMBERS),
    st.builds("({} - {}) * {}".format, COLUMNS, NUMBERS, COLUMNS),
    st.builds("coalesce({}, {})".format, COLUMNS, NUMBERS),
)
LISTS = st.lists(NUMBERS, min_size=1, max_size=3).map(", ".join)
NOT = st.sampled_from(["", "not "])
SIMPLE = st.one_of(
    st.builds("{} {} {}".format, SIDES, st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">="]), SIDES),
    st.builds("{} {}in ({})".format, COLUMNS, NOT, LISTS),
    st.builds("{} {}between {} and {}".format, COLUMNS, NOT, NUMBERS, NUMBERS),
    st.builds("{} is {}null".format, COLUMNS, NOT),
    st.builds("f {} {}".format, st.sampled_from(["=", "<>"]), st.sampled_from(["true", "false"])),
    st.builds("f is {}{}".format, NOT, st.sampled_from(["true", "false"])),
    st.sampled_from(["f", "true", "false", "1 = 1", "exists (select 1 from t as u where u.a = t.b)"]),
    st.builds("a in (select {} from t as u where u.b {} t.a)".format, st.sampled_from("ab"), st.sampled_from("<=")),
)
CONDITIONS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["and", "or"]), inner),
        st.builds("not ({})".format, inner),
        st.builds("{} and {} or {}".format, SIMPLE, SIMPLE, SIMPLE),
        st.builds("not {} and {}".format, SIMPLE, SIMPLE),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def database() -> Any:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t (a, b, f)")
    connection.executemany("insert into t values (?, ?, ?)", ROWS)
    yield connection
    connection.close()


def selected(database: Any, condition: str) -> frozenset[int]:
    return frozenset(row for (row,) in database.execute(f"select rowid from t where {condition}"))


def form(condition: str) -> Any:
    return statement_form(f"delete from t where {condition}")


@given(st.lists(CONDITIONS, min_size=2, max_size=40, unique=True))
def test_conditions_of_one_form_select_the_same_rows(database: Any, conditions: list[str]) -> None:
    by_form = defaultdict[Any, list[str]](list)
    for condition in conditions:
        by_form[form(condition)].append(condition)
    for same in by_form.values():
        assert len({selected(database, condition) for condition in same}) == 1, same


@example("not 0 < 0 and a is null", "false", "a is null")
@example("0 < '2026-01-02'", "false", "a is null")
@given(CONDITIONS, CONDITIONS, CONDITIONS)
def test_a_form_does_not_depend_on_order_and_parentheses(first: str, other: str, third: str) -> None:
    assert form(f"({first}) and ({other})") == form(f"(({other})) and ({first})")
    assert form(f"({first}) or ({other})") == form(f"({other}) or ({first})")
    assert form(f"({first}) and (({other}) and ({third}))") == form(f"({third}) and ({other}) and ({first})")
    assert form(f"not (not ({first}))") == form(first)


@given(CONDITIONS, CONDITIONS)
def test_a_narrower_statement_selects_some_of_the_rows(database: Any, first: str, other: str) -> None:
    for recorded, produced in ((first, f"({first}) and ({other})"), (first, other), (f"({first}) or ({other})", first)):
        if is_narrower(form(recorded), form(produced)):
            assert selected(database, produced) <= selected(database, recorded)


@pytest.mark.parametrize(
    ("word", "expected"),
    [("10.0", "10"), ("1.50", "1.5"), (".5", "0.5"), ("1e3", "1000"), ("0", "0"), ("00", "0"), ("1e99999", "1e99999")],
)
def test_numbers_have_no_zeros_that_change_nothing(word: str, expected: str) -> None:
    assert number_form(word) == expected


@pytest.mark.parametrize(
    "text",
    [
        "delete from t where " + "(" * 500 + "a = 1" + ")" * 500,
        "delete from t where " + "case when " * 500 + "a",
        "delete from t where " + "not " * 5_000 + "a = 1",
        "delete from t where a = " + "- " * 5_000 + "1",
        "delete from t where a" + "::x" * 5_000 + " = 1",
        "update t set a = b" + "::x" * 5_000,
        "delete from t where a in (select b from t where " + "a in (select b from t where " * 38 + "a" + ")" * 39,
        "delete from t where a = 1" + " - b" * 4_000,
        "delete from t where a = 1 and",
        "delete from t where ) a = 1 (",
        "delete from t where a in ()",
        "delete from t where a between 1",
        "update t set where",
        "insert into t () values ()",
        "select from from from",
        "with",
    ],
)
def test_broken_and_deep_statements_have_a_form(text: str) -> None:
    assert statement_form(text) == statement_form(f" {text}\n")


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("(a = 1 or ", ") and b = 2"),
        ("(a = 1 and ", ") or b = 2"),
        ("not (a = 1 or ", ")"),
        ("not (a = 1 or b = 2 and ", ")"),
        ("(a = 1 or b = 2 and ", ") = false"),
        ("not + (a = 1 or ", ")"),
    ],
)
def test_nested_conditions_are_not_read_again_at_each_level(begin: str, end: str) -> None:
    shallow, deep = (calls_of(lambda n=n: form(begin * n + "b = 3" + end * n)) for n in (5, 10))  # type: ignore[misc]
    assert deep < 5 * shallow, "the work grows with the square of the depth at most"


# Each is put into itself, again and again: `X` is the condition before.
AROUND = (
    *("(X)", "not (X)", "(X) = false", "1 || (X)", "(X) between 1 and 2", "(X) not between 1 and 2", "1 in (X)"),
    *("case when X then 1 end", "((X) or c = 1)", "cast(X as int)", "(X) a b c", "exists (select X)", "(select X) a b"),
    *("(select 1 where X) a b", "(select 1 from t join u on X)", "(select 1 from (select X) z)"),
)


def nested(around: tuple[str, ...], depth: int) -> str:
    inner = "a = 1"
    for number in range(depth):
        inner = around[number % len(around)].replace("X", inner)
    return f"select 1 from t where {inner}"


@pytest.mark.parametrize("first", AROUND)
def test_the_work_on_what_is_nested_does_not_double_with_each_level(first: str) -> None:
    for other in AROUND:
        assert calls_of(partial(statement_form, nested((first, other), 12)), at_most=200_000) < 200_000, other


@pytest.mark.parametrize("around", ["(X) between 1 and 2", "(X) not between 1 and 2"])
def test_a_form_that_would_be_much_longer_than_its_statement_is_the_words(around: str) -> None:
    few, many = (nested((around,), depth) for depth in (3, 18))

    assert statement_form(few)[0][0][0] == "select"
    assert statement_form(many) == tuple(many.replace("(", " ( ").replace(")", " ) ").split())
