"""The index of a block of turns: the words of the turns, in buckets that are stored and read one by one.

A bucket consists of lines. A line has a word, a space, and a letter (a *mark*) for each turn with this word. A line
break precedes each line. `\nrefund AX` means that the first and the 24th turn of the block have the word "refund".

Turns with too many words are *unindexed*: every bucket of their block has a line for them without a word, and a search
reads their texts instead.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache, reduce
from operator import or_
from zlib import crc32

from app.search.query import Query, Term
from app.search.words import is_unspaced

TURNS_PER_BLOCK = 64
TurnSet = int
"""A set of turns of one block: bit `n` is set if the turn at index `n` is in the set."""
BUCKETS_PER_BLOCK = 64
BUCKET_BYTES, BLOCK_BYTES = 1024 * 1024, 8 * 1024 * 1024
"""The most bytes of a bucket, and of all buckets of a block: turns are not indexed if their words do not fit."""
ATTEMPTS = 3
"""How often `changed_buckets` tries to fit the words of turns into their block."""
ALL_TURNS: TurnSet = (1 << TURNS_PER_BLOCK) - 1
_MARKS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"
_BITS = {mark: 1 << index for index, mark in enumerate(_MARKS)}
# The marks of the turns in a set, by the index of a byte of the set and by the value of this byte.
_MARKS_OF_BYTES = [
    [
        "".join(chr(mark) for index, mark in enumerate(_MARKS[start : start + 8]) if byte >> index & 1)
        for byte in range(256)
    ]
    for start in range(0, TURNS_PER_BLOCK, 8)
]


def bucket_of(word: str) -> int:
    """Return the bucket of a word, from 0. Words with the same first two letters share a bucket."""
    return crc32((word[:1] if is_unspaced(word) else word[:2]).encode()) % BUCKETS_PER_BLOCK


def changed_buckets(
    stored: Mapping[int, bytes], turns: TurnSet, words: Mapping[str, TurnSet], unindexed: TurnSet
) -> dict[int, bytes]:
    """Return the buckets of a block that change once some of its turns were read.

    `stored` are all buckets of the block, and `turns` is the set of the turns that were read. `words` has the set of
    these turns that have a word, by word; the `unindexed` ones of them are in none. If the words do not fit, the turns
    with most words become unindexed too, and at the last attempt all of them.
    """
    for attempt in range(1, ATTEMPTS + 1):
        if (changed := _merged(stored, turns, words, unindexed)) is not None:
            return changed
        # The last attempt indexes no turn.
        unindexed |= _longest(words) if attempt < ATTEMPTS else reduce(or_, words.values())
        words = {word: left for word, having in words.items() if (left := having & ~unindexed)}
    return _merged(stored, turns, {}, unindexed) or {}


def _merged(
    stored: Mapping[int, bytes], turns: TurnSet, words: Mapping[str, TurnSet], unindexed: TurnSet
) -> dict[int, bytes] | None:
    """Return the buckets that change if the words are added as they are; None if they do not fit into the block."""
    by_bucket, changed, left = _by_bucket(words), dict[int, bytes](), BLOCK_BYTES
    for bucket in range(BUCKETS_PER_BLOCK):
        before, added = stored.get(bucket, b""), by_bucket.get(bucket, {})
        is_same = not added and not unindexed and not _has_any(before, turns)
        lines = before if is_same else _merged_bucket(before, turns, added, unindexed)
        left -= len(lines)
        if words and (len(lines) > BUCKET_BYTES or left < 0):
            return None
        if lines != before:
            changed[bucket] = lines
    return changed


def _longest(words: Mapping[str, TurnSet]) -> TurnSet:
    """Return the set of the turns with more than half as many words as the longest turn."""
    counts: Counter[int] = Counter()
    for having, count in Counter(words.values()).items():
        counts.update({bit: count for bit in _BITS.values() if having & bit})
    most = max(counts.values())
    return sum(bit for bit, count in counts.items() if 2 * count > most)


def _by_bucket(words: Mapping[str, TurnSet]) -> dict[int, dict[str, TurnSet]]:
    by_bucket: dict[int, dict[str, TurnSet]] = defaultdict(dict)
    for word, turns in words.items():
        by_bucket[bucket_of(word)][word] = turns
    return by_bucket


def _merged_bucket(bucket: bytes, turns: TurnSet, words: Mapping[str, TurnSet], unindexed: TurnSet) -> bytes:
    """Return a bucket in which `turns` have these words and no others; other turns keep their words."""
    lines = {word: others for word, having in _lines(bucket) if (others := having & ~turns)}
    for word, having in words.items():
        lines[word] = lines.get(word, 0) | having
    if unindexed:
        lines[""] = lines.get("", 0) | unindexed
    return "".join([f"\n{word} {_marks_of(lines[word])}" for word in sorted(lines)]).encode()


def _has_any(bucket: bytes, turns: TurnSet) -> bool:
    """Return whether a line has the mark of one of these turns, without reading line by line."""
    marks = re.escape(_marks_of(turns).encode())
    return bool(marks) and re.search(rb" [^\n]*[%s]" % marks, bucket) is not None


def _lines(bucket: bytes) -> Iterator[tuple[str, TurnSet]]:
    for line in bucket.decode().split("\n")[1:]:
        word, _, marks = line.partition(" ")
        yield word, _turns_of(marks)


@lru_cache(4096)
def _turns_of(marks: str) -> TurnSet:
    return sum(_BITS[mark] for mark in marks.encode())


def _marks_of(turns: TurnSet) -> str:
    return "".join([marks[byte] for marks, byte in zip(_MARKS_OF_BYTES, turns.to_bytes(8, "little"), strict=True)])


def terms_by_bucket(query: Query) -> dict[int, list[Term]]:
    """Return the terms to look for, by bucket. Each has one word; required terms come first.

    An excluded phrase is not among them: its words may occur separately, so only texts can decide it.
    """
    terms: dict[int, list[Term]] = defaultdict(list)
    for term in sorted(query.terms, key=lambda term: term.excluded):
        if term.excluded and len(term.words) > 1:
            continue
        for word in term.words:
            single = Term((word,), term.prefix and word is term.words[-1], term.excluded)
            terms[bucket_of(word)].append(single)
    return terms


def turns_with(term: Term, bucket: bytes) -> TurnSet:
    """Return the turns that may match a term of one word, given the bucket of the word; includes unindexed turns."""
    word = re.escape(term.words[0].encode())
    pattern = rb"\n%s%s ([^\n]+)" % (word, rb"[^ \n]*" if term.prefix else b"")
    turns = 0
    for marks in re.findall(pattern, bucket):
        for mark in marks:
            turns |= _BITS[mark]
    return (turns ^ ALL_TURNS if term.excluded else turns) | unindexed_in(bucket)


def unindexed_in(bucket: bytes) -> TurnSet:
    """Return the set of turns with texts that must be read, given any bucket of their block."""
    # Lines are sorted, so that the one without a word is the first.
    marks = bucket[2 : 2 + TURNS_PER_BLOCK].partition(b"\n")[0] if bucket.startswith(b"\n ") else b""
    return sum(_BITS[mark] for mark in marks)
