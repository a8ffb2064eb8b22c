"""The words of `words.toml`, by which values are recognized."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

_WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(word.replace("_", " ") for word in _WORDS[name].split())


def _table(name: str) -> dict[str, str]:
    """Return meanings by word."""
    return {word.replace("_", " "): meaning for meaning, words in _WORDS[name].items() for word in words.split()}


CODES, LABELS, PLAIN_CODES = _words("codes"), _words("labels"), _words("plain_codes")
TITLES, NO_NAMES, GREETINGS, GERMAN = (_words(name) for name in ("titles", "no_names", "greetings", "german"))
NAME_KEYS, NO_NAME_KEYS = _words("name_keys"), _words("no_name_keys")
CAPITALISED_MONTHS, ARABIC_MONTHS = _table("months"), _table("arabic_months")
MONTHS = CAPITALISED_MONTHS | ARABIC_MONTHS | _table("months_elsewhere")
SIGNS, CURRENCIES, ZONES = _table("signs"), _table("currencies"), _table("zones")
SCALES = {word: int(zeros) for word, zeros in _table("scales").items()}
SCALE_LETTERS = {"k": 3, "m": 6, "b": 9}
"""Letters that scale an amount of money, as in $5M; without a currency only `k` does."""

_POWERS = {
    "²": "{0}² {0}2 {0}^2 sq{0} sq_{0} sq._{0} square_{0} quadrat{0} {0}_carré {0}_carrés {0}_cuadrados {0}_quadrati",
    "³": "{0}³ {0}3 {0}^3 cu{0} cu_{0} cu._{0} cubic_{0} kubik{0} {0}_cube {0}_cubes {0}_cúbicos {0}_cubi",
}
UNITS = _table("units") | {
    pattern.format(length).replace("_", " "): f"{unit}{power}"
    for length, unit in _table("lengths").items()
    for power, patterns in _POWERS.items()
    for pattern in patterns.split()
}
"""Units by word. Each word for a length makes one of an area and one of a volume."""
