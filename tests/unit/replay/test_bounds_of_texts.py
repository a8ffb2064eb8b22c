"""Twice the text, at most about twice the steps, whatever the text is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.replay.code_forms import code_note
from app.replay.scalar_forms import scalar_form
from app.replay.shell_commands import command_reads
from app.replay.sql_statements import sql_reads
from app.replay.text_kinds import kind_of
from app.replay.texts.facts import compare_facts
from app.replay.texts.names import Names, find_names, names_of, plain_words, words_and_titled
from app.replay.texts.sources import Sources
from app.replay.texts.values import find_values
from app.replay.value_notes import LONGEST, text_note
from app.values.unicode import lowered
from tests.support.operations import calls_of, growth_of

pytestmark = pytest.mark.slow

LINEAR = 2.4
SIZE = 300

SHAPES: dict[str, Callable[[int], str]] = {
    "equal numbers": lambda n: "4711 " * n,
    "numbers that rise": lambda n: " ".join(map(str, range(1_000, 1_000 + n))),
    "numbers that fall": lambda n: " ".join(map(str, range(1_000 + n, 1_000, -1))),
    "one digit each": lambda n: " ".join(str(i % 10) for i in range(2 * n)),
    "one long number": lambda n: "7" * 8 * n,
    "amounts": lambda n: " ".join(f"${i}.50" for i in range(n)),
    "codes": lambda n: " ".join(f"CLM {1_000 + i}" for i in range(n)),
    "dates": lambda n: " ".join(f"0{i % 9 + 1}/0{i % 7 + 1}/2026" for i in range(n)),
    "times": lambda n: "10:30-" * n,
    "labels": lambda n: " ".join(f"Step {i}" for i in range(1, n)),
    "list": lambda n: "".join(f"{i % 900}. x\n" for i in range(n)),
    "one letter each": lambda n: "a " * 2 * n,
    "one long word": lambda n: "a" * 8 * n,
    "number words": lambda n: "twenty one " * n,
    "names": lambda n: " ".join(f"Aa{chr(97 + i % 26)} Bb" for i in range(n)),
    "apostrophes before a code": lambda n: "a'" * 3 * n + "a_",
    "hyphens before a code": lambda n: "a-" * 3 * n + "a_",
    "greetings": lambda n: "hi Anna " * n,
    "denials": lambda n: "no problem, not unless " * n,
    "limits": lambda n: "no more than the next 5 days " * n,
    "marks of Markdown": lambda n: "**`" * 2 * n,
    "marks that combine": lambda n: "e" + "\u0301\u0323" * 3 * n,
    "halves of pairs": lambda n: "\ud800 " * 3 * n,
    "addresses": lambda n: "a.b@c." * 2 * n,
    "URLs": lambda n: "https://a.b/c " * n,
    "lists in lists": lambda n: "[" * 60 + "1," * 4 * n + "1" + "]" * 60,
    "commands": lambda n: "ls -la | " * n + "wc",
    "quotes": lambda n: "'a' \"b\" -- c\n" * n,
    "statements": lambda n: "select a from b where c = 'd'; " * n,
    "lines of code": lambda n: "x = f(a);\n" * n,
    "paths": lambda n: "/a/../b/." * n,
    "white space": lambda n: "\xa0 \n" * 3 * n,
}  # fmt: skip

READERS: dict[str, Callable[[str], object]] = {
    "find_values": find_values,
    "plain_words": plain_words,
    "words_and_titled": words_and_titled,
    "names_of": lambda text: names_of(text, frozenset()),
    "find_names": lambda text: list(find_names(text, Names(frozenset({"Bb", "Anna", "a"})))),
    "lowered": lowered,
    "scalar_form": scalar_form,
    "kind_of": lambda text: kind_of("a", {}, text, "write"),
    "command_reads": command_reads,
    "sql_reads": sql_reads,
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_text_is_read_in_steps_that_grow_with_it(read: Callable[[str], object], shape: Callable[[int], str]) -> None:
    def prepare(size: int) -> Callable[[], object]:
        text = shape(size)
        return lambda: read(text)

    assert growth_of(prepare, SIZE, calls_of) < LINEAR


def sources_of(recorded: str, produced: str) -> Sources:
    return Sources(user=produced, results=[{"note": recorded}], messages=[recorded])


def facts(recorded: str, produced: str) -> object:
    return compare_facts(recorded, produced, sources_of(recorded, produced), with_users_values=True)


COMPARISONS: dict[str, Callable[[str, str], object]] = {
    "facts": facts,
    "code_note": code_note,
    "text_note": lambda recorded, produced: text_note(recorded[:LONGEST], produced[:LONGEST], "read", is_fixed=False),
}
PAIRS: dict[str, Callable[[int], tuple[str, str]]] = {
    **{f"{name} twice": lambda n, shape=shape: (shape(n), shape(n) + "!") for name, shape in SHAPES.items()},  # type: ignore[misc]
    "rising and falling": lambda n: (SHAPES["numbers that rise"](n), SHAPES["numbers that fall"](n)),
    "all different": lambda n: (SHAPES["amounts"](n), " ".join(f"€{i}.25" for i in range(n))),
    "one unit and another": lambda n: (" ".join(f"{i} kg" for i in range(n)), " ".join(f"{i} km" for i in range(n))),
    "day and month": lambda n: tuple(
        " ".join(f"{a}/{b}/{2000 + i}" for i in range(n)) for a, b in (("03", "04"), ("04", "03"))
    ),
}  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("compare", COMPARISONS.values(), ids=COMPARISONS)
def test_two_texts_are_compared_in_steps_that_grow_with_them(
    compare: Callable[[str, str], object], pair: Callable[[int], tuple[Any, Any]]
) -> None:
    def prepare(size: int) -> Callable[[], object]:
        recorded, produced = pair(size)
        return lambda: compare(recorded, produced)

    assert growth_of(prepare, SIZE, calls_of) < LINEAR


def test_a_code_with_apostrophes_is_no_word_and_no_name() -> None:
    assert plain_words("a'b'c_1 but don't rock'n'roll x_a'b") == {"but", "don't", "rock'n'roll", "b"}
