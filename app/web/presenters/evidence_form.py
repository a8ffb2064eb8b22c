"""The fields of a label's form for what the guard requires of an experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.experiments.statistics import default_repeats
from app.models.labels import EvidenceRule
from app.web.forms import Form, integer_in, number_in

CASES = "testCaseIds"
PERCENTS = ("detect", "alpha", "minSighted")
WHOLE = ("repeats", "watchDays")
NAMES = (*PERCENTS, *WHOLE, CASES)
# The page also sends each text as it was shown, with this before its name.
SHOWN = "shown."


@dataclass(frozen=True, slots=True)
class EvidenceFields:
    """The texts of the fields by the API's names, as they are now and as the page showed them at first."""

    texts: Mapping[str, str]
    shown: Mapping[str, str]

    @property
    def changed(self) -> dict[str, str]:
        return {name: text for name, text in self.texts.items() if text != self.shown[name]}

    @property
    def cases(self) -> list[str]:
        return _ids([self.texts[CASES]])

    def body(self, present: EvidenceRule) -> dict[str, Any] | None:
        """Return the API's evidence, the present one with the changes of the form; None without changes.

        So a person changes no field that somebody else has changed since the page was shown. An empty field gets the
        default. Raises `Invalid` for a field that is not a number.
        """
        if not self.changed:
            return None
        values = {**_values(present), **{name: _value(name, text) for name, text in self.changed.items()}}
        return {name: value for name, value in values.items() if value is not None}


def fields_of(rule: EvidenceRule) -> EvidenceFields:
    """Return the fields for what a guard requires now."""
    values = _values(rule)
    texts = {name: _percent_text(values[name]) for name in PERCENTS}
    texts |= {name: str(values[name] or "") for name in WHOLE} | {CASES: _ids_text(map(str, values[CASES] or ()))}
    return EvidenceFields(texts, texts)


def fields_sent(form: Form) -> EvidenceFields:
    """Return the fields of a sent form. A form without them changes nothing."""
    texts = {name: form.text(name).strip() for name in NAMES if name != CASES}
    shown = {name: form.text(SHOWN + name) for name in NAMES}
    return EvidenceFields({**texts, CASES: _ids_text(_ids(form.texts(CASES)))}, shown)


def has_evidence(form: Form) -> bool:
    """Return whether the form was sent with the fields; the button that rolls back sends none."""
    return SHOWN + CASES in form.fields


def _values(rule: EvidenceRule) -> dict[str, Any]:
    """Return the rule as the API's values. Repeats that follow from `detect` are None, as they change with it."""
    return {
        "detect": rule.detect,
        "alpha": rule.alpha,
        "minSighted": rule.min_sighted,
        "repeats": None if rule.repeats == default_repeats(rule.detect)[0] else rule.repeats,
        "watchDays": rule.watch_days,
        CASES: None if rule.test_case_ids is None else [*rule.test_case_ids],
    }


def _value(name: str, text: str) -> Any:
    path = f"evidence.{name}"
    if name == CASES:
        return _ids([text]) or None
    return number_in(path, text, of=100) if name in PERCENTS else integer_in(path, text)


def _percent_text(share: float) -> str:
    return f"{share * 100:.10g}"


def _ids(texts: Iterable[str]) -> list[str]:
    """Return the ids in texts such as "3, 5", each once, the lowest first."""
    ids = {number for text in texts for number in text.replace(",", " ").split()}
    return sorted(ids, key=lambda number: (len(number), number))


def _ids_text(ids: Iterable[str]) -> str:
    return ", ".join(_ids(ids))
