"""The index of a block of turns: which words the turns have, in buckets that are stored and read alone.

A bucket is lines of a word and a mark for each turn that has it, each with a line end before it:
`\\nrefund AX` is said in the first and in the 24th turn of the block. The sets of turns are whole numbers whose bits
are the turns.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from zlib import crc32

from app.search.query import Query, Term
from app.search.words import is_unspaced

TURNS = 64
"""Turns of a block."""
BUCKETS = 64
ALL = (1 << TURNS) - 1
_MARKS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"
_BITS = {mark: 1 << index for index, mark in enumerate(_MARKS)}


def bucket_of(word: str) -> int:
    """Return the bucket of a word, which all words with the same beginning share."""
    return crc32((word[:1] if is_unspaced(word) else word[:2]).encode()) % BUCKETS


def buckets_of(words_of_turns: Mapping[int, Iterable[str]]) -> dict[int, bytes]:
    """Return the buckets of a block, those with any words, given the words of its turns by their index."""
    marks: dict[str, str] = defaultdict(str)
    for index, words in words_of_turns.items():
        mark = chr(_MARKS[index])
        for word in words:
            marks[word] += mark
    lines: dict[int, list[str]] = defaultdict(list)
    for word in sorted(marks):
        lines[bucket_of(word)].append(f"\n{word} {marks[word]}")
    return {bucket: "".join(lines[bucket]).encode() for bucket in sorted(lines)}


def needed(query: Query) -> dict[int, list[Term]]:
    """Return the terms that are looked for in each bucket, one word each, those that must be there first.

    A phrase that must not be there is looked for in texts alone: its words may stand elsewhere.
    """
    found: dict[int, list[Term]] = defaultdict(list)
    for term in sorted(query.terms, key=lambda term: term.excluded):
        if term.excluded and len(term.words) > 1:
            continue
        for word in term.words:
            single = Term((word,), term.prefix and word is term.words[-1], term.excluded)
            found[bucket_of(word)].append(single)
    return found


def turns_with(term: Term, bucket: bytes) -> int:
    """Return the set of turns that meet a term of one word, given the bucket of the word."""
    word = re.escape(term.words[0].encode())
    pattern = rb"\n%s%s ([^\n]+)" % (word, rb"[^ \n]*" if term.prefix else b"")
    found = 0
    for marks in re.findall(pattern, bucket):
        for mark in marks:
            found |= _BITS[mark]
    return found ^ ALL if term.excluded else found
