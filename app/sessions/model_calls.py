"""The calls of the models of turns and sessions, which add up and to which prices are applied.

The tokens of sound and of images in a call are counted apart, because vendors price them apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import msgspec

from app.otlp.normalise.modalities import ModalityTokens
from app.prices.book import PriceBook
from app.prices.types import Bill, CalledModel, size_of, size_of_modality, total
from app.sessions.bounds import count_within
from app.sessions.types import Usage
from app.values.structs import decoder

MAX_NAMES = 100
"""Models, versions and tools kept of a turn: its facts are read and written again with each batch that adds to it."""
NAMES_BYTES = 4 * 1024
"""Bytes of UTF-8, and up to one name more, of the models, versions, tools, failed tools or calls kept of a turn."""
SESSION_CALLS_MAX = 400
"""Sums by model and size that are kept of a session."""
_SESSION_BYTES = 64 * 1024
"""Bytes of UTF-8 of their names, and up to one name more."""
_SUMS_MAX = 2 * SESSION_CALLS_MAX
"""Sums that are in memory before those beyond `SESSION_CALLS_MAX` lose their names."""


class ModelCalls(msgspec.Struct, frozen=True, array_like=True):
    """The calls of one model with prompts of one size, and their usage, to which a price is applied.

    `model` is the one that answered; the names of a turn's models beyond `MAX_NAMES` or `NAMES_BYTES` are not kept.
    The `size` of the tokens of one modality is a `size_of_modality`; `calls` is 0 unless they are text.
    """

    provider: str
    model: str
    size: int
    calls: int
    usage: Usage

    @property
    def key(self) -> tuple[str, str, int]:
        return (self.provider, self.model, self.size)

    def bill(self, prices: PriceBook) -> Bill:
        return prices.bill(CalledModel(self.provider, self.model), self.usage.tokens, self.size)


_Sums = dict[tuple[str, str, int], ModelCalls]
"""Sums by `ModelCalls.key`."""


def calls_of(provider: str, model: str, usage: Usage, modalities: Iterable[ModalityTokens] | None) -> list[ModelCalls]:
    """Return a call's tokens of text and of each other modality; their sum is the usage.

    With None the modalities of the tokens are not known.
    """
    size = size_of(usage.input_tokens)
    if modalities is None:
        return [ModelCalls(provider, model, size, 1, usage)]
    parts = []
    for part in modalities:
        prompt, completion = min(part.prompt, usage.input_tokens), min(part.completion, usage.output_tokens)
        cached = min(part.cache_read, prompt, usage.cache_read_tokens)
        if prompt or completion:
            tokens = Usage(prompt, completion, cached)
            parts.append(ModelCalls(provider, model, size_of_modality(part.modality, size), 0, tokens))
            usage -= tokens
    return [ModelCalls(provider, model, size_of_modality("text", size), 1, usage), *parts]


def summed(calls: Iterable[ModelCalls], most: int = MAX_NAMES, most_bytes: int = NAMES_BYTES) -> tuple[ModelCalls, ...]:
    """Return the sums by model and size, in their order; those beyond `most` or the bytes are one sum without a name.

    A model that is left out once stays so, as those before it do not leave: the order of batches does not matter.
    """
    sums: _Sums = {}
    for model_calls in calls:
        _add(sums, model_calls)
    return _within(sums, most, most_bytes)


def _add(sums: _Sums, model_calls: ModelCalls) -> None:
    known = sums.get(key := model_calls.key)
    sums[key] = _plus(known, model_calls) if known else model_calls


def _within(sums: _Sums, most: int, most_bytes: int) -> tuple[ModelCalls, ...]:
    if len(sums) > 1:  # most turns and sessions have one model
        named = sorted(sums.keys() - {_UNNAMED.key})
        for key in named[count_within(named, _bytes_of, most=most, most_bytes=most_bytes) :]:
            sums[_UNNAMED.key] = _plus(sums.get(_UNNAMED.key, _UNNAMED), sums.pop(key))
    return tuple([sums[key] for key in sorted(sums)])


def _bytes_of(key: tuple[str, str, int]) -> int:
    return len(key[0].encode()) + len(key[1].encode())


_NOTHING = Usage()
_UNNAMED = ModelCalls("", "", 0, 0, _NOTHING)


def _plus(first: ModelCalls, other: ModelCalls) -> ModelCalls:
    return ModelCalls(*first.key, first.calls + other.calls, first.usage + other.usage)


def difference(before: Iterable[ModelCalls], after: Iterable[ModelCalls]) -> tuple[ModelCalls, ...]:
    """Return what is to be added to sums with the calls of `before` so that they have those of `after`."""
    return _not_zero(summed([*after, *[_negative(calls) for calls in before]], 2 * MAX_NAMES, 4 * NAMES_BYTES))


def _negative(calls: ModelCalls) -> ModelCalls:
    return ModelCalls(*calls.key, -calls.calls, Usage() - calls.usage)


def _not_zero(calls: Iterable[ModelCalls]) -> tuple[ModelCalls, ...]:
    return tuple([model_calls for model_calls in calls if model_calls.calls or model_calls.usage != _NOTHING])


class CallSums:
    """Adds up the calls of the turns of a session, to at most `SESSION_CALLS_MAX` sums by model and size.

    Further ones are one sum without a name, to which no price is applied.
    """

    def __init__(self, calls: Iterable[ModelCalls] = ()) -> None:
        self._sums: _Sums = {}
        self.add(calls)

    def add(self, calls: Iterable[ModelCalls], before: Iterable[ModelCalls] = ()) -> None:
        """Add calls, and subtract the ones that were added `before`."""
        for model_calls in chain(calls, map(_negative, before)) if before else calls:
            _add(self._sums, model_calls)
            if len(self._sums) > _SUMS_MAX:
                self._sums = {kept.key: kept for kept in _within(self._sums, SESSION_CALLS_MAX, _SESSION_BYTES)}

    @property
    def calls(self) -> tuple[ModelCalls, ...]:
        """The sums, in their order."""
        return _not_zero(_within(dict(self._sums), SESSION_CALLS_MAX, _SESSION_BYTES))

    @property
    def lines(self) -> bytes:
        """The sums as lines of JSON. Lines of several texts add up, also those of negative sums."""
        return _encode_lines(self.calls)

    @property
    def usage(self) -> Usage:
        return sum((calls.usage for calls in self._sums.values()), Usage())

    def bill(self, prices: PriceBook) -> Bill:
        return total(calls.bill(prices) for calls in self.calls)


_encode_lines = msgspec.json.Encoder().encode_lines
_decode = decoder(ModelCalls)


def calls_in(lines: bytes) -> CallSums:
    """Return the sums of lines that `CallSums.lines` has written; raises `msgspec.DecodeError` for other texts."""
    return CallSums(_decode(line) for line in lines.splitlines())
