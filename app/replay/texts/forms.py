"""The forms of values: spellings by which a value of one text is recognized in another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from app.replay.texts.value_kinds import Value

Form = tuple[str, str]  # what kind of form it is, and the form

_NONE: frozenset[str] = frozenset()


class Lookup:
    """Looks values up among forms; `value in forms` is True if one of them means the same."""

    def _details_of(self, form: Form) -> Collection[str]:
        """Return the details with which a form occurs, such as a unit; "" is among them if it occurs without any."""
        raise NotImplementedError

    def __contains__(self, value: Value) -> bool:
        return any(self._holds(form, value.detail) for form in _accepted(value))

    def holds_clearly(self, value: Value) -> bool:
        """Return True if a value occurs in a form that has one reading."""
        return self._holds((value.space, value.form), value.detail)

    def spell_out(self, value: Value) -> bool:
        """Return True if a value occurs with its exact unit or year."""
        parts = value.detail.split("|")
        return any(part in details for details in map(self._details_of, _accepted(value)) for part in parts)

    def contradict(self, value: Value) -> bool:
        """Return True if a value occurs in its form, but always with another detail."""
        return value not in self and replace(value, detail="") in self

    def _holds(self, form: Form, detail: str) -> bool:
        details = self._details_of(form)
        if not details or not detail or "" in details:
            return bool(details)
        return any(part in details for part in detail.split("|"))


class Forms(Lookup):
    """The forms of many values, each with the place of the first text that has it."""

    def __init__(self, values: Iterable[Value] = ()) -> None:
        self._places: dict[Form, dict[str, int]] = {}
        for value in values:
            self.add(value)

    def add(self, value: Value, place: int = 0) -> None:
        """Add a value of the text at a place, which is not before the places that were added already."""
        for form, detail in _offered(value):
            places = self._places.setdefault(form, {})
            for part in detail.split("|"):
                places.setdefault(part, place)

    def with_values(self, values: Iterable[Value], place: int) -> FormsBefore:
        """Add the values of the text at a place; return the forms up to this place."""
        for value in values:
            self.add(value, place)
        return self.before(place + 1)

    def before(self, place: int) -> FormsBefore:
        return FormsBefore(self, place)

    def _details_of(self, form: Form) -> Collection[str]:
        return self._places.get(form, _NONE)


class FormsBefore(Lookup):
    """The forms of the texts before a place; others may be added meanwhile."""

    def __init__(self, forms: Forms, place: int) -> None:
        self._forms, self._place = forms, place

    def _details_of(self, form: Form) -> Collection[str]:
        places = self._forms._places.get(form)
        return _NONE if places is None else {part for part, place in places.copy().items() if place < self._place}


def _accepted(value: Value) -> Iterator[Form]:
    """Yield the forms of a value; one of them has to occur elsewhere.

    A value that can be read in two ways agrees with either reading if that one is clear. It agrees with another
    ambiguous value only if both are written alike: 11/05 is not 05/11.
    """
    space = value.space
    yield space, value.form
    if value.kind == "code":
        if value.other:
            yield "number", value.other
    elif value.kind == "label":
        yield "label", value.form
        yield "bare number", value.other
    elif value.other:
        yield space, value.other
        yield f"{space} in two ways", value.form
    else:
        yield f"{space} either way", value.form
    if value.kind == "ordinal":
        yield "number", value.form
    elif space == "number":
        yield "number of a code", value.form
        if not value.detail:
            yield "number of a label", value.form
    elif value.kind == "time" and len(value.form) > 5:
        yield "time without seconds", value.form[:5]
        yield "time either way", value.form[:5]


def _offered(value: Value) -> Iterator[tuple[Form, str]]:
    """Yield the forms, with their details, that a value includes: a whole date includes its month and year."""
    space, form, detail = value.space, value.form, value.detail
    if value.kind == "code":
        yield ("code", form), ""
        yield ("number of a code", value.other), ""
    elif value.kind == "label":
        yield ("label", form), ""
        yield ("number of a label", value.other), ""
    elif value.other:
        yield (f"{space} in two ways", form), detail
        yield (f"{space} either way", form), detail
        yield (f"{space} either way", value.other), detail
    else:
        yield (space, form), detail
        if space == "time":
            yield ("time" if len(form) > 5 else "time without seconds", form[:5]), detail
    if space in ("number", "ordinal"):
        yield from _offered_by_number(value)
    elif value.kind == "date":
        yield ("date", form[:2]), detail
        if detail:
            yield ("number", detail), ""
        if len(form) > 2:
            yield ("ordinal", form[3:].lstrip("0")), ""


def _offered_by_number(value: Value) -> Iterator[tuple[Form, str]]:
    """Yield the other meanings of a number: without its minus ("a refund of $5"), a place, the number of a label."""
    if value.form.startswith("-"):
        yield ("number", value.form[1:]), value.detail
        return
    yield ("number" if value.kind == "ordinal" else "ordinal", value.form), ""
    if not value.detail:
        yield ("bare number", value.form), ""
