"""Formats numbers and identifiers for people, each with its unit."""

from __future__ import annotations


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


def p_value(value: float) -> str:
    """Formats a p-value by the usual bounds: 0.003 → p < 0.01, 0.2 → p = 0.2."""
    return next((f"p < {bound:g}" for bound in (0.001, 0.01, 0.05) if value < bound), f"p = {value:.2g}")


def duration(ms: float) -> str:
    """Formats a duration given in milliseconds: 0.4 ms, 340 ms, 1.2 s, 2 min 3 s, 1 h 5 min."""
    if ms < 1000:
        return f"{ms:.0f} ms" if ms >= 10 or ms == 0 else f"{ms:.1f} ms"
    seconds = ms / 1000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Formats a count with its noun: 1, "turn" → 1 turn; 1200, "turn" → 1,200 turns."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def short(commit_hash: str) -> str:
    """Shortens a hash or id to its first 8 characters, enough to distinguish it from others."""
    return commit_hash[:8]
