"""The sentences of a text, their mutants, and what tests show about them are linear in each function."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from app.chat import Answer
from app.experiments.types import CaseTrials, Design, Trial
from app.guard.decision import FIRST_CASES, MutantTrials, decide_sentence
from app.guard.mutants import mutants
from app.guard.proposals import askable, asked_together, propose_mutants
from app.guard.relevance import CaseWords, by_relevance, most_relevant
from app.guard.sentences import sentences
from tests.support.cores import Core, Make
from tests.support.growth import Work
from tests.unit.costs.conftest import cost_tests

pytestmark = pytest.mark.slow

PIECES = {
    "sentences": "You must never offer 7 of the {{things}} in it.  ",
    "lines": "- You must always ask for it\n",
    "numbered lines": "1. You must always ask for it\n",
    "wrapped lines": "the customer is not to be asked for any of the codes that it has\n",
    "points": ". ",
    "blanks": "          ",
    "fences": "```\n",
    "blocks": "```\na\n```\n",
    "braces": "{{",
    "numbers": "1.1,",
    "combining marks": "e\u0301\u0323 ",
    "a script without spaces": "必ず確認。",
    "half pairs": "\ud800 ",
    "letters that grow": "İ must ",
}
DESIGN = Design(4, 40, 0.5, 0.05, None, None, has_baseline=True)


def of_text(piece: str) -> Make:
    """Split a text of as many pieces, and make all its mutants; what follows each of them is linear in the text."""
    text_before = "You are the agent of it and you have to do this for your shop. "

    def prepare(size: int) -> Work:
        text = text_before + piece * 4 * size
        return lambda: mutants(text, sentences(text)) and None

    return prepare


def one_line(size: int) -> Work:
    text = "the one " * 200 * size
    return lambda: mutants(text, sentences(text)) and None


def cases(size: int) -> Work:
    """Order and find as many test cases, and decide a sentence that passes all of them."""
    words = [{f"word{n}", "refund"} for n in range(size)]
    passed = (Trial(True),) * 4
    trials = [CaseTrials(passed, passed)] * size
    tested = [MutantTrials("without", trials, frozenset({0})), MutantTrials("turned", trials)]
    unplayed = [*trials[:FIRST_CASES], *[CaseTrials(())] * size]

    def work() -> None:
        by_relevance("Ask before a refund of word3.", CaseWords.of(words))
        most_relevant("Ask before a refund of word3.", CaseWords.of(words), 60)
        assert decide_sentence(DESIGN, tested).state == "unguarded"
        decide_sentence(DESIGN, [MutantTrials("without", unplayed)])

    return work


def words_and_cases(size: int) -> Work:
    """Order as many test cases for a sentence with as many words, which none of them has: not each word in each."""
    words = CaseWords.of({f"word{n}", "refund"} for n in range(size))
    sentence = " ".join(f"of{n}" for n in range(size))

    def work() -> None:
        by_relevance(sentence, words)
        most_relevant(sentence, words, 60)

    return work


def common_words(size: int) -> Work:
    """Order and find as many sessions, each with all words of a sentence with as many words."""
    own = [f"word{n}" for n in range(size)]
    words = CaseWords.of([own] * size)

    def work() -> None:
        by_relevance(" ".join(own), words)
        most_relevant(" ".join(own), words, 60)

    return work


class Replying:
    """A `JudgeModelPort` that gives one answer."""

    def __init__(self, *sentences: tuple[int, list[str]]) -> None:
        entries = [{"number": number, "wordings": wordings} for number, wordings in sentences]
        self._answer = Answer(json.dumps({"sentences": entries}))

    def answer(self, instruction: str, messages: Sequence[Any], tools: Sequence[Any]) -> Answer:
        raise NotImplementedError

    def structured(self, instruction: str, question: str, schema: dict[str, Any]) -> Answer:
        return self._answer


def proposing(text: str, *replies: tuple[int, list[str]]) -> Work:
    """Ask about the sentences of a text and read the replies."""
    model, known = Replying(*replies), mutants(text, sentences(text))

    def work() -> None:
        asked = asked_together(askable(sentences(text)))
        propose_mutants(model, lambda: "n" * 20, asked, known)

    return work


def many_proposed(size: int) -> Work:
    replies = [(n, [f"Be {n} of it.", f"Ask {n} for it.", "Ask."]) for n in range(size)]
    return proposing("".join(f"- Be 7 of {n}.\n" for n in range(size)), *replies)


def many_wordings(size: int) -> Work:
    return proposing("Be kind.", (0, ["Be  kind. "] * 4 * size))


def other_replies(size: int) -> Work:
    return proposing("Be kind.", *[(n % size, ["Be curt."]) for n in range(4 * size)])


def long_wordings(size: int) -> Work:
    text = "Ask {{name}} { 7 for a " * size
    return proposing(text, (0, [f"{text} {word}" for word in ("b", "c", "d")]))


WORKS: dict[str, Make] = {
    **{f"a text of {name}": of_text(piece) for name, piece in PIECES.items()},
    "a sentence": one_line,
    "test cases": cases,
    "test cases and words": words_and_cases,
    "test cases with the same words": common_words,
    "proposals for sentences": many_proposed,
    "proposals for a sentence": many_wordings,
    "proposals for other sentences": other_replies,
    "long proposals": long_wordings,
}
CORE = Core(("guard",), WORKS, size=40)
NOT_GROWING: dict[str, set[str]] = {
    "loop over the mutants of a sentence, one for each operator": {"guard/decision:decide_sentence"},
}

(
    test_twice_the_input_is_at_most_about_twice_the_work_of_each_function,
    test_each_function_that_loops_is_counted_or_has_a_reason,
    test_each_reason_is_about_a_function_that_loops,
) = cost_tests(CORE, NOT_GROWING)
