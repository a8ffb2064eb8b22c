"""The numbers that German, Italian and Spanish write as one word of several: fünfhundert, venticinque, veintidós."""

from __future__ import annotations

from collections.abc import Iterator

from app.replay.texts.vocabulary import words

_GERMAN = words(
    "ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn"
    " achtzehn neunzehn"
)
_GERMAN_TENS = words("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
_ITALIAN = words(
    "uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette"
    " diciotto diciannove"
)
_ITALIAN_TENS = words("venti trenta quaranta cinquanta sessanta settanta ottanta novanta")
_SPANISH = words("uno dos tres cuatro cinco seis siete ocho nueve")
_SPANISH_FORMS = {"veintiún": 21, "veintiuna": 21, "veintidós": 22, "veintitrés": 23, "veintiséis": 26}


def _german() -> Iterator[tuple[str, int]]:
    low = [*enumerate(_GERMAN, 1)]
    for ten, name in enumerate(_GERMAN_TENS, 2):
        low += [(10 * ten, name), *((10 * ten + one, f"{_GERMAN[one - 1]}und{name}") for one in range(1, 10))]
    yield from ((name, number) for number, name in low)
    for hundred, prefix in (*enumerate(_GERMAN[:9], 1), (1, "")):
        yield f"{prefix}hundert", 100 * hundred
        for number, name in (*low, (1, "eins")):
            yield f"{prefix}hundert{name}", 100 * hundred + number
            yield f"{prefix}hundertund{name}", 100 * hundred + number


def _italian() -> Iterator[tuple[str, int]]:
    low = [*enumerate(_ITALIAN, 1)]
    for ten, name in enumerate(_ITALIAN_TENS, 2):
        low.append((10 * ten, name))
        for one, unit in enumerate(_ITALIAN[:9], 1):
            low.append((10 * ten + one, (name[:-1] if unit[0] in "uo" else name) + unit))
    low += [(number, f"{name[:-1]}é") for number, name in low if number > 20 and name.endswith("tre")]
    yield from ((name, number) for number, name in low)
    for hundred, prefix in ((1, ""), *enumerate(_ITALIAN[1:9], 2)):
        yield f"{prefix}cento", 100 * hundred
        yield from ((f"{prefix}cento{name}", 100 * hundred + number) for number, name in low)
        yield from ((f"{prefix}cent{name}", 100 * hundred + number) for number, name in low if name[0] == "o")


def _under_a_thousand() -> dict[str, int]:
    numbers = {f"veinti{one}": 20 + number for number, one in enumerate(_SPANISH, 1)} | _SPANISH_FORMS
    numbers |= dict(_italian()) | dict(_german())
    return numbers | {name.replace("ß", "ss"): number for name, number in numbers.items() if "ß" in name}


_UNDER_A_THOUSAND = _under_a_thousand()
# Words for a thousand inside of words: zweitausend, duemila, millecinquecento.
_THOUSANDS = words("tausendund tausend mila mille")


def compound(word: str) -> int | None:
    """Return the number under a million that is one word of several, in lower case; None for other words."""
    if (number := _UNDER_A_THOUSAND.get(word)) is not None:
        return number
    for thousand in _THOUSANDS:
        before, found, after = word.partition(thousand)
        if found:
            many = _UNDER_A_THOUSAND.get(before, 0) if before else 1
            rest = _UNDER_A_THOUSAND.get(after, 0) if after else 0
            return many * 1_000 + rest if many and (rest or not after) and (before or after) else None
    return None
