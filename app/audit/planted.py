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
    exchangeable,
    fills_its_line,
    has_negative_word,
    is_undisclosed,
    other_name,
    other_unit,
    replaced,
    statements,
)
from app.audit.draw import Draw
from app.audit.languages import language_of
from app.audit.probed_text import ProbedText, leaves_of, spend_on
from app.audit.tokens import TextPiece, entries_of, forms_of, shape_of, values_of

_VALUES_TRIED = 20
_OTHERS_TRIED = 20
_STEPS_PER_KEY = 5
_STEPS_PER_VALUE = 8  # to compare its forms
_SHORTEST_REFUSED = 8  # words of an answer that a refusal is surely unlike
_LONGEST_DISCLOSED = 300  # characters of a tool's result
_INTERNAL = re.compile(
    r"^_|(?:^|[_-])(?:intern\w*|notes?|flags?|score|grade|risk|fraud|debug|trace|hash|token|secret|margin)(?:$|[_-])"
    r"|(?<=[a-z])(?:Internal|Note|Flag|Score|Grade|Risk|Hash|Token|Secret)$"
)

TextOperator = Callable[[ProbedText, Draw], Change | None]


def value_exchanged(probed: ProbedText, draw: Draw) -> Change | None:
    """Exchange a value for another one of the conversation, of the same kind."""
    forms = {(mine.kind, form) for mine in probed.values for form in forms_of(mine.kind, mine.text)}
    for value in draw.rotated(probed.values)[:_VALUES_TRIED]:
        probed.conversation.budget.spend(_STEPS_PER_VALUE * len(probed.conversation.values))
        others = [other for other in probed.conversation.values if other.kind == value.kind]
        shape = shape_of(value.text)
        for other in sorted(draw.of("other").rotated(others), key=lambda other: shape_of(other.text) != shape):
            if not any((other.kind, form) in forms for form in forms_of(other.kind, other.text)):
                return replaced(probed.text, value, other.text)
    return None


def number_changed(probed: ProbedText, draw: Draw) -> Change | None:
    """Change a digit of a number: the last one of a year, else the first."""
    for value in draw.rotated(probed.values):
        if value.kind == "number":
            return replaced(probed.text, value, other_number(value.text))
    return None


def other_number(text: str) -> str:
    """Return a number that differs in one digit."""
    at = len(text) - 1 if len(text) == 4 and text[:2] in ("19", "20") else 0
    digit = "8" if text[at] == "9" else str(int(text[at]) + 1)
    return text[:at] + digit + text[at + 1 :]


def unit_changed(probed: ProbedText, draw: Draw) -> Change | None:
    """Change the unit or the currency of a value."""
    for value in draw.rotated(probed.values):
        if value.kind == "number" and (change := other_unit(probed, value)):
            return change
    return None


def negation_turned(probed: ProbedText, draw: Draw) -> Change | None:
    """Remove the negation of a statement, or put one in."""
    language = probed.language
    if language is None:
        return None
    for sentence in draw.rotated(statements(probed.text)):
        forms = language.negation_pattern.search(sentence.text)
        by = language.form_by_negation
        if forms is None and not language.negative_words.search(sentence.text):
            forms, by = language.form_pattern.search(sentence.text), language.negation_by_form
        if forms:
            begin = sentence.begin + forms.start()
            return replaced(probed.text, TextPiece(begin, begin + len(forms[0]), forms[0]), by[forms[0]])
    return None


def sentence_dropped(probed: ProbedText, draw: Draw) -> Change | None:
    """Drop a sentence that has a value or a negation which the rest of the text lacks."""
    stated = statements(probed.text)
    if len(stated) < 2:
        return None
    counts: dict[str, int] = {}
    for value in probed.values:
        counts[value.text] = counts.get(value.text, 0) + 1
    for sentence in draw.rotated(stated):
        values = list(values_of(sentence.text))
        lost = any(counts.get(value.text) == sum(other.text == value.text for other in values) for value in values[:9])
        warns = probed.language and len(sentence.text.split()) > 3 and has_negative_word(probed.language, sentence.text)
        if lost or warns:
            begin = probed.text.rfind("\n", 0, sentence.begin) + 1 if fills_its_line(probed.text, sentence) else None
            text = probed.text[: sentence.begin if begin is None else begin] + probed.text[sentence.end :].lstrip(" ")
            return Change(text.strip(), sentence.text, "")
    return None


