"""What operators read: the text of a recorded step, and the conversation around it (see `app/audit/__init__.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from app.audit.languages import WORD, LanguageWords, language_of
from app.audit.tokens import FoundValue, sentences_of, values_of
from app.values.budget import UNLIMITED, WorkBudget

_STEPS_PER_LEAF = 2
_NAME_MAX = 60  # characters


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number, text or truth value in JSON, with its path of keys and indexes; `key` is the last key of the path."""

    path: tuple[str | int, ...]
    value: Any

    @property
    def key(self) -> str:
        return next((str(part) for part in reversed(self.path) if isinstance(part, str)), "")


def leaves_of(data: Any, budget: WorkBudget) -> Iterator[Leaf]:
    """Yield the leaves of a JSON value in document order, without nulls. Raises `OverBudget`."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), data)]
    while stack:
        path, value = stack.pop()
        budget.spend(_STEPS_PER_LEAF + len(path))
        if isinstance(value, Mapping):
            stack += [((*path, key), item) for key, item in reversed(list(value.items()))]
        elif isinstance(value, list):
            stack += [((*path, index), value[index]) for index in reversed(range(len(value)))]
        elif value is not None:
            yield Leaf(path, value)


@dataclass(frozen=True)
class Conversation:
    """What operators read of one test case.

    `instruction` is the prompt's text. `texts` are the user's messages and the answers of all turns, and `data` are the
    arguments and results of all calls, as JSON. `others` are answers of other test cases.
    """

    instruction: str
    texts: Sequence[str]
    data: Sequence[Any]
    others: Sequence[str] = ()
    budget: WorkBudget = field(default=UNLIMITED, repr=False, compare=False)

    @cached_property
    def leaves(self) -> list[Leaf]:
        return [leaf for data in self.data for leaf in leaves_of(data, self.budget)]

    @cached_property
    def values(self) -> list[FoundValue]:
        """The numbers, dates and other values of the whole conversation, without repetition."""
        texts = [*self.texts, *(str(leaf.value) for leaf in self.leaves if not isinstance(leaf.value, bool))]
        known: dict[tuple[str, str], FoundValue] = {}
        for text in texts:
            spend_on(self.budget, text)
            known.update(((value.kind, value.text), value) for value in values_of(text))
        return list(known.values())

    @cached_property
    def instruction_sentences(self) -> list[str]:
        """The sentences of the instruction that have at least four words."""
        spend_on(self.budget, self.instruction)
        return [sentence.text for sentence in sentences_of(self.instruction) if len(sentence.text.split()) > 3]

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """The names in the arguments and results of calls (see `is_name`), by the key that has them."""
        names: dict[str, dict[str, None]] = {}
        for leaf in self.leaves:
            if isinstance(leaf.value, str) and is_name(leaf.value):
                names.setdefault(leaf.key, {})[leaf.value] = None
        return {key: list(values) for key, values in names.items()}


def is_name(text: str) -> bool:
    """Return True for one to four words without digits, of which the first begins with a capital."""
    words = text.split() if len(text) <= _NAME_MAX else []
    return 1 <= len(words) <= 4 and words[0][0].isupper() and all(WORD.fullmatch(word.rstrip(".")) for word in words)


@dataclass(frozen=True)
class ProbedText:
    """The text of a recorded step, which operators change, and what came before it in its turn.

    `user` is the user's message, and `results` are the results of the calls before the text.
    """

    text: str
    user: str
    results: Sequence[Any]
    conversation: Conversation

    @cached_property
    def language(self) -> LanguageWords | None:
        """The language of the text, or of the user's message if the text is too short; None if neither is known."""
        return language_of(self.text) or language_of(self.user)

    @cached_property
    def values(self) -> list[FoundValue]:
        return list(values_of(self.text))


def spend_on(budget: WorkBudget, text: str) -> None:
    """Spend a step for each character of a text that an operator reads. Raises `OverBudget`."""
    budget.spend(1 + len(text))
