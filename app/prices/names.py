"""The names of models. Instrumentations add a date, a path or a region to them, or write the name of a deployment.

A name is compared as its key: lower case, and one `-` for each run of other characters than letters and digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

PRICED_NAME_MAX = 255
"""Characters of a name that are compared."""
LONGEST = 2 * PRICED_NAME_MAX
"""Characters of a name that are cached: there may be blanks before the compared characters."""

_OTHER = re.compile(r"[^a-z0-9]+")
_GENERATION = re.compile(r"(?<![a-z0-9])gpt-?(\d)(?:-?(\d)(?=-|\Z))?")
_REGION = re.compile(r"\A(?:us-gov|us|eu|apac|ap|jp|au|ca|sa|global)\.(?=[a-z0-9]+\.)")
_VENDOR = re.compile(r"\A(?:anthropic|openai|google|deepseek|mistral|meta|cohere|amazon|xai)\.")
# Bedrock's own version, which is not part of the model's name.
_BEDROCK_VERSION = re.compile(r"-v\d+(?::\d+[a-z]*)+\Z")
# How OpenRouter chooses a host for the same model at the same price.
_ROUTE = re.compile(r":(?:nitro|floor|exacto|thinking|beta|extended|latest)\Z")
# The endings that do not change the price: a date, a number of a release, or the name of a channel.
_ENDING = re.compile(
    r"-(?:20\d\d-[01]\d-[0-3]\d|20\d\d[01]\d[0-3]\d|[01]\d-[0-3]\d|[01]\d-20\d\d|\d{3,4}|0"
    r"|latest|preview|exp|experimental|stable|default|v\d{1,2})\Z"
)
_ENDINGS_MAX = 4  # endings of a name that are removed one after the other
# "claude-4.5-sonnet" for "claude-sonnet-4-5", and the other way round.
_CLAUDE = (
    (re.compile(r"claude-(\d+(?:-\d)?)-(opus|sonnet|haiku)"), r"claude-\2-\1"),
    (re.compile(r"claude-(opus|sonnet|haiku)-(\d+(?:-\d)?)"), r"claude-\2-\1"),
)


def words_of(text: str) -> frozenset[str]:
    """Return the words of a provider's name: `azure.ai.openai` has three."""
    return frozenset(_OTHER.split(text[:PRICED_NAME_MAX].lower())) - {""}


def key_of(name: str) -> str:
    """Return the key of a name, without its path, its region and what a host adds."""
    text = name.strip().lower()[:PRICED_NAME_MAX]
    if not text.startswith("ft:"):
        text = text.rsplit("/", 1)[-1].split("@", 1)[0]
        text = _VENDOR.sub("", _REGION.sub("", text))
        text = _ROUTE.sub("", _BEDROCK_VERSION.sub("", text))
    return _GENERATION.sub(_generation, _OTHER.sub("-", text).strip("-"))


def _generation(match: re.Match[str]) -> str:
    """Return the generation of a GPT model as in `gpt-3-5`.

    Azure allows no dots in names and calls gpt-3.5-turbo `gpt-35-turbo`; others write `gpt4o`.
    """
    return "-".join(filter(None, ("gpt", match[1], match[2])))


@lru_cache(maxsize=4096)
def keys_of(name: str) -> tuple[str, ...]:
    """Return the keys under which a model may be known, the most exact first: as written, then without its date.

    Callers pass at most `LONGEST` characters, because the cache keeps the name.
    """
    keys: dict[str, None] = {}
    key: str | None = key_of(name)
    for _ in range(_ENDINGS_MAX):
        if not key:
            break
        keys |= dict.fromkeys((key, *_claude_orders(key)))
        key = shorter if (shorter := _ENDING.sub("", key)) != key else None
    return tuple(keys)


def _claude_orders(key: str) -> Iterator[str]:
    """Yield the key of a Claude model with its version before and after its family, if it has both."""
    for pattern, form in _CLAUDE:
        if pattern.fullmatch(key):
            yield pattern.sub(form, key)


# Words that make a deployment's model another, dearer model than the one in the deployment's name.
_OTHER_MODELS = words_of(
    "audio chat codex embedding ft image instruct live max mini nano pro realtime research search transcribe tts turbo "
    "vision"
)


def model_of_deployment(key: str, known: Iterable[str]) -> str | None:
    """Return the longest of the `known` keys in a deployment's key; None without one, or if it may be another model."""
    named = f"-{key}-"
    longest = max((known_key for known_key in known if f"-{known_key}-" in named), key=len, default=None)
    if longest is None:
        return None
    rest = named.replace(f"-{longest}-", "-", 1).split("-")
    return None if _OTHER_MODELS.intersection(rest) else longest
