"""The index of a block of turns: the words of the turns, in buckets that are stored and read one by one.

A bucket is lines of a word and a mark for each turn that has it, each with a line end before it: `\nrefund AX` is in
the first and in the 24th turn of the block. The sets of turns are whole numbers; each bit is a turn.

Turns with too many words are not indexed. Every bucket of their block has a line for them, without a word, and a search
reads their texts.
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
"""Turns of a block."""
BUCKETS_PER_BLOCK = 64
BUCKET_BYTES, BLOCK_BYTES = 1024 * 1024, 8 * 1024 * 1024
"""The longest lines of a bucket, and of all buckets of a block: a turn is not indexed if its words do not fit."""
ATTEMPTS = 3
"""How many times the words of turns are tried to fit into their block."""
ALL_TURNS = (1 << TURNS_PER_BLOCK) - 1  # the set of all turns
_MARKS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"
_BITS = {mark: 1 << index for index, mark in enumerate(_MARKS)}
# The marks of each value of each byte of a set.
_MARKS_OF_BYTES = [
    [
        "".join(chr(mark) for index, mark in enumerate(_MARKS[start : start + 8]) if byte >> index & 1)
        for byte in range(256)
    ]
    for start in range(0, TURNS_PER_BLOCK, 8)
]


def bucket_of(word: str) -> int:
    """Return the bucket of a word, which all words with the same beginning share."""
    return crc32((word[:1] if is_unspaced(word) else word[:2]).encode()) % BUCKETS_PER_BLOCK


def with_turns(stored: Mapping[int, bytes], turns: int, words: Mapping[str, int], unindexed: int) -> dict[int, bytes]:
    """Return the buckets of a block that change after some of its turns were read; `stored` are all its buckets.

    `words` maps words to the sets of `turns` that have them. The `unindexed` turns have none. If the words do not fit,
    the turns with most words become unindexed too, and in the end all of them: each attempt reads the whole block.
    """
    for attempt in range(1, ATTEMPTS + 1):
        if (changed := _merged(stored, turns, words, unindexed)) is not None:
            return changed
        # The last attempt indexes no turn.
        unindexed |= _longest(words) if attempt < ATTEMPTS else reduce(or_, words.values())
        words = {word: have & ~unindexed for word, have in words.items() if have & ~unindexed}
    return _merged(stored, turns, {}, unindexed) or {}


def _merged(
    stored: Mapping[int, bytes], turns: int, words: Mapping[str, int], unindexed: int
) -> dict[int, bytes] | None:
    """Return the buckets that change; None if there are too many words."""
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


def _longest(words: Mapping[str, int]) -> int:
    """Return the set of the turns with more than half as many words as the longest turn."""
    counts: Counter[int] = Counter()
    for have, count in Counter(words.values()).items():
        counts.update({bit: count for bit in _BITS.values() if have & bit})
    most = max(counts.values())
    return sum(bit for bit, count in counts.items() if 2 * count > most)


def _by_bucket(words: Mapping[str, int]) -> dict[int, dict[str, int]]:
    by_bucket: dict[int, dict[str, int]] = defaultdict(dict)
    for word, turns in words.items():
        by_bucket[bucket_of(word)][word] = turns
    return by_bucket


def _merged_bucket(bucket: bytes, turns: int, words: Mapping[str, int], unindexed: int) -> bytes:
    """Return a bucket with these words of `turns`, and no others of them."""
    lines = {word: kept for word, had in _lines(bucket) if (kept := had & ~turns)}
    for word, have in words.items():
        lines[word] = lines.get(word, 0) | have
    if unindexed:
        lines[""] = lines.get("", 0) | unindexed
    return "".join([f"\n{word} {_marks_of(lines[word])}" for word in sorted(lines)]).encode()


def _has_any(bucket: bytes, turns: int) -> bool:
    """Return whether a line has the mark of one of these turns, without reading line by line."""
    marks = re.escape(_marks_of(turns).encode())
    return bool(marks) and re.search(rb" [^\n]*[%s]" % marks, bucket) is not None


def _lines(bucket: bytes) -> Iterator[tuple[str, int]]:
    for line in bucket.decode().split("\n")[1:]:
        word, _, marks = line.partition(" ")
        yield word, _turns_of(marks)


@lru_cache(4096)
def _turns_of(marks: str) -> int:
    return sum(_BITS[mark] for mark in marks.encode())


def _marks_of(turns: int) -> str:
    return "".join([marks[byte] for marks, byte in zip(_MARKS_OF_BYTES, turns.to_bytes(8, "little"), strict=True)])


def needed(query: Query) -> dict[int, list[Term]]:
    """Return the terms to look for in each bucket, one word each, required terms first.

    An excluded phrase is only looked for in texts, because its words may occur separately.
    """
    terms_by_bucket: dict[int, list[Term]] = defaultdict(list)
    for term in sorted(query.terms, key=lambda term: term.excluded):
        if term.excluded and len(term.words) > 1:
            continue
        for word in term.words:
            single = Term((word,), term.prefix and word is term.words[-1], term.excluded)
            terms_by_bucket[bucket_of(word)].append(single)
    return terms_by_bucket


def turns_with(term: Term, bucket: bytes) -> int:
    """Return the set of turns that may match a term of one word, given the word's bucket; includes unindexed turns."""
    word = re.escape(term.words[0].encode())
    pattern = rb"\n%s%s ([^\n]+)" % (word, rb"[^ \n]*" if term.prefix else b"")
    turns = 0
    for marks in re.findall(pattern, bucket):
        for mark in marks:
            turns |= _BITS[mark]
    return (turns ^ ALL_TURNS if term.excluded else turns) | unindexed_in(bucket)


def unindexed_in(bucket: bytes) -> int:
    """Return the set of turns with texts that must be read, given any bucket of their block."""
    # Lines are sorted, so that the one without a word is the first.
    marks = bucket[2 : 2 + TURNS_PER_BLOCK].partition(b"\n")[0] if bucket.startswith(b"\n ") else b""
    return sum(_BITS[mark] for mark in marks)
