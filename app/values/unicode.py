"""Normalizes texts by Unicode's forms NFKC and NFC, in time that grows in step with them, whatever they hold.

`unicodedata.normalize` sorts the combining marks of a run by insertion, which costs the square of their number, and no
other thread runs meanwhile. So texts are made stream-safe before: see https://unicode.org/reports/tr15/#Stream_Safe_Text_Format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from unicodedata import combining, decomposition, is_normalized, normalize

MARKS_MAX = 30
"""Non-starters that may follow each other in a stream-safe text, counted in the NFKD of its characters."""
GRAPHEME_JOINER = "\u034f"
PIECE = 16 * 1024
"""Characters that one call normalizes, and few more: other threads run between two calls."""
SHORT_PIECE = 1024
"""Characters of a piece; its form may be all that is needed. Characters may grow 18-fold."""
FEWEST = 14
"""Characters with more than `MARKS_MAX` non-starters: three at the end of the one before, and two in each."""
DECOMPOSED_MAX = 4
"""Characters of the longest canonical decomposition."""

# Characters outside these ranges may be non-starters. Ranges end where later versions of Unicode may add some.
_STARTERS = (
    "\x00-\u02ff\u0370-\u0482\u048a-\u0590\u05d0-\u060f\u0620-\u064a\u0671-\u06d5\u0904-\u093b\u0e01-\u0e37"
    "\u1e00-\u20cf\u2100-\u2cee\u3000-\u3029\u3030-\u3098\u309b-\ua66e\uac00-\ufb1d\uff00-\uff9d"
    "\U0001f000-\U0010ffff"
)
_MARKS = re.compile(f"[^{_STARTERS}]{{{FEWEST},}}")
# A run of FEWEST marks has at least three of every fourth character. So a search for three in a row finds it in such
# a sample, and finds few other texts.
STEP = 4
_SAMPLED_MARKS = re.compile(f"[^{_STARTERS}]{{{FEWEST // STEP}}}")
JOINING = frozenset(
    "\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf\u102e\u1b35"
    "\U00011127\U0001133e\U00011357\U000113b8\U000113bb\U000113c2\U000113c5\U000113c7\U000113c8\U000113c9"
    "\U000114b0\U000114ba\U000114bd\U000115af\U00011930\U0001611e\U0001611f\U00016129\U00016d67"
).union(map(chr, range(0x1161, 0x1176)), map(chr, range(0x11A8, 0x11C3)))
"""Starters that may become one character with the one before them: those with NFC_QC=Maybe, of Unicode 16."""


def is_stream_safe(text: str) -> bool:
    """Return whether no run of combining marks is over-long: then any reader normalizes the text in linear time."""
    return text.isascii() or _stream_safe(text) == text


def nfkc(text: str) -> str:
    """Return the form NFKC of a text, in which an over-long run of combining marks is parted by U+034F."""
    if text.isascii():
        return text
    safe = _stream_safe(text)
    if len(safe) <= PIECE:
        return normalize("NFKC", safe)
    return "".join([normalize("NFKC", piece) for piece in _pieces(safe)])


def folded(text: str) -> str:
    """Return the form NFKC of a text without regard to case; casefolding may leave what is no NFKC."""
    if text.isascii():
        return text.lower()
    normal = nfkc(text)
    return "".join([normal[start : start + PIECE].casefold() for start in range(0, len(normal), PIECE)])


def nfc(text: str) -> str:
    """Return the form NFC of a text: characters that look the same are the same; ² and 2 stay different."""
    return text if text.isascii() else "".join(_composed_pieces(text))


def lowered(text: str) -> str:
    """Return the form NFC of a text in lower case: ² and 2, and ß and ss, stay different."""
    return text.lower() if text.isascii() else "".join([piece.lower() for piece in _composed_pieces(text)])


def folded_pieces(text: str) -> Iterator[str]:
    """Yield, piece after piece, the form NFKC of a text without regard to case: joined, `nfkc(folded(text))`."""
    if text.isascii():
        yield text.lower()
        return
    for piece in _pieces(_stream_safe(text), SHORT_PIECE):
        form = normalize("NFKC", piece).casefold()
        yield form if is_normalized("NFKC", form) else nfkc(form)


def _composed_pieces(text: str) -> Iterator[str]:
    pieces = (text,) if len(text) <= SHORT_PIECE and not _SAMPLED_MARKS.search(text) else _pieces(_stream_safe(text))
    return (normalize("NFC", piece) for piece in pieces)


def _stream_safe(text: str) -> str:
    return _MARKS.sub(_parted, text) if _SAMPLED_MARKS.search(text[::STEP]) else text


def _parted(run: re.Match[str]) -> str:
    """Return a run that may be too long, with a joiner before each mark that would be one too many."""
    count = _trailing(run.string[run.start() - 1]) if run.start() else 0
    parted: list[str] = []
    for char in run[0]:
        marks = _marks(char)
        if marks and count + marks > MARKS_MAX:
            parted.append(GRAPHEME_JOINER)
            count = 0
        count = count + marks if marks else _trailing(char)
        parted.append(char)
    return "".join(parted)


@lru_cache(4096)
def _marks(char: str) -> int:
    """Return the number of non-starters that a character is decomposed into, 0 if there is a starter among them."""
    classes = [combining(part) for part in normalize("NFKD", char)]
    return len(classes) if all(classes) else 0


@lru_cache(4096)
def _trailing(char: str) -> int:
    """Return the number of non-starters at the end of a character's decomposition."""
    parts = normalize("NFKD", char)
    return next((count for count, part in enumerate(reversed(parts)) if not combining(part)), len(parts))


def _pieces(text: str, length: int = PIECE) -> Iterator[str]:
    """Yield the pieces of a stream-safe text. Their forms, joined, are the form of the text."""
    start = 0
    while start < len(text):
        end = _cut(text, start + length)
        yield text[start:end]
        start = end


def _cut(text: str, begin: int) -> int:
    """Return the first place from `begin` on that nothing is composed or sorted across.

    That is before a starter, but for one that joins the character before it. Of several of these in a row the fourth
    joins none, as no character has so long a decomposition.
    """
    for index in range(begin, len(text)):
        first = _first(text[index])
        if not combining(first) and (first not in JOINING or index - begin >= DECOMPOSED_MAX - 1):
            return index
    return len(text)


@lru_cache(4096)
def _first(char: str) -> str:
    return normalize("NFKD", char)[0]


def without_accents(text: str) -> str:
    """Return a text in lower case without the accents of its letters."""
    return "".join(letter for char in text.casefold() if not combining(letter := _letter(char)))


@lru_cache(4096)
def _letter(char: str) -> str:
    """Return the letter of a character that has accents."""
    while (parts := decomposition(char)) and parts[0] != "<":
        char = chr(int(parts.split()[0], 16))
    return char
