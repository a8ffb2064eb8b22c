"""Each class of a template has a rule in a style sheet, and each rule is of a class that something has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import app.web as web

FOLDER = Path(web.__file__).parent
RULES = "".join(re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S) for path in FOLDER.glob("static/*.css"))
STYLED = set(re.findall(r"\.([a-zA-Z][\w-]*)", re.sub(r"\{[^{}]*\}", "{}", RULES)))
TEMPLATES = sorted(FOLDER.glob("templates/*.html"))
SOURCES = "".join(path.read_text() for path in (*TEMPLATES, *FOLDER.glob("static/*.js"), *FOLDER.rglob("*.py")))
ATTRIBUTE = re.compile(r'class="((?:\{\{.*?\}\}|\{%.*?%\}|[^"{])*)"')
# A text in an expression, and what shows that it is no class: a comparison, a call or the key of a mapping.
LITERAL = re.compile(r'(== |\()?"([^"]*)"(:)?')


def classes(template: str) -> Iterator[str]:
    """Yield the classes of a template. One that ends with a hyphen is the beginning of others."""
    for value in ATTRIBUTE.findall(template):
        for expression in re.findall(r"(?<!-)\{\{(.*?)\}\}", value):
            for before, literal, after in LITERAL.findall(expression):
                yield from () if before or after else literal.split()
        # What an expression follows, as in `is-{{ kind }}`, is the beginning of a class.
        yield from re.findall(r"[a-zA-Z][\w-]*", re.sub(r"\{[{%].*?[%}]\}", " ", value))


def is_styled(name: str) -> bool:
    return name in STYLED or (name.endswith("-") and any(styled.startswith(name) for styled in STYLED))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_each_class_of_a_template_has_a_rule(path: Path) -> None:
    assert {name for name in classes(path.read_text()) if not is_styled(name)} == set()


def test_each_rule_is_of_a_class_that_a_template_a_script_or_a_presenter_has() -> None:
    begun = tuple(re.findall(r'(?<![\w-])([a-z]+-)(?=\{|")', SOURCES))
    unused = {name for name in STYLED if not re.search(rf"(?<![\w-]){name}(?![\w-])", SOURCES)}

    assert {name for name in unused if not name.startswith(begun)} == set()
