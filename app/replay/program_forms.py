"""Brings programs of Python to one form, by which two that are written differently are recognized."""

from __future__ import annotations

import ast
import re
import warnings

from app.values.unicode import is_stream_safe

# Python would write a line to standard error for each number of a program that a word follows, such as `1if`.
warnings.filterwarnings("ignore", category=SyntaxWarning, module="<unknown>")

_NOT_IN_A_LINE = re.compile(r"[$`^]|#(?!\s)")
_LARGEST = 2**53  # up to which a float is the whole number that was written
_SIMPLE = (ast.Constant, ast.Name, ast.Attribute)


def syntax_of(text: str) -> ast.Module | None:
    """Return the syntax tree of a program of Python; None for other texts, and for comments only.

    In one line, `#a` may be a selector or a part of an address, `$` and a backtick may be replaced by a shell, and `^`
    may be a power, which binds stronger than it does in Python. Python normalizes names, which is quadratic in the
    combining marks of a run.
    """
    is_line = "\n" not in text.strip()
    if (is_line and _NOT_IN_A_LINE.search(text)) or not is_stream_safe(text):
        return None
    try:
        program = ast.parse(text)
        return program if program.body else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def dumped(program: ast.AST | None) -> str:
    """Return a syntax tree as a text; "" without one, or if it is too deep."""
    try:
        return "" if program is None else ast.dump(program)
    except RecursionError:
        return ""


def program_form(text: str) -> str:
    """Return the form of a program of Python, in which its variables have numbers instead of names; "" for other texts.

    Keyword arguments are sorted by name. A whole number has the same form as an integer and as a float.
    """
    program = syntax_of(text)
    if program is None:
        return ""
    names = [node for node in ast.walk(program) if isinstance(node, ast.Name)]
    # A name that is only set, as in the lines of a file of settings, is no variable.
    stored, read = ({name.id for name in names if isinstance(name.ctx, kind)} for kind in (ast.Store, ast.Load))
    try:
        return dumped(_InOneForm((stored & read) - _fixed_names(program)).visit(program))
    except RecursionError:
        return ""


def _fixed_names(program: ast.Module) -> set[str]:
    """Return the names that are no variables only: those of functions, classes, modules and their arguments."""
    fixed: set[str] = set()
    for node in ast.walk(program):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            fixed.add(node.name)
        elif isinstance(node, ast.arg):
            fixed.add(node.arg)
        elif isinstance(node, ast.alias):
            fixed.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Global | ast.Nonlocal):
            fixed.update(node.names)
    return fixed


class _InOneForm(ast.NodeTransformer):
    def __init__(self, variables: set[str]) -> None:
        self._variables = variables
        self._numbers: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in self._variables:
            node.id = self._numbers.setdefault(node.id, f"${len(self._numbers)}")
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, float) and node.value.is_integer() and abs(node.value) < _LARGEST:
            node.value = int(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        # The order matters where a value is a call itself, and where a mapping is unpacked.
        if all(keyword.arg and isinstance(keyword.value, _SIMPLE) for keyword in node.keywords):
            node.keywords.sort(key=lambda keyword: keyword.arg or "")
        return self.generic_visit(node)
