"""Filters of the templates. They format values with their units for people; times are relative and exact."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import orjson
from markupsafe import Markup, escape
from reprise_formats.experiment_summary import cost, failing
from reprise_formats.formats import duration, number, percent, plural, short, usd

from app.experiments.cron import cron_words
from app.models.language_models import LanguageModel
from app.timestamps import iso
from app.values.json import json_text
from app.web import labels
from app.web.zones import local

_BYTES = ("bytes", "kB", "MB", "GB", "TB")
_AGES = (("day", 86_400), ("hour", 3_600), ("minute", 60))


def size(count: int) -> str:
    """Format a number of bytes: 1234 → 1.2 kB."""
    amount, unit = float(count), 0
    while amount >= 999.5 and unit < len(_BYTES) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f} {_BYTES[unit]}" if unit else plural(count, "byte")


def exact(when: datetime) -> str:
    """Format a time to the second, with the abbreviation of its zone, or its distance from UTC."""
    return f"{local(when):%Y-%m-%d %H:%M:%S} {zone_name(when)}"


def zone_name(when: datetime) -> str:
    """Return the abbreviation of the shown zone at a time: CET; UTC+03 for zones that have none."""
    name = local(when).tzname() or "UTC"
    return f"UTC{name}" if name[0] in "+-" else name


def from_ns(ns: int) -> datetime:
    """Convert Unix nanoseconds to a time, truncated to milliseconds."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ns // 1_000_000)


def clock_of(now: Callable[[], datetime]) -> Callable[[datetime], str]:
    """Return a filter that formats a time as day and minute: 9 Mar, 14:05. Times of other years have the year."""

    def clock(when: datetime) -> str:
        shown = local(when)
        year = "" if shown.year == local(now()).year else f" {shown.year}"
        return f"{shown.day} {shown:%b}{year}, {shown:%H:%M}"

    return clock


def relative_to(now: Callable[[], datetime]) -> Callable[..., str]:
    """Return a filter that formats a time relative to now: 5 minutes ago, in 2 days.

    After 30 days it returns the date, unless `dated` is False.
    """

    def relative(when: datetime, *, dated: bool = True) -> str:
        seconds = (now() - when).total_seconds()
        count = abs(seconds)
        if count < 45:
            return "just now" if seconds >= 0 else "in a moment"
        if dated and count >= 30 * 86_400:
            return f"{local(when).day} {local(when):%b %Y}"
        for noun, length in _AGES:
            if count >= length * 0.95:
                distance = plural(max(1, round(count / length)), noun)
                return f"{distance} ago" if seconds > 0 else f"in {distance}"
        return "1 minute ago" if seconds > 0 else "in 1 minute"

    return relative


def pretty(value: Any) -> str:
    """Format a JSON value as indented text; text is returned unchanged."""
    return value if isinstance(value, str) else indented(value)


def indented(value: Any, *, sort_keys: bool = False) -> str:
    """Return a JSON value as text. Works also for values that orjson refuses: large integers, lone surrogates."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | (orjson.OPT_SORT_KEYS if sort_keys else 0)).decode()
    except orjson.JSONEncodeError:
        return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=sort_keys)


def model(used: LanguageModel) -> str:
    """Format a model with its vendor's name."""
    return labels.model(used.name, used.vendor)


def tool_name(tool: str | Mapping[str, object]) -> str:
    """Return the name of a recorded tool, given as a name or a definition."""
    return tool if isinstance(tool, str) else str(tool.get("name", ""))


def host(url: str) -> str:
    """Return the host of an address. The path is left out: it may be a secret."""
    return urlsplit(url).hostname or url


def shell_word(text: str) -> str:
    """Quote a text, so that a shell reads it as one word."""
    return shlex.quote(text)


def coded(sentence: str) -> Markup:
    """Mark what is between backticks as code. A sentence with an odd number of backticks is unchanged."""
    pieces = sentence.split("`")
    if len(pieces) % 2 == 0:
        return escape(sentence)
    return Markup().join(Markup("<code>{}</code>").format(text) if at % 2 else text for at, text in enumerate(pieces))


_ENDS = re.compile(r"(?<=[@._/:+-])(?=\w)")


def breakable(text: str) -> Markup:
    """Mark where the lines of a long word, such as an e-mail address or an id, may end: after its marks."""
    return Markup("<wbr>").join(_ENDS.split(text))


def detail(value: Any) -> str:
    """Format a detail of an entry in the audit log."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(detail, value)) or "none"
    if isinstance(value, dict):
        return json_text(value)
    return "none" if value is None else str(value)


_NUMBERS = (cost, duration, number, percent, plural, size, usd)
_TEXTS = (
    breakable,
    coded,
    cron_words,
    detail,
    exact,
    failing,
    host,
    iso,
    model,
    pretty,
    shell_word,
    short,
    tool_name,
    zone_name,
)
_ALL = (*_NUMBERS, *_TEXTS, from_ns)
FILTERS: dict[str, Callable[..., Any]] = {function.__name__: function for function in _ALL}
