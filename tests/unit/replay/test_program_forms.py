"""Programs of Python that only have other names of variables, and twins that do something else."""

from __future__ import annotations

import pytest

from app.replay.program_forms import program_form

PROGRAM = """
contacts = apis.phone.search(token=phone, limit=20, kind="friend")
for contact in contacts:
    apis.bank.pay(to=contact["mail"], amount=12.0, note=f"to {contact}")
"""
FIXED = """
import bank as b

def rest(paid, due=10):
    return due - paid

paid = b.paid(due=3)
rest(paid, due=7)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("contacts", "people"),
        ("contact[", "c["),
        ("token=phone, limit=20", "limit=20, token=phone"),
        ("12.0", "12"),
        ("    apis", "    # pays\n    apis"),
    ],
)
def test_other_names_of_variables_and_another_order_of_named_arguments_make_no_difference(old: str, new: str) -> None:
    other = PROGRAM.replace("contact[", "c[").replace("contact ", "c ").replace("{contact}", "{c}")
    other = other.replace(old, new)

    assert other != PROGRAM
    assert program_form(other) == program_form(PROGRAM) != ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("phone,", "bank,"),
        ("20", "21"),
        ("12.0", "12.5"),
        ('"friend"', '"contact"'),
        ("in contacts", "in contacts[1:]"),
        ('contact["mail"]', 'contacts["mail"]'),
        ('contact["mail"]', 'contact["name"]'),
        ("apis.bank.pay", "apis.bank.request"),
        ("to=", "of="),
        ("{contact}", "{contacts}"),
    ],
)
def test_a_program_that_does_something_else_has_another_form(old: str, new: str) -> None:
    assert program_form(PROGRAM.replace(old, new)) not in (program_form(PROGRAM), "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def rest", "def left"),
        ("paid, due=10", "due, paid=10"),
        ("return due - paid", "return paid - due"),
        ("rest(paid, due=7)", "rest(b, due=7)"),
        ("import bank as b", "import shop as b"),
    ],
)
def test_names_of_functions_modules_and_their_arguments_are_no_names_of_variables(old: str, new: str) -> None:
    assert program_form(FIXED.replace(old, new)) != program_form(FIXED)


def test_exchanged_variables_are_another_program() -> None:
    assert program_form("a = f(1)\nb = f(2)\nprint(a - b)") != program_form("a = f(1)\nb = f(2)\nprint(b - a)")
    assert program_form("a = 1\nb = 2\npay(a)") != program_form("b = 1\na = 2\npay(a)")


def test_calls_keep_their_order() -> None:
    assert program_form("pay(a=first(), b=second())") != program_form("pay(b=second(), a=first())")
    assert program_form("pay(a=1, **more)") != program_form("pay(**more, a=1)")


@pytest.mark.parametrize(
    "text", ["", "rm -r a", "a b", "2^3", "(" * 5_000, "a" + "\u0301" * 100, "x\0", "f(" * 90 + ")" * 90]
)
def test_texts_that_are_no_program_and_programs_that_nest_deeply_end_in_a_form(text: str) -> None:
    assert isinstance(program_form(text), str)
