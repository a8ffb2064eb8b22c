"""How values are written for people: each with its unit, times relative and exact."""

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
    """1234567 → 1,234,567."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def usd(value: float) -> str:
    """Two decimals from a cent up, two significant digits below: $1,204.50, $0.0042, $0."""
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 0.01 else f"${value:.2g}" if value >= 0.0001 else "<$0.0001"


def percent(share: float) -> str:
    """0.934 → 93 %; only what is all is 100 %, only what is nothing 0 %."""
    return f"{round(share * 100) if share in (0, 1) else min(99, max(1, round(share * 100)))} %"


def duration(ms: float) -> str:
    """A time in milliseconds: 0.4 ms, 340 ms, 1.2 s, 2 min 3 s, 1 h 5 min."""
    if ms < 1000:
        return f"{ms:.0f} ms" if ms >= 10 or ms == 0 else f"{ms:.1f} ms"
    seconds = ms / 1000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def size(count: int) -> str:
    """1234 bytes → 1.2 kB."""
    amount, unit = float(count), 0
    while amount >= 999.5 and unit < len(_BYTES) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f} {_BYTES[unit]}" if unit else plural(count, "byte")


def plural(count: int, noun: str, nouns: str = "") -> str:
    """1, "turn" → 1 turn; 1200, "turn" → 1,200 turns."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def exact(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def from_ns(ns: int) -> datetime:
    """Unix nanoseconds as a time, in milliseconds."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ns // 1_000_000)


def relative_to(now: Callable[[], datetime]) -> Callable[[datetime], str]:
    """The filter that says how long ago a time was, or how far off it is."""

    def relative(when: datetime) -> str:
        seconds = (now() - when).total_seconds()
        count = abs(seconds)
        if count < 45:
            return "just now" if seconds >= 0 else "in a moment"
        if count >= 30 * 86_400:
            return f"{when.day} {when:%b %Y}"
        for noun, length in _AGES:
            if count >= length * 0.95:
                spoken = plural(max(1, round(count / length)), noun)
                return f"{spoken} ago" if seconds > 0 else f"in {spoken}"
        return "1 minute ago" if seconds > 0 else "in 1 minute"

    return relative


def pretty(value: Any) -> str:
    """A JSON value as indented text; text stays as it is."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:  # an integer over 64 bits, half a surrogate pair
        return json.dumps(value, indent=2, ensure_ascii=False)


def short(commit_hash: str) -> str:
    """The first characters of a hash or id, enough to tell it from others."""
    return commit_hash[:8]


def model(used: LanguageModel) -> str:
    """A model's name with its vendor's."""
    return labels.model(used.name, used.vendor)


def tool_name(tool: str | Mapping[str, object]) -> str:
    """The name of a recorded tool, which is a name or a definition."""
    return tool if isinstance(tool, str) else str(tool.get("name", ""))


FILTERS: dict[str, Callable[..., Any]] = {
    "duration": duration,
    "exact": exact,
    "from_ns": from_ns,
    "iso": iso,
    "model": model,
    "number": number,
    "percent": percent,
    "plural": plural,
    "pretty": pretty,
    "short": short,
    "size": size,
    "tool_name": tool_name,
    "usd": usd,
}
