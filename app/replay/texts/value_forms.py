"""The forms of values: spellings by which a value of one text is recognized in another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from app.replay.texts.value_kinds import Value

Form = tuple[str, str]  # what kind of form it is, and the form


class FormSet:
    """A set of forms in which values are looked up; `value in forms` is True if a form in it may mean the value."""

    def _occurs(self, form: Form) -> bool:
        """Return True if a form occurs, with any detail or without one."""
        raise NotImplementedError

    def _occurs_with(self, form: Form, detail: str) -> bool:
        """Return True if a form occurs with a detail, such as a unit; "" is that of a form without one."""
        raise NotImplementedError

    def __contains__(self, value: Value) -> bool:
        return any(self._holds(form, value.detail) for form in _accepted(value))

    def has_one_reading(self, value: Value) -> bool:
        """Return True if a value occurs in a form that has one reading."""
        return self._holds((value.space, value.form), value.detail)

    def has_exact_detail(self, value: Value) -> bool:
        """Return True if a value occurs with its exact unit or year."""
        parts = value.detail.split("|")
        return any(self._occurs_with(form, part) for form in _accepted(value) for part in parts)

    def has_other_detail(self, value: Value) -> bool:
        """Return True if a value occurs in its form, but always with another detail."""
        return value not in self and replace(value, detail="") in self

    def _holds(self, form: Form, detail: str) -> bool:
        if not detail or self._occurs_with(form, ""):
            return self._occurs(form)
        return any(self._occurs_with(form, part) for part in detail.split("|"))


class Forms(FormSet):
    """The forms of many values, and the place of the first text that has each of them."""

    def __init__(self, values: Iterable[Value] = ()) -> None:
        self._places: dict[Form, int] = {}
        self._places_with: dict[tuple[Form, str], int] = {}
        for value in values:
            self.add(value)

    def add(self, value: Value, place: int = 0) -> None:
        """Add a value of the text at a place, which is not before the places that were added already."""
        for form, detail in _offered(value):
            self._places.setdefault(form, place)
            for part in detail.split("|"):
                self._places_with.setdefault((form, part), place)

    def with_values(self, values: Iterable[Value], place: int) -> FormsBefore:
        """Add the values of the text at a place; return the forms up to this place."""
        for value in values:
            self.add(value, place)
        return self.before(place + 1)

    def before(self, place: int) -> FormsBefore:
        return FormsBefore(self, place)

    def occurs_before(self, place: int, form: Form) -> bool:
        """Return True if a form occurs in a text before a place."""
        return self._places.get(form, place) < place

    def occurs_with_before(self, place: int, form: Form, detail: str) -> bool:
        """Return True if a form occurs with a detail in a text before a place."""
        return self._places_with.get((form, detail), place) < place

    def _occurs(self, form: Form) -> bool:
        return form in self._places

    def _occurs_with(self, form: Form, detail: str) -> bool:
        return (form, detail) in self._places_with


class FormsBefore(FormSet):
    """The forms of the texts before a place; others may be added meanwhile."""

    def __init__(self, forms: Forms, place: int) -> None:
        self._forms, self._place = forms, place

    def _occurs(self, form: Form) -> bool:
        return self._forms.occurs_before(self._place, form)

    def _occurs_with(self, form: Form, detail: str) -> bool:
        return self._forms.occurs_with_before(self._place, form, detail)


def _accepted(value: Value) -> Iterator[Form]:
    """Yield the forms that may mean a value.

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
