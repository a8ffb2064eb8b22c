"""The words of the pages are those of the glossary in docs/design.md."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TypeGuard

import pytest
from reprise_formats import replay_words

from app.replay import violations
from app.web import labels, templating
from app.web.presenters import case_choices

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \|([^|]*)\|$", re.MULTILINE)
# A token is also the unit of a model's texts.
OTHER_MEANINGS = {"token"}


def glossary() -> dict[str, list[str]]:
    """Return the words not to use, by term."""
    part = (ROOT / "docs/design.md").read_text().split("## Words")[1].split("## ")[0]
    rows = [row for row in ROW.findall(part) if row[0] not in ("Term", "---")]
    return {term: [word.strip() for word in unused.split(",") if word.strip()] for term, _, unused in rows}


def texts_of(template: str) -> str:
    """Return what a template shows without code: the text between its tags, and its quoted texts of several words."""
    without_comments = re.sub(r"\{#.*?#\}", " ", template, flags=re.DOTALL)
    code = re.findall(r"\{[{%].*?[}%]\}", without_comments, flags=re.DOTALL)
    quoted = [text for part in code for text in re.findall(r'"([^"]* [^"]*)"', part)]
    shown = re.sub(r"<code>.*?</code>|\{[{%].*?[}%]\}|<[^>]*>", " ", without_comments, flags=re.DOTALL)
    return " ".join([shown, *quoted])


@cache
def shown_texts() -> dict[str, str]:
    """Return the texts of each template, and those of the labels, the choices and the keys, in lower case."""
    templates = {path.name: texts_of(path.read_text()) for path in templating.FOLDER.glob("*.html")}
    keys = " ".join(does for _, does in templating.KEYS)
    modules = [ast.parse(Path(str(module.__file__)).read_text()) for module in (labels, replay_words, case_choices)]
    constants = [node.value for module in modules for node in ast.walk(module) if is_text(node)]
    texts = templates | {"labels.py": " ".join(map(str, constants[1:])), "keys": keys}
    return {name: text.lower() for name, text in texts.items()}


def is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value


def uses(word: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(word.lower())}s?\b", text) is not None


@pytest.mark.parametrize("word", sorted({word for unused in glossary().values() for word in unused} - OTHER_MEANINGS))
def test_no_page_uses_another_word_for_a_term(word: str) -> None:
    assert [name for name, text in shown_texts().items() if uses(word, text)] == []


@pytest.mark.parametrize("term", sorted(part for term in glossary() for part in term.split(", ")))
def test_each_term_of_the_glossary_is_used(term: str) -> None:
    assert any(uses(term, text) for text in shown_texts().values())


def test_a_word_is_found_between_tags_in_attributes_of_macros_and_in_the_plural() -> None:
    text = texts_of('<p class="tag">Logins {{ ui.empty("No threads yet", href) }}</p>{# grade #}').lower()

    assert [word for word in ("tag", "login", "thread", "grade") if uses(word, text)] == ["login", "thread"]


# Fields of tools and test cases, and values that have an underscore.
OF_THE_API = re.compile(r"\b(?:[a-z]+_[a-z_]+|[a-z]+[A-Z]\w+|set (?:extra|never|lost|order|idempotent)) ")


@pytest.mark.parametrize("module", [violations, replay_words], ids=["messages", "words"])
def test_what_a_person_reads_about_a_violation_has_no_word_of_the_api(module: ModuleType) -> None:
    texts = [node.value for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())) if is_text(node)]

    assert len(texts) > 20
    assert [text for text in texts if OF_THE_API.search(str(text))] == []
