"""Proposes placeholders for the parts of a draft that vary between the instructions of recorded sessions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby, islice

from reprise_formats.placeholders import PLACEHOLDER

from app.sessions.alignment import AlignedPart, align, are_similar

PROPOSALS_MAX, VALUES_MAX = 50, 100
"""Proposals of a prompt, and values of a placeholder: as many as the API accepts."""
VALUE_MAX = 10_000
"""Characters of a value."""
ALIGNED_MAX = 400_000
"""Characters of all texts that are aligned."""
CONTEXT_CHARACTERS = 60
"""Characters of the draft around a proposal that it shows."""
_KINDS = (
    ("date", "today", re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}")),
    (
        "time",
        "now",
        re.compile(r"(?:\d{4}-\d\d-\d\d[T ])?\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?(?: ?[AP]M|Z|[+-]\d\d:?\d\d)?"),
    ),
    ("email", "email", re.compile(r"[^\s@]{1,64}@[^\s@]{1,255}")),
    ("url", "url", re.compile(r"https?://\S+")),
    ("number", "number", re.compile(r"[-+]?\d+(?:[.,]\d+)*%?")),
)
_LABEL = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,30}) ?(?: is|:|=)[ \"'(]*\Z")


@dataclass(frozen=True, slots=True)
class SeenValue:
    """A text that sessions had in the place of a placeholder, and the number of these sessions."""

    content: str
    sessions: int


@dataclass(frozen=True, slots=True)
class PlaceholderProposal:
    """A part of the draft that varies. `id` is stable while the text around the part is.

    `before` and `after` are the draft's text around it. `is_known` is True if the draft has the placeholder already,
    and only values of it are new. The most frequent value comes first. `is_change` is True if the part rather changed
    once, for all sessions since: it had one text in older sessions, and another one in newer sessions.
    """

    id: str
    key: str
    kind: str
    before: str
    current: str
    after: str
    is_known: bool
    values: tuple[SeenValue, ...]
    values_left_out: int = 0
    is_change: bool = False

    @property
    def sessions(self) -> int:
        return sum(value.sessions for value in self.values)


@dataclass(frozen=True, slots=True)
class Proposals:
    """The draft in pieces, and the proposals by the index of their piece; `compared` counts the aligned sessions."""

    pieces: tuple[str, ...] = ()
    by_piece: tuple[tuple[int, PlaceholderProposal], ...] = ()
    compared: int = 0

    def rewritten(self, keys: Mapping[str, str]) -> str:
        """Return the draft with placeholders in place of accepted parts; `keys` has a key for each proposal's id."""
        pieces = list(self.pieces)
        for index, proposal in self.by_piece:
            if proposal.id in keys:
                pieces[index] = f"{{{{{keys[proposal.id]}}}}}"
        return "".join(pieces)

    @property
    def varying(self) -> dict[str, str]:
        """The keys of the proposals that are no change of the text, by their ids."""
        return {proposal.id: proposal.key for _, proposal in self.by_piece if not proposal.is_change}


def propose(draft: str, instructions: Sequence[str], contents: Mapping[str, Sequence[str]]) -> Proposals:
    """Return proposals for a draft; `instructions` are those of sessions, the newest first.

    `contents` are the known contents of each placeholder of the draft.
    """
    left = ALIGNED_MAX - len(draft)
    texts: list[str] = []
    for instruction in dict.fromkeys(instructions):
        left -= len(instruction)
        if left < 0:
            break
        if are_similar(draft, instruction):
            texts.append(instruction)
    if not texts:
        return Proposals()
    parts = align([draft, *texts])
    index_of = {text: index for index, text in enumerate(texts, 1)}
    rows = [index_of[instruction] for instruction in instructions if instruction in index_of]
    finder = _Finder(parts, rows, contents)
    return Proposals(tuple(part.texts[0] for part in parts), tuple(finder.proposals()), len(rows))


