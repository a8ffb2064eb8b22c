"""Expressions have one form only if they have one value, and dice only if the same dice are rolled."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.arithmetic import arithmetic_form, has_dice
from tests.unit.replay.test_call_forms import compared

Tree = Any


numbers = st.integers(1, 4).map(str)
trees: st.SearchStrategy[Tree] = st.recursive(
    numbers, lambda inner: st.tuples(st.sampled_from("+-*/"), inner, inner), max_leaves=5
)


def written(tree: Tree, turned: bool = False) -> str:
    """Return an expression with all of its parentheses; `turned`, with the sides of sums and products exchanged."""
    if isinstance(tree, str):
        return f" {tree}.0" if turned else tree
    sign, left, right = tree
    sides = [written(side, turned) for side in ((right, left) if turned and sign in "+*" else (left, right))]
    return f"({sides[0]}{' ' * turned}{sign}{sides[1]})"


def exact(tree: Tree) -> Fraction | None:
    if isinstance(tree, str):
        return Fraction(tree)
    sign, *sides = tree
    left, right = map(exact, sides)
    if left is None or right is None or (sign == "/" and not right):
        return None
    return {"+": left + right, "-": left - right, "*": left * right}.get(sign) if sign != "/" else left / right


@given(trees)
def test_an_expression_keeps_its_form_with_sides_exchanged(tree: Tree) -> None:
    assert arithmetic_form(written(tree)) is not None
    assert arithmetic_form(written(tree)) == arithmetic_form(written(tree, turned=True))


@given(trees, trees)
def test_expressions_of_one_form_have_one_value(one: Tree, other: Tree) -> None:
    if arithmetic_form(written(one)) == arithmetic_form(written(other)):
        assert exact(one) == exact(other)


flat = st.lists(st.tuples(st.sampled_from(["+", "-", "*", "/", "**"]), st.integers(1, 3)), min_size=1, max_size=4)


def in_line(parts: list[tuple[str, int]]) -> str:
    return "2" + "".join(f"{sign}{number}" for sign, number in parts)


@given(flat, flat)
def test_without_parentheses_signs_bind_as_in_python(one: list[tuple[str, int]], other: list[tuple[str, int]]) -> None:
    texts = [in_line(parts) for parts in (one, other)]
    if texts[0].count("**") < 3 and arithmetic_form(texts[0]) == arithmetic_form(texts[1]):
        left, right = (eval(text) for text in texts)
        assert left == pytest.approx(right)


SAME = [
    ("2d6+3", "2d6 + 3"),
    ("2d6+3", "3+2D6"),
    ("d20", "1d20"),
    ("d%", "d100"),
    ("1d20+0", "1d20"),
    ("3*4^2", "3 × 4**2"),
    ("10-(3-2)", "10 - 3 + 2"),
    ("6÷2", "6/2.0"),
    ("-2^2", "−(2^2)"),
    ("2^3^2", "2^(3^2)"),
]
OTHER = [
    ("2d6+3", "3d6+2"),
    ("2d6+3", "2d6-3"),
    ("d20", "2d20"),
    ("2d20kh1", "2d20kl1"),
    ("2d20", "2d20kh1"),
    ("2d6", "1d6+1d6"),
    ("4d6!", "4d6"),
    ("3*4^2", "(3*4)^2"),
    ("3*4^-2", "(3*4)^-2"),
    ("-2^2", "(-2)^2"),
    ("6/2*3", "6/(2*3)"),
    ("10-3-2", "10-(3-2)"),
    ("12+8*1.19", "(12+8)*1.19"),
    ("2-1", "1-2"),
]


@pytest.mark.parametrize("key", ["expression", "formula", "dice"])
@pytest.mark.parametrize(("left", "right"), SAME)
def test_a_write_of_the_same_expression_is_left_to_a_judge(key: str, left: str, right: str) -> None:
    assert compared({key: left}, {key: right}) == compared({key: right}, {key: left}) == "open"


@pytest.mark.parametrize("key", ["expression", "formula", "dice"])
@pytest.mark.parametrize(("left", "right"), OTHER)
def test_a_write_of_another_expression_fails(key: str, left: str, right: str) -> None:
    assert compared({key: left}, {key: right}) == compared({key: right}, {key: left}) == "failed"


@pytest.mark.parametrize(("left", "right"), [("2026-12-05", "2026-5-12"), ("030-12-34", "030-34-12"), ("2+1", "1+2")])
def test_what_may_be_a_date_or_a_number_is_no_expression(left: str, right: str) -> None:
    assert compared({"id": left}, {"id": right}) == "failed"


@pytest.mark.parametrize("text", ["", "(", "2+", "a+1", "1..2", "2d", "d", "2 3", "1d20x", "(" * 60 + "1" + ")" * 60])
def test_another_text_is_no_expression(text: str) -> None:
    assert arithmetic_form(text) is None


def test_dice_are_known_without_a_key() -> None:
    assert has_dice(arithmetic_form("2d6+3") or ())
    assert not has_dice(arithmetic_form("2+3") or ("dice",))
    assert compared({"roll_for": "1d20+3"}, {"roll_for": "d20 + 3"}) == "open"
