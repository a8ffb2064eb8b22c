"""Markdown from models as HTML: elements without attributes, and text.

Links and pictures are shown as text with their addresses. HTML is shown as its source.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyromark
from markupsafe import Markup, escape

from app.values.storable import storable_text

DEPTH_MAX = 24
# The parser blocks all other threads, and rendering costs some microseconds per mark.
MARKS_MAX = 40_000
CELLS_MAX = 20_000
_MARKS = "\n\\`*_~[]()<>&!#|-+"
_OPTIONS = pyromark.Options.ENABLE_STRIKETHROUGH
# The page has its own headings above these.
_ELEMENTS = {
    "Paragraph": "p",
    "BlockQuote": "blockquote",
    "CodeBlock": "pre",
    "Item": "li",
    "Emphasis": "em",
    "Strong": "strong",
    "Strikethrough": "s",
    "Table": "table",
    "TableHead": "tr",
    "TableRow": "tr",
    "TableCell": "td",
} | {f"H{level}": f"h{min(6, level + 3)}" for level in range(1, 7)}
_ADDRESSED = ("Link", "Image")


def to_html(text: str) -> Markup:
    """Render a text. Containers nested deeper than `DEPTH_MAX` are shown without their elements.

    A text of more than `MARKS_MAX` marks is shown as its source, and so are tables of more than `CELLS_MAX` cells.
    """
    text = storable_text(text)
    if sum(map(text.count, _MARKS)) > MARKS_MAX:
        return Markup("<pre>{}</pre>").format(text)
    options = _OPTIONS | pyromark.Options.ENABLE_TABLES if _cells_in(text) <= CELLS_MAX else _OPTIONS
    return Markup("").join(_pieces(pyromark.events(text, options=options, merge_text=True)))


def _cells_in(text: str) -> int:
    """Return an upper bound of the cells in tables: the parser gives each row as many as the first row has."""
    rows = text.splitlines()
    return max((row.count("|") for row in rows), default=0) * len(rows)


def _pieces(events: Any) -> Iterator[Markup]:
    open_elements: list[tuple[str, str]] = []
    for event in events:
        name, value = _named(event)
        if name == "Start":
            element, address = _element(value)
            shown = element if len(open_elements) < DEPTH_MAX else ""
            open_elements.append((shown, address))
            yield Markup("<{}>").format(shown) if shown else Markup()
        elif name == "End":
            element, address = open_elements.pop()
            yield escape(f" ({address})" if address else "")
            yield Markup("</{}>").format(element) if element else Markup()
        else:
            yield _leaf(name, value)


def _named(event: Any) -> tuple[str, Any]:
    """Return the name of an event or a tag, and its value or None."""
    return next(iter(event.items())) if isinstance(event, dict) else (event, None)


def _element(tag: Any) -> tuple[str, str]:
    """Return the element of a tag, or "", and the address to show after its text."""
    name, value = _named(tag)
    if name in _ADDRESSED:
        return "", "" if value["link_type"] in ("Autolink", "Email") else value["dest_url"]
    if name == "List":
        return ("ul" if value is None else "ol"), ""
    return _ELEMENTS.get(value["level"] if name == "Heading" else name, ""), ""


def _leaf(name: str, value: Any) -> Markup:
    match name:
        case "Code":
            return Markup("<code>{}</code>").format(value)
        case "SoftBreak":
            return Markup("\n")
        case "HardBreak":
            return Markup("<br>")
        case "Rule":
            return Markup("<hr>")
        case _:
            return escape(value if isinstance(value, str) else "")
