"""Fingerprints of conversations: what happened in one, without its texts, equal in bytes for what is equal in meaning.

docs/suites.md describes the fields. A change of their meaning needs a new `EDITION`: the clock then reads sessions with
an earlier one again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Literal

import msgspec

from app.otlp.masking import MASK
from app.search.words import is_unspaced, words_of
from app.sessions.facts import TurnFacts, cut_name
from app.sessions.types import GapKind, Turn
from app.suites.language import NO_TOPICS, language_of
from app.suites.refusals import is_refusal, is_refused
from app.values.structs import decoder

EDITION = 2
"""The edition of fingerprints that this release makes."""
TURNS_MAX, SPANS_MAX = 100, 2_000
"""A longer session has a fingerprint of its facts only, without the order of its tools and its words."""
TEXT_MAX, TEXTS_MAX = 16 * 1024, 128 * 1024
"""Characters that are read for words of a turn's text, and of all texts. Each gives at most as many words."""
WORDS_MAX = 48
"""Words kept of a conversation: the ones that come most often."""
TOOLS_MAX = 64
"""Tools that are kept of a conversation, in the order of their first call."""
VERSIONS_MAX = 20

TurnsClass = Literal["1", "2-3", "4-7", "8+"]
Lack = GapKind | Literal["content", "size"]
"""What a replay of the session can't show; `content` are texts, `size` is a session that is too long."""


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What happened in a conversation.

    `order` has the tools in the order of their first calls; tools that the model called together are one entry, joined
    by a comma and a blank. It is empty where the order is not known. The other lists are in alphabetical order.
    """

    edition: int
    turns: TurnsClass
    tools: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    failed_tools: tuple[str, ...] = ()
    has_error: bool = False
    has_refusal: bool = False
    language: str = ""
    versions: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    lacks: tuple[Lack, ...] = ()


dump = msgspec.json.Encoder(order="deterministic").encode
"""Encode a fingerprint as JSON, equal for equal fingerprints."""
load = decoder(Fingerprint)
"""Decode what `dump` wrote."""


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool call; calls of one `batch`, unless it is empty, were asked for together."""

    name: str
    batch: str
    failed: bool


def of_turns(turns: Sequence[Turn], facts: Iterable[TurnFacts]) -> Fingerprint:
    """Return the fingerprint of a session from all its turns and their facts, in any order."""
    listed = list(facts)
    # A tool call's batch is the id of a span, which is unique in its trace.
    calls = [
        CalledTool(cut_name(step.name), f"{turn.trace_id}:{step.batch}" if step.batch else "", bool(step.error))
        for turn in turns
        for step in turn.steps
        if step.kind == "tool_call" and step.name
    ]
    answers = (step.text for turn in turns for step in turn.steps if step.kind == "answer")
    refused = any(is_refused(span.attributes) for turn in turns for span in turn.spans)
    texts = [turn.own_words for turn in turns if turn.own_words]
    lacks: set[Lack] = {gap.kind for turn in turns for gap in turn.gaps}
    if not all(turn.own_words is not None or turn.files for turn in turns) or not any(turn.steps for turn in turns):
        lacks.add("content")
    return make(
        turns=len(turns),
        calls=calls,
        texts=texts,
        has_error=any(turn_facts.errors for turn_facts in listed) or any(call.failed for call in calls),
        has_refusal=refused or any(map(is_refusal, answers)),
        versions=frozenset[str]().union(*(turn_facts.prompt_versions for turn_facts in listed)),
        lacks=lacks,
    )


def of_facts(facts: Iterable[TurnFacts]) -> Fingerprint:
    """Return the fingerprint of a session that is too long to be read, from the facts of its turns."""
    turns, has_error = 0, False
    tools, failed, versions = set[str](), set[str](), set[str]()
    for turn_facts in facts:
        turns += turn_facts.turns
        has_error = has_error or turn_facts.errors > 0
        tools |= turn_facts.tools
        failed |= turn_facts.failed_tools
        versions |= turn_facts.prompt_versions
    return Fingerprint(
        edition=EDITION,
        turns=turns_class(turns),
        tools=_kept(tools, TOOLS_MAX),
        failed_tools=_kept(failed, TOOLS_MAX),
        has_error=has_error,
        versions=_kept(versions, VERSIONS_MAX),
        lacks=("size",),
    )


def make(
    *,
    turns: int,
    calls: Sequence[CalledTool],
    texts: Sequence[str],
    has_error: bool = False,
    has_refusal: bool = False,
    versions: Iterable[str] = (),
    lacks: Iterable[Lack] = (),
) -> Fingerprint:
    """Return the fingerprint of a conversation with these calls, in their order, and these texts of the user."""
    order = order_of(calls)
    beginnings = beginnings_of(texts)
    counts = Counter[str]()
    for text in beginnings:
        counts.update(words_of(text.replace(MASK, " "))[: len(text)])
    return Fingerprint(
        edition=EDITION,
        turns=turns_class(turns),
        tools=_kept((call.name for call in calls), TOOLS_MAX),
        order=order,
        failed_tools=_kept((call.name for call in calls if call.failed), TOOLS_MAX),
        has_error=has_error,
        has_refusal=has_refusal,
        language=language_of(beginnings, counts),
        versions=_kept(versions, VERSIONS_MAX),
        words=_kept_words(counts),
        lacks=tuple(sorted(set(lacks))),
    )


def turns_class(turns: int) -> TurnsClass:
    """Return the class of a number of turns."""
    if turns <= 1:
        return "1"
    if turns <= 3:
        return "2-3"
    return "4-7" if turns <= 7 else "8+"


def beginnings_of(texts: Sequence[str]) -> list[str]:
    """Return what is read of texts, in equal shares if they are long together, so that their order does not matter."""
    beginnings = [text[:TEXT_MAX] for text in texts]
    if sum(map(len, beginnings)) <= TEXTS_MAX:
        return beginnings
    share = TEXTS_MAX // len(texts)
    return [text[:share] for text in beginnings]


def order_of(calls: Sequence[CalledTool]) -> tuple[str, ...]:
    """Return the tools in the order of their first calls, those of a batch together in alphabetical order."""
    known: set[str] = set()
    groups: list[tuple[str, set[str]]] = []
    for call in calls:
        if call.name in known:
            continue
        known.add(call.name)
        if len(known) > TOOLS_MAX:
            break
        if call.batch and groups and groups[-1][0] == call.batch:
            groups[-1][1].add(call.name)
        else:
            groups.append((call.batch, {call.name}))
    return tuple(", ".join(sorted(names)) for _, names in groups)


def _kept_words(counts: Counter[str]) -> tuple[str, ...]:
    """Return the words that may be a topic: no frequent words, no numbers, no ids."""
    eligible = filter(_may_be_topic, counts)
    return tuple(sorted(nsmallest(WORDS_MAX, eligible, key=lambda word: (-counts[word], word))))


def _may_be_topic(word: str) -> bool:
    if word in NO_TOPICS or any(map(str.isdigit, word)):
        return False
    return len(word) >= 3 or (len(word) == 2 and is_unspaced(word))


def _kept(names: Iterable[str], most: int) -> tuple[str, ...]:
    return tuple(sorted(set(names))[:most])
