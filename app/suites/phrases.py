"""Features in words, as parts of sentences about sessions."""

from __future__ import annotations

from collections.abc import Sequence

from app.suites.features import PAIR_MARK, Feature, Kind

SHOWN_TOOLS = 4
"""Tools of an order that a sentence names."""
_TURNS = {"1": "1 turn", "2-3": "2 or 3 turns", "4-7": "4 to 7 turns", "8+": "8 turns or more"}
_LANGUAGES = {
    "ar": "Arabic",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "zh": "Chinese",
}


# By kind the verb of one session, that of several, and the rest, in which {} is the value in words.
_PHRASES: dict[Kind, tuple[str, str, str]] = {
    "order": ("calls", "call", "{}"),
    "tool": ("calls", "call", "`{}`"),
    "pair": ("calls", "call", "{}"),
    "effect": ("calls", "call", "{}"),
    "failed_tool": ("has", "have", "a failed call of `{}`"),
    "error": ("has", "have", "an error"),
    "refusal": ("has", "have", "a refusal"),
    "turns": ("has", "have", "{}"),
    "language": ("is", "are", "in {}"),
    "score": ("has", "have", "a low score"),
    "topic": ("is", "are", "about \u201c{}\u201d"),
}
_EFFECTS = {"none": "no tool", "write": "a tool that writes", "read": "only tools that read"}


def phrase(feature: Feature, *, one: bool = False) -> str:
    """Return what sessions with a feature do, such as "call only `refund_order`"; with `one`, what one session does."""
    singular, plural, rest = _PHRASES[feature.kind]
    return f"{singular if one else plural} {rest.format(_in_words(feature))}"


def named_tools(feature: Feature) -> set[str]:
    """Return the tools that the phrase of an order names."""
    groups = feature.value.split(PAIR_MARK)[:SHOWN_TOOLS]
    return {name for group in groups for name in group.split(", ")}


def _in_words(feature: Feature) -> str:
    value = feature.value
    match feature.kind:
        case "order":
            return f"only {_in_order(value.split(PAIR_MARK))}" if value else "no tool"
        case "pair":
            first, second = value.split(PAIR_MARK, 1)
            return f"{_names(second)} after {_names(first)}"
        case "effect":
            return _EFFECTS.get(value, value)
        case "turns":
            return _TURNS.get(value, value)
        case "language":
            return _LANGUAGES.get(value, value)
        case _:
            return value


def joined(parts: Sequence[str]) -> str:
    """Return an enumeration in words."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def percent(share: float) -> str:
    """Return a share in percent: one decimal below 10 %, and never 0 or 100 for what is not."""
    value = 100 * share
    if 0 < value < 0.1:
        return "less than 0.1 %"
    if value < 10:
        return f"{value:.1f}".removesuffix(".0") + " %"
    return "99 %" if 99 < value < 100 else f"{value:.0f} %"


def _in_order(groups: Sequence[str]) -> str:
    shown = [_names(group) for group in groups[:SHOWN_TOOLS]]
    more = len(groups) - SHOWN_TOOLS
    if more > 0:
        shown.append(f"{more} more" if more > 1 else "one more tool")
    return ", then ".join(shown) if len(shown) <= 2 else f"{', '.join(shown[:-1])} and then {shown[-1]}"


def _names(group: str) -> str:
    return joined([f"`{name}`" for name in group.split(", ")])