def merged(draft: str, instruction: str, keys: Mapping[str, object]) -> str:
    """Return the instruction with the draft's placeholders where they are in the draft."""
    if len(draft) + len(instruction) > ALIGNED_MAX or not are_similar(draft, instruction):
        return instruction
    return "".join(
        part.texts[0] if _key_of(part.texts[0]) in keys else part.texts[1] for part in align([draft, instruction])
    )


@dataclass(slots=True)
class _Finder:
    """Finds proposals in aligned parts; `rows` are the indices of the sessions' texts, the newest first."""

    parts: Sequence[AlignedPart]
    rows: Sequence[int]
    contents: Mapping[str, Sequence[str]]
    _keys: dict[tuple[str, ...], str] = field(default_factory=dict)
    _ids: Counter[str] = field(default_factory=Counter)

    def proposals(self) -> Iterator[tuple[int, PlaceholderProposal]]:
        """Yield proposals with the index of their part; parts with equal values have the same key."""
        proposable = (index for index, part in enumerate(self.parts) if self._is_proposable(part))
        for index in islice(proposable, PROPOSALS_MAX):
            yield index, self._proposal(index)

    def _is_proposable(self, part: AlignedPart) -> bool:
        """Return whether sessions differ in the part, or have values that the draft's placeholder there lacks."""
        draft, *recorded = part.texts
        if not part.varies or any(len(text) > VALUE_MAX for text in part.texts):
            return False
        if known := _key_of(draft):
            return known in self.contents and not set(recorded).issubset(self.contents[known])
        return not PLACEHOLDER.search(draft) and len(set(recorded)) > 1

    def _proposal(self, index: int) -> PlaceholderProposal:
        before = self.parts[index - 1].texts[0][-CONTEXT_CHARACTERS:] if index else ""
        after = self.parts[index + 1].texts[0][:CONTEXT_CHARACTERS] if index + 1 < len(self.parts) else ""
        current, *recorded = self.parts[index].texts
        known = _key_of(current)
        kind, key = ("text", known) if known else _named(recorded, before)
        if not known:
            key = self._keys.setdefault(tuple(recorded), unused(key, {*self._keys.values(), *self.contents}, "_"))
        values = [self.parts[index].texts[row] for row in self.rows]
        counted = [SeenValue(*entry) for entry in Counter(values).most_common()]
        return PlaceholderProposal(
            self._id(before, after, known),
            key,
            kind,
            before,
            current,
            after,
            bool(known),
            tuple(counted[:VALUES_MAX]),
            max(0, len(counted) - VALUES_MAX),
            kind == "text" and not known and _changed_once(values),
        )

    def _id(self, *place: str) -> str:
        digest = blake2b("\0".join(place).encode(errors="surrogatepass"), digest_size=4).hexdigest()
        self._ids[digest] += 1
        return digest if self._ids[digest] == 1 else f"{digest}-{self._ids[digest]}"


def _changed_once(values: Sequence[str]) -> bool:
    """Return whether older sessions all have one value and newer ones another; two sessions show neither."""
    return len(values) > 2 and len(set(values)) == len([value for value, _ in groupby(values)]) == 2


def _key_of(text: str) -> str:
    match = PLACEHOLDER.fullmatch(text)
    return match[1] if match else ""


def _named(values: Sequence[str], before: str) -> tuple[str, str]:
    """Return the kind of the values, and a key: the label before them, else the usual one of their kind."""
    written = [value for value in values if value]
    kinds = ((kind, key) for kind, key, pattern in _KINDS if written and all(map(pattern.fullmatch, written)))
    kind, key = next(kinds, ("text", "value"))
    label = _LABEL.search(before[-40:])
    return kind, label[1].lower() if label and kind not in ("date", "time") else key


def unused(name: str, names: Collection[str], separator: str) -> str:
    """Return the name, with a number if it is one of the names."""
    if name not in names:
        return name
    numbered = (f"{name}{separator}{number}" for number in range(2, len(names) + 3))
    return next(candidate for candidate in numbered if candidate not in names)
