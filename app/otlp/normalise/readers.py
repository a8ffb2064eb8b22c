"""What the names of a span's attributes decide: which conventions may have its facts, and which attributes are absent.

Most spans of a program have the same names, so that this is found out once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from app.otlp.names import TOOL_CALL_ID_KEYS, USER_KEYS
from app.otlp.normalise.convention import Convention, SpanView
from app.otlp.normalise.modalities import MODALITY_NAMES
from app.otlp.normalise.tokens import PART_NAMES, SERVED_MODEL_KEYS

Read = Callable[[SpanView], Any]
# Each fact that a convention reads, with the attribute of the convention that names the keys it is read from.
_FACTS = {
    "operation": "",
    "model": "model_keys",
    "provider": "provider_keys",
    "input_tokens": "input_token_keys",
    "output_tokens": "output_token_keys",
    "input_messages": "input_keys",
    "output_messages": "output_keys",
    "tool": "",
    "definitions": "",
}


def known_names(conventions: Sequence[Convention]) -> frozenset[str]:
    """Return the names of attributes that decide how a span is read."""
    keys = [getattr(convention, keys) for convention in conventions for keys in _FACTS.values() if keys]
    markers = [convention.markers for convention in conventions]
    return PART_NAMES.union(MODALITY_NAMES, SERVED_MODEL_KEYS, TOOL_CALL_ID_KEYS, USER_KEYS, *keys, *markers)


class Readers(dict[str, tuple[tuple[Read, str], ...]]):
    """By fact, the methods that read it from spans with the same known names, with the names of their conventions.

    `served_keys` are the spans' attributes that name the model which answered, and `call_id_keys` the attributes with
    the id of a tool's call. Spans without `names_parts` have no attribute that counts a part of the tokens, and spans
    without `names_user` none with a user. Spans without `names_modalities` count no tokens of sound or of images.
    """

    def __init__(self, conventions: Sequence[Convention], names: frozenset[str]) -> None:
        super().__init__()
        self._matching = [
            convention
            for convention in conventions
            if not convention.markers or not convention.markers.isdisjoint(names)
        ]
        self._names = names
        self.served_keys = tuple(filter(names.__contains__, SERVED_MODEL_KEYS))
        self.call_id_keys = tuple(filter(names.__contains__, TOOL_CALL_ID_KEYS))
        self.names_parts = not PART_NAMES.isdisjoint(names)
        self.names_modalities = not MODALITY_NAMES.isdisjoint(names)
        self.names_user = not names.isdisjoint(USER_KEYS)

    def __missing__(self, fact: str) -> tuple[tuple[Read, str], ...]:
        readers = self[fact] = tuple(self._reading(fact))
        return readers

    def _reading(self, fact: str) -> Iterator[tuple[Read, str]]:
        """Yield the conventions that have a method for a fact, or one of the attributes that they read it from."""
        for convention in self._matching:
            has_method = getattr(type(convention), fact) is not getattr(Convention, fact)
            keys = getattr(convention, _FACTS[fact]) if _FACTS[fact] else ()
            if has_method or not self._names.isdisjoint(keys):
                yield getattr(convention, fact), convention.name
