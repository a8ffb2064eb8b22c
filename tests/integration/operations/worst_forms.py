"""The forms of pages as a browser sends them: with their values, each box ticked, and text in each required field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode, urlsplit

from app.http.route_table import RoutedApp

TEXTS = {"email": "member@example.org", "number": "1", "url": "https://hook.invalid/", "time": "03:00"}
"""What is entered into empty fields that are required, by their type."""
PARAMETER = re.compile(r"\{[^}]+\}")


@dataclass(slots=True)
class SentForm:
    """A form: its fields in the order of the page, which a name may have several times."""

    action: str
    is_post: bool
    fields: list[tuple[str, str]] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return urlencode(self.fields).encode()


class FormReader(HTMLParser):
    """Reads the forms of a page. Of several buttons the first one is pressed, as by the Enter key."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[SentForm] = []
        self._text = text
        self._open: SentForm | None = None
        self._area: list[str] | None = None
        self._is_required = False
        self._select, self._has_choice, self._has_button = "", False, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = SentForm(given.get("action", ""), given.get("method", "").lower() == "post")
            self.forms.append(self._open)
            self._has_button = False
        elif self._open is None or "disabled" in given:
            return
        elif tag == "select":
            self._select, self._has_choice = given.get("name", ""), False
        elif tag == "option":
            self._choose(given)
        elif name := given.get("name", ""):
            self._enter(self._open, tag, name, given)

    def _choose(self, given: dict[str, str]) -> None:
        """Choose an option that is selected, else the first one."""
        assert self._open
        if self._has_choice and "selected" in given:
            self._open.fields.pop()
        if self._select and (not self._has_choice or "selected" in given):
            self._open.fields.append((self._select, given.get("value", "")))
            self._has_choice = True

    def _enter(self, form: SentForm, tag: str, name: str, given: dict[str, str]) -> None:
        kind, value = given.get("type", "text"), given.get("value", "")
        if tag == "textarea":
            form.fields.append((name, ""))
            self._area, self._is_required = [], "required" in given
        elif tag == "button" and not self._has_button:
            self._has_button = True
            form.fields.append((name, value))
        elif tag == "input" and kind == "checkbox":
            form.fields.append((name, value or "on"))
        elif tag == "input" and kind == "radio":
            if "checked" in given or name not in dict(form.fields):
                form.fields = [pair for pair in form.fields if pair[0] != name] + [(name, value)]
        elif tag == "input" and kind == "hidden":
            form.fields.append((name, value))
        elif tag == "input" and kind not in ("file", "submit"):
            form.fields.append((name, value or (TEXTS.get(kind, self._text) if "required" in given else "")))

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self._area.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area is not None and self._open:
            name, entered = self._open.fields[-1][0], self._text if self._is_required else ""
            self._open.fields[-1] = (name, "".join(self._area) or entered)
            self._area = None
        elif tag == "select":
            self._select = ""
        elif tag == "form":
            self._open = None


def filled_forms(app: RoutedApp, pages: Iterable[tuple[str, str]], text: str) -> dict[str, SentForm]:
    """Return, by the route that it is sent to, the form with the most fields of the pages (path, HTML)."""
    templates = {template: _pattern(template) for template in _sorted_paths(app)}
    forms: dict[str, SentForm] = {}
    for path, html in pages:
        reader = FormReader(text)
        reader.feed(html)
        for form in reader.forms:
            action = urlsplit(form.action or path).path
            template = next((name for name, pattern in templates.items() if pattern.fullmatch(action)), None)
            if (
                form.is_post
                and template
                and len(form.fields) > len(forms[template].fields if template in forms else ())
            ):
                forms[template] = form
    return forms


def _sorted_paths(app: RoutedApp) -> Iterator[str]:
    """Yield the paths of forms, those with the fewest parameters first."""
    paths = {route.path for route in app.routes if "POST" in route.responders}
    yield from sorted(paths, key=lambda path: (path.count("{"), path))


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile("[^/]+".join(map(re.escape, PARAMETER.split(template))))
