"""Counts the tokens of sound and of images in a model call, which vendors price apart from those of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from app.otlp.normalise.convention import COUNT_MAX, SpanView
from app.otlp.normalise.tokens import COUNT_OBJECTS
from app.otlp.values import integer
from app.values.python_text import recorded_container

Modality = Literal["audio", "image"]
MODALITIES: tuple[Modality, ...] = get_args(Modality)
_CACHED = ("cached_tokens_details", "cache_tokens_details", "cacheTokensDetails")
# The objects with the parts of a count, by side; Google's are lists.
_DETAILS: tuple[tuple[str, ...], ...] = (
    ("prompt_tokens_details", "input_tokens_details", "input_token_details", "promptTokensDetails"),
    (
        *("completion_tokens_details", "output_tokens_details", "output_token_details"),
        *("candidates_tokens_details", "candidatesTokensDetails", "responseTokensDetails"),
    ),
    _CACHED,
)
_AROUND = ("usage", "usage_metadata", "usageMetadata")


class ModalityTokens(NamedTuple):
    """The tokens of one modality; `cache_read` is a part of `prompt`."""

    modality: Modality
    prompt: int
    completion: int
    cache_read: int


def _keys_of(modality: Modality) -> tuple[tuple[str, ...], ...]:
    """Return the attributes with the tokens of the prompt, of the completion, and read from a cache."""
    return (
        (
            f"gen_ai.usage.{modality}.input_tokens",
            f"gen_ai.usage.input_tokens.{modality}",
            f"gen_ai.usage.input_{modality}_tokens",
            f"gen_ai.usage.{modality}_input_tokens",
            f"gen_ai.usage.details.input_{modality}_tokens",
            f"gen_ai.usage.prompt_tokens_details.{modality}_tokens",
            f"gen_ai.usage.prompt_tokens_details.{modality}",
            f"llm.token_count.prompt_details.{modality}",
        ),
        (
            f"gen_ai.usage.{modality}.output_tokens",
            f"gen_ai.usage.output_tokens.{modality}",
            f"gen_ai.usage.output_{modality}_tokens",
            f"gen_ai.usage.{modality}_output_tokens",
            f"gen_ai.usage.details.output_{modality}_tokens",
            f"gen_ai.usage.completion_tokens_details.{modality}_tokens",
            f"gen_ai.usage.completion_tokens_details.{modality}",
            f"llm.token_count.completion_details.{modality}",
        ),
        (
            f"gen_ai.usage.{modality}.cache_read.input_tokens",
            f"gen_ai.usage.details.cache_{modality}_read_tokens",
        ),
    )


_KEYS = {modality: _keys_of(modality) for modality in MODALITIES}
_IN_OBJECTS = {
    modality: (
        (f"input_{modality}_tokens", f"input_{modality}", f"prompt_{modality}_tokens"),
        (f"output_{modality}_tokens", f"output_{modality}", f"completion_{modality}_tokens"),
        (f"cache_{modality}_read_tokens", f"cache_read_input_{modality}_tokens"),
    )
    for modality in MODALITIES
}
_ATTRIBUTES = frozenset(key for sides in _KEYS.values() for keys in sides for key in keys)
MODALITY_NAMES = _ATTRIBUTES.union(COUNT_OBJECTS)
"""The attributes of which a span has at least one, if it counts tokens of sound or of images."""


def modality_tokens(span: SpanView) -> tuple[ModalityTokens, ...] | None:
    """Return the tokens of each modality other than text, by the attributes of a call or else by its usage.

    Return None if the call recorded none of these counts, not even zero.
    """
    named = MODALITY_NAMES.intersection(span.attributes)
    if not _ATTRIBUTES.isdisjoint(named):
        counts = {name: [span.count(*keys) for keys in sides] for name, sides in _KEYS.items()}
        if (recorded := _of_counts(counts)) is not None:
            return recorded
    for key in COUNT_OBJECTS:
        if key in named and (recorded := _in_object(span.attributes[key])) is not None:
            return recorded
    return None


def _of_counts(counts: Mapping[Modality, Sequence[int | None]]) -> tuple[ModalityTokens, ...] | None:
    if all(count is None for sides in counts.values() for count in sides):
        return None
    return tuple(
        ModalityTokens(modality, prompt or 0, completion or 0, cached or 0)
        for modality, (prompt, completion, cached) in counts.items()
        if prompt or completion
    )


def _in_object(value: Any) -> tuple[ModalityTokens, ...] | None:
    # Most objects count no such tokens: they are not parsed.
    if isinstance(value, str) and not any(word in value for name in MODALITIES for word in (name, name.upper())):
        return None
    usage = recorded_container(value)
    if not isinstance(usage, dict):
        return None
    for key in _AROUND:
        inner = usage.get(key)
        usage = inner if isinstance(inner, dict) else usage
    return _of_counts({name: [_count(usage, name, side) for side in range(len(_DETAILS))] for name in MODALITIES})


def _count(usage: Mapping[str, Any], modality: Modality, side: int) -> int | None:
    """Return the tokens of a modality on a side: 0 is the prompt, 1 the completion, 2 what a cache had."""
    flat = (usage.get(name) for name in _IN_OBJECTS[modality][side])
    detailed = (_in_details(details, modality) for details in _details_of(usage, side))
    counts = (integer(count) for count in (*flat, *detailed))
    return next((count for count in counts if count is not None and 0 <= count <= COUNT_MAX), None)


def _details_of(usage: Mapping[str, Any], side: int) -> Iterator[Any]:
    yield from (usage[name] for name in _DETAILS[side] if name in usage)
    if side == len(_DETAILS) - 1:  # OpenAI's are within those of the prompt
        prompts = [usage[name] for name in _DETAILS[0] if isinstance(usage.get(name), dict)]
        yield from (prompt[name] for prompt in prompts for name in _CACHED if name in prompt)


def _in_details(details: Any, modality: Modality) -> Any:
    if isinstance(details, dict):
        return next((details[name] for name in (f"{modality}_tokens", modality) if name in details), None)
    for item in details if isinstance(details, list) else ():
        named = item.get("modality") if isinstance(item, dict) else None
        if isinstance(named, str) and named.rpartition(".")[2].lower() == modality:
            return item.get("tokenCount", item.get("token_count"))
    return None
