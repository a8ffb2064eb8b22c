"""The filters of the templates, which format values for people: each with its unit, times relative and exact."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from app.models.language_models import LanguageModel
from app.timestamps import iso
from app.web import labels

_BYTES = ("bytes", "kB", "MB", "GB", "TB")
_AGES = (("day", 86_400), ("hour", 3_600), ("minute", 60))


def number(value: float) -> str:
    """Formats a number with separators: 1234567 → 1,234,567."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def usd(value: float) -> str:
    """Formats US dollars, with two decimals from a cent up and two significant digits below: $1,204.50, $0.0042, $0."""
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 0.01 else f"${value:.2g}" if value >= 0.0001 else "<$0.0001"


def percent(share: float) -> str:
    """Formats a share of 0 to 1: 0.934 → 93 %. Only 1 is 100 %, and only 0 is 0 %."""
    return f"{round(share * 100) if share in (0, 1) else min(99, max(1, round(share * 100)))} %"


def duration(ms: float) -> str:
    """Formats a duration given in milliseconds: 0.4 ms, 340 ms, 1.2 s, 2 min 3 s, 1 h 5 min."""
    if ms < 1000:
        return f"{ms:.0f} ms" if ms >= 10 or ms == 0 else f"{ms:.1f} ms"
    seconds = ms / 1000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def size(count: int) -> str:
    """Formats a number of bytes: 1234 → 1.2 kB."""
    amount, unit = float(count), 0
    while amount >= 999.5 and unit < len(_BYTES) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f} {_BYTES[unit]}" if unit else plural(count, "byte")


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Formats a count with its noun: 1, "turn" → 1 turn; 1200, "turn" → 1,200 turns."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def exact(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def from_ns(ns: int) -> datetime:
    """Converts Unix nanoseconds to a time, cut to milliseconds."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ns // 1_000_000)


def relative_to(now: Callable[[], datetime]) -> Callable[[datetime], str]:
    """Make the filter that formats a time as its distance from now: 5 minutes ago, in 2 days."""

    def relative(when: datetime) -> str:
        seconds = (now() - when).total_seconds()
        count = abs(seconds)
        if count < 45:
            return "just now" if seconds >= 0 else "in a moment"
        if count >= 30 * 86_400:
            return f"{when.day} {when:%b %Y}"
        for noun, length in _AGES:
            if count >= length * 0.95:
                distance = plural(max(1, round(count / length)), noun)
                return f"{distance} ago" if seconds > 0 else f"in {distance}"
        return "1 minute ago" if seconds > 0 else "in 1 minute"

    return relative


def pretty(value: Any) -> str:
    """Formats a JSON value as indented text; text stays as it is."""
    return value if isinstance(value, str) else indented(value)


def indented(value: Any, *, sort_keys: bool = False) -> str:
    """A JSON value as text, also one that orjson refuses: an integer over 64 bits, half a surrogate pair."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | (orjson.OPT_SORT_KEYS if sort_keys else 0)).decode()
    except orjson.JSONEncodeError:
        return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=sort_keys)


def short(commit_hash: str) -> str:
    """Shortens a hash or id to its first 8 characters, enough to tell it from others."""
    return commit_hash[:8]


def model(used: LanguageModel) -> str:
    """Formats a model as its name and its vendor's."""
    return labels.model(used.name, used.vendor)


def tool_name(tool: str | Mapping[str, object]) -> str:
    """Finds the name of a recorded tool, which is a name or a definition."""
    return tool if isinstance(tool, str) else str(tool.get("name", ""))


_ALL = (duration, exact, from_ns, iso, model, number, percent, plural, pretty, short, size, tool_name, usd)
FILTERS: dict[str, Callable[..., Any]] = {each.__name__: each for each in _ALL}