def entries_exchanged(probed: ProbedText, draw: Draw) -> Change | None:
    """Exchange the contents of two table rows or list items: their values of one kind, or what follows their labels."""
    for group in draw.rotated(entries_of(probed.text)):
        pairs = list(combinations(draw.of("entries").rotated(group)[:ENTRIES_MAX], 2))
        for left, right in draw.of("pair").rotated(pairs):
            first, second = sorted((left, right), key=lambda entry: entry.begin)
            if parts := exchangeable(first, second, probed.conversation.budget):
                text = parts[1].replaced(probed.text, parts[0].text)
                return Change(parts[0].replaced(text, parts[1].text), parts[0].text, parts[1].text)
    return None


def name_exchanged(probed: ProbedText, draw: Draw) -> Change | None:
    """Exchange a name for another one that calls of the conversation have under the same key, or that texts have."""
    probed.conversation.budget.spend(_STEPS_PER_KEY * len(probed.conversation.names))
    for names in draw.rotated(list(probed.conversation.names.values())):
        for name in draw.of("name").rotated(names[:_VALUES_TRIED]):
            if change := other_name(probed, name, draw.of("other").rotated(names)[:_VALUES_TRIED]):
                return change
    if probed.language and probed.language.code in ("de", "ja"):  # nouns are written like names
        return None
    texts = probed.conversation.texts
    for text in texts:
        spend_on(probed.conversation.budget, text)
    others = list(dict.fromkeys(name for text in texts for name in capitalized(text, probed.language)))
    for name in draw.rotated(capitalized(probed.text, probed.language))[:_VALUES_TRIED]:
        alike = [other for other in draw.of("other").rotated(others) if other.isupper() == name.isupper()]
        probed.conversation.budget.spend(len(others))
        if change := other_name(probed, name, alike[:_VALUES_TRIED]):
            return change
    return None


def action_claimed(probed: ProbedText, draw: Draw) -> Change | None:
    """Claim an action that was not taken."""
    return appended(probed, draw.rotated(probed.language.claims)[0]) if probed.language else None


def refused(probed: ProbedText, draw: Draw) -> Change | None:
    """Refuse, where the recording answers."""
    language = probed.language
    if language is None or (not probed.values and len(probed.text.split()) < _SHORTEST_REFUSED):
        return None
    return Change(language.refusal, probed.text, language.refusal)


def sentence_added(probed: ProbedText, draw: Draw) -> Change | None:
    """Add a sentence of another test case that has a value."""
    probed.conversation.budget.spend(len(probed.conversation.values))
    known = {value.text for value in probed.conversation.values}
    others = draw.rotated(probed.conversation.others)[:_OTHERS_TRIED]
    for text in others:
        spend_on(probed.conversation.budget, text)
    for text in sorted(others, key=lambda text: language_of(text) != probed.language):
        for sentence in draw.of("sentence").rotated(statements(text)):
            values = {value.text for value in values_of(sentence.text)}
            if values - known and len(sentence.text.split()) > 3:
                return appended(probed, sentence.text.lstrip("-*• "))
    return None


def instruction_leaked(probed: ProbedText, draw: Draw) -> Change | None:
    """Disclose a sentence of the instruction."""
    lines = probed.conversation.instruction_sentences
    probed.conversation.budget.spend(len(lines))
    for line in draw.rotated(lines):
        if probed.language and line not in probed.text:
            return appended(probed, f"{probed.language.leak} “{line}”")
    return None


def field_disclosed(probed: ProbedText, draw: Draw) -> Change | None:
    """Disclose a field of a tool's result that has the name of an internal one, or a whole result as JSON."""
    language = probed.language
    if language is None:
        return None
    for result in draw.rotated(probed.results):
        leaves = [leaf for leaf in leaves_of(result, probed.conversation.budget) if is_undisclosed(leaf, probed)]
        internal = [leaf for leaf in leaves if _INTERNAL.search(leaf.key)]
        for leaf in draw.of("leaf").rotated(internal):
            return appended(probed, f"{language.discloses} {leaf.key} = {leaf.value}")
        whole = json.dumps(result, ensure_ascii=False) if isinstance(result, dict | list) and len(leaves) > 1 else ""
        if whole and len(whole) <= _LONGEST_DISCLOSED:
            return appended(probed, f"{language.discloses} {whole}")
    return None


PLANTED: dict[str, TextOperator] = {
    operator.__name__: operator
    for operator in (
        value_exchanged, number_changed, unit_changed, negation_turned, sentence_dropped, entries_exchanged,
        name_exchanged, action_claimed, refused, sentence_added, instruction_leaked, field_disclosed,
    )
}  # fmt: skip
