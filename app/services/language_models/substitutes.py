"""Chooses a usable model instead of the recorded model of an agent, where that cannot be used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from app.models.language_models import LanguageModel
from app.prices.names import LONGEST, key_of, keys_of
from app.providers.vendors import CUSTOM

_WORD = re.compile(r"[a-z]+")
_VERSION = re.compile(r"(\d{1,3})(?:-(\d)(?!\d))?")
# First words of names, and the first word under which the same vendor sells its other models.
_FAMILIES = {"chatgpt": "gpt", "o": "gpt"}


def substitute(
    name: str, models: Sequence[LanguageModel], credentials: Mapping[str, str], *, other_vendors: bool
) -> LanguageModel | None:
    """Return the usable model that is most like `name`, None if there is none.

    That is the same model under its plain name, or else one of the same family, such as GPT, if its vendor has a
    credential. With `other_vendors`, and if only one vendor has a credential, it may be any model of that vendor; but
    not if the credential is for a server of another address, which may have other models.

    `credentials` maps each vendor that has a credential to its base URL, "" for the vendor's own address.
    """
    usable = [model for model in models if model.usable and model.vendor != "BUILTIN"]
    by_key = {key_of(model.name): model for model in reversed(usable)}
    recorded = keys_of(name[:LONGEST])
    for key in recorded:
        if key in by_key:
            return by_key[key]
    sold = [model for model in usable if model.vendor in credentials and model.vendor != CUSTOM]
    if not recorded or not sold:
        return None
    family = [model for model in sold if _family(key_of(model.name)) == _family(recorded[-1])]
    if family:
        return _nearest(recorded[-1], family, by_version=True)
    vendors = {model.vendor for model in sold}
    if other_vendors and len(vendors) == 1 and not credentials[sold[0].vendor]:
        return _nearest(recorded[-1], sold, by_version=False)
    return None


def _nearest(key: str, models: Iterable[LanguageModel], *, by_version: bool) -> LanguageModel:
    """Return the model with the most words of the key, then the fewest others, then the version, then the price."""
    words, version = _words(key), _version(key)

    def distance(model: LanguageModel) -> tuple[int, int, float, float, str]:
        own = key_of(model.name)
        own_words = _words(own)
        versions = abs(_version(own) - version) if by_version else 0.0
        return -len(words & own_words), len(own_words - words), versions, model.completion_price, model.name

    return min(models, key=distance)


def _words(key: str) -> set[str]:
    """Return the words of a key but for its first, which names the family."""
    return set(_WORD.findall(key)[1:])


def _family(key: str) -> str:
    first = _WORD.match(key)
    return _FAMILIES.get(first[0], first[0]) if first else ""


def _version(key: str) -> float:
    found = _VERSION.search(key)
    return float(f"{found[1]}.{found[2] or 0}") if found else 0.0
