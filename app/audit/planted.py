"""Operators that plant an error in a text. They know languages by `languages.toml`, and no domain."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import combinations

from app.audit.changes import (
    ENTRIES_MAX,
    Change,
    appended,
    capitalized,
    denies,
    exchangeable,
    is_line,
    is_undisclosed,
    other_name,
    other_unit,
    replaced,
    statements,
)
from app.audit.draw import Draw
from app.audit.languages import language_of
from app.audit.passage import ProbedText, leaves_of, spend_on
from app.audit.tokens import TextPiece, entries_of, forms_of, shape_of, values_of

_VALUES_TRIED = 20
_OTHERS_TRIED = 20
_STEPS_OF_A_KEY = 5
_STEPS_OF_A_VALUE = 8  # to compare its forms
_SHORTEST_REFUSED = 8  # words of an answer that a refusal is surely unlike
_LONGEST_DISCLOSED = 300  # characters of a tool's result
_INTERNAL = re.compile(
    r"^_|(?:^|[_-])(?:intern\w*|notes?|flags?|score|grade|risk|fraud|debug|trace|hash|token|secret|margin)(?:$|[_-])"
    r"|(?<=[a-z])(?:Internal|Note|Flag|Score|Grade|Risk|Hash|Token|Secret)$"
)

TextOperator = Callable[[ProbedText, Draw], Change | None]


def value_exchanged(passage: ProbedText, draw: Draw) -> Change | None:
    """Exchange a value for another one of the conversation, of the same kind."""
    forms = {(mine.kind, form) for mine in passage.values for form in forms_of(mine.kind, mine.text)}
    for value in draw.rotated(passage.values)[:_VALUES_TRIED]:
        passage.conversation.budget.spend(_STEPS_OF_A_VALUE * len(passage.conversation.values))
        others = [other for other in passage.conversation.values if other.kind == value.kind]
        shape = shape_of(value.text)
        for other in sorted(draw.of("other").rotated(others), key=lambda other: shape_of(other.text) != shape):
            if not any((other.kind, form) in forms for form in forms_of(other.kind, other.text)):
                return replaced(passage.text, value, other.text)
    return None


def number_changed(passage: ProbedText, draw: Draw) -> Change | None:
    """Change a digit of a number: the last one of a year, else the first."""
    for value in draw.rotated(passage.values):
        if value.kind == "number":
            return replaced(passage.text, value, other_number(value.text))
    return None


def other_number(text: str) -> str:
    """Return a number that differs in one digit."""
    at = len(text) - 1 if len(text) == 4 and text[:2] in ("19", "20") else 0
    digit = "8" if text[at] == "9" else str(int(text[at]) + 1)
    return text[:at] + digit + text[at + 1 :]


def unit_changed(passage: ProbedText, draw: Draw) -> Change | None:
    """Change the unit or the currency of a value."""
    for value in draw.rotated(passage.values):
        if value.kind == "number" and (change := other_unit(passage, value)):
            return change
    return None


def negation_turned(passage: ProbedText, draw: Draw) -> Change | None:
    """Remove the negation of a statement, or put one in."""
    language = passage.language
    if language is None:
        return None
    for sentence in draw.rotated(statements(passage.text)):
        forms = language.negation_pattern.search(sentence.text)
        by = language.form_by_negation
        if forms is None and not language.negative_words.search(sentence.text):
            forms, by = language.form_pattern.search(sentence.text), language.negation_by_form
        if forms:
            begin = sentence.begin + forms.start()
            return replaced(passage.text, TextPiece(begin, begin + len(forms[0]), forms[0]), by[forms[0]])
    return None


def sentence_dropped(passage: ProbedText, draw: Draw) -> Change | None:
    """Drop a sentence that has a value or a negation which the rest of the text lacks."""
    stated = statements(passage.text)
    if len(stated) < 2:
        return None
    counts: dict[str, int] = {}
    for value in passage.values:
        counts[value.text] = counts.get(value.text, 0) + 1
    for sentence in draw.rotated(stated):
        values = list(values_of(sentence.text))
        lost = any(counts.get(value.text) == sum(other.text == value.text for other in values) for value in values[:9])
        warns = passage.language and len(sentence.text.split()) > 3 and denies(passage.language, sentence.text)
        if lost or warns:
            begin = passage.text.rfind("\n", 0, sentence.begin) + 1 if is_line(passage.text, sentence) else None
            text = passage.text[: sentence.begin if begin is None else begin] + passage.text[sentence.end :].lstrip(" ")
            return Change(text.strip(), sentence.text, "")
    return None


def entries_exchanged(passage: ProbedText, draw: Draw) -> Change | None:
    """Exchange the contents of two table rows or list items: their values of one kind, or what follows their labels."""
    for group in draw.rotated(entries_of(passage.text)):
        pairs = list(combinations(draw.of("entries").rotated(group)[:ENTRIES_MAX], 2))
        for left, right in draw.of("pair").rotated(pairs):
            first, second = sorted((left, right), key=lambda entry: entry.begin)
            if parts := exchangeable(first, second, passage.conversation.budget):
                text = parts[1].replaced(passage.text, parts[0].text)
                return Change(parts[0].replaced(text, parts[1].text), parts[0].text, parts[1].text)
    return None


def name_exchanged(passage: ProbedText, draw: Draw) -> Change | None:
    """Exchange a name for another one that calls of the conversation have under the same key, or that texts have."""
    passage.conversation.budget.spend(_STEPS_OF_A_KEY * len(passage.conversation.names))
    for names in draw.rotated(list(passage.conversation.names.values())):
        for name in draw.of("name").rotated(names[:_VALUES_TRIED]):
            if change := other_name(passage, name, draw.of("other").rotated(names)[:_VALUES_TRIED]):
                return change
    if passage.language and passage.language.code in ("de", "ja"):  # nouns are written like names
        return None
    texts = passage.conversation.texts
    for text in texts:
        spend_on(passage.conversation.budget, text)
    others = list(dict.fromkeys(name for text in texts for name in capitalized(text, passage.language)))
    for name in draw.rotated(capitalized(passage.text, passage.language))[:_VALUES_TRIED]:
        alike = [other for other in draw.of("other").rotated(others) if other.isupper() == name.isupper()]
        passage.conversation.budget.spend(len(others))
        if change := other_name(passage, name, alike[:_VALUES_TRIED]):
            return change
    return None


def action_claimed(passage: ProbedText, draw: Draw) -> Change | None:
    """Claim an action that was not taken."""
    return appended(passage, draw.rotated(passage.language.claims)[0]) if passage.language else None


def refused(passage: ProbedText, draw: Draw) -> Change | None:
    """Refuse, where the recording answers."""
    language = passage.language
    if language is None or (not passage.values and len(passage.text.split()) < _SHORTEST_REFUSED):
        return None
    return Change(language.refusal, passage.text, language.refusal)


def sentence_added(passage: ProbedText, draw: Draw) -> Change | None:
    """Add a sentence of another test case that has a value."""
    passage.conversation.budget.spend(len(passage.conversation.values))
    known = {value.text for value in passage.conversation.values}
    others = draw.rotated(passage.conversation.others)[:_OTHERS_TRIED]
    for text in others:
        spend_on(passage.conversation.budget, text)
    for text in sorted(others, key=lambda text: language_of(text) != passage.language):
        for sentence in draw.of("sentence").rotated(statements(text)):
            values = {value.text for value in values_of(sentence.text)}
            if values - known and len(sentence.text.split()) > 3:
                return appended(passage, sentence.text.lstrip("-*• "))
    return None


def instruction_leaked(passage: ProbedText, draw: Draw) -> Change | None:
    """Disclose a sentence of the instruction."""
    lines = passage.conversation.instruction_lines
    passage.conversation.budget.spend(len(lines))
    for line in draw.rotated(lines):
        if passage.language and line not in passage.text:
            return appended(passage, f"{passage.language.leak} “{line}”")
    return None


def field_disclosed(passage: ProbedText, draw: Draw) -> Change | None:
    """Disclose a field of a tool's result that has the name of an internal one, or a whole result as JSON."""
    language = passage.language
    if language is None:
        return None
    for result in draw.rotated(passage.results):
        leaves = [leaf for leaf in leaves_of(result, passage.conversation.budget) if is_undisclosed(leaf, passage)]
        internal = [leaf for leaf in leaves if _INTERNAL.search(leaf.key)]
        for leaf in draw.of("leaf").rotated(internal):
            return appended(passage, f"{language.discloses} {leaf.key} = {leaf.value}")
        whole = json.dumps(result, ensure_ascii=False) if isinstance(result, dict | list) and len(leaves) > 1 else ""
        if whole and len(whole) <= _LONGEST_DISCLOSED:
            return appended(passage, f"{language.discloses} {whole}")
    return None


PLANTED: dict[str, TextOperator] = {
    operator.__name__: operator
    for operator in (
        value_exchanged, number_changed, unit_changed, negation_turned, sentence_dropped, entries_exchanged,
        name_exchanged, action_claimed, refused, sentence_added, instruction_leaked, field_disclosed,
    )
}  # fmt: skip
