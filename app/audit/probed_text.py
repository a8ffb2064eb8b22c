"""What an operator may read: a text of a recorded step, and the conversation around it."""

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
    """A number, text or truth value in JSON; `key` is the last name on the way to it."""

    path: tuple[str | int, ...]
    value: Any

    @property
    def key(self) -> str:
        return next((str(part) for part in reversed(self.path) if isinstance(part, str)), "")


def leaves_of(data: Any, budget: WorkBudget) -> Iterator[Leaf]:
    """Yield the leaves of JSON. Raises `OverBudget`."""
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
    """What operators may read of one test case.

    `texts` are the users' messages and the answers, `data` the arguments and results of calls. `others` are answers of
    other test cases.
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
        """The values of the whole conversation, each once."""
        texts = [*self.texts, *(str(leaf.value) for leaf in self.leaves if not isinstance(leaf.value, bool))]
        known: dict[tuple[str, str], FoundValue] = {}
        for text in texts:
            spend_on(self.budget, text)
            known.update(((value.kind, value.text), value) for value in values_of(text))
        return list(known.values())

    @cached_property
    def instruction_lines(self) -> list[str]:
        """The sentences of the instruction that have at least four words."""
        spend_on(self.budget, self.instruction)
        return [line.text for line in sentences_of(self.instruction) if len(line.text.split()) > 3]

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """The names in the calls' arguments and results, by their key."""
        names: dict[str, dict[str, None]] = {}
        for leaf in self.leaves:
            if isinstance(leaf.value, str) and is_name(leaf.value):
                names.setdefault(leaf.key, {})[leaf.value] = None
        return {key: list(values) for key, values in names.items()}


def is_name(text: str) -> bool:
    """Return True for one to four words without digits, of which the first has a capital."""
    words = text.split() if len(text) <= _NAME_MAX else []
    return 1 <= len(words) <= 4 and words[0][0].isupper() and all(WORD.fullmatch(word.rstrip(".")) for word in words)


@dataclass(frozen=True)
class ProbedText:
    """A text to change, and what its turn has: the user's message, and the results of its calls before the text."""

    text: str
    user: str
    results: Sequence[Any]
    conversation: Conversation

    @cached_property
    def language(self) -> LanguageWords | None:
        """The language of the text; that of the user's message if the text is too short."""
        return language_of(self.text) or language_of(self.user)

    @cached_property
    def values(self) -> list[FoundValue]:
        return list(values_of(self.text))


def spend_on(budget: WorkBudget, text: str) -> None:
    """Spend a step for each character of a text that an operator reads. Raises `OverBudget`."""
    budget.spend(1 + len(text))
