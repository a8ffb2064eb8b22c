"""The order in which a periodic job serves organizations: none waits until another's work is all done."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

Line = tuple[int, deque[int]]
"""An organization and the ids of its work."""


@dataclass(slots=True)
class RoundRobin:
    """Serves organizations in turn, and remembers between sweeps which of them were served the longest ago.

    Not thread-safe.
    """

    _numbers: count[int] = field(default_factory=lambda: count(1), init=False)
    # The number of the last turn of each organization and of each id of the last sweep.
    _organizations: dict[int, int] = field(default_factory=dict, init=False)
    _ids: dict[int, int] = field(default_factory=dict, init=False)

    def serve(self, owners: Mapping[int, int], work: Callable[[int], bool], *, is_over: Callable[[], bool]) -> bool:
        """Call `work` with an id of each organization in turn, until no work is left or the time is over.

        `owners` is {id: organization}. `work` does a bounded piece of work, and returns whether more is left for the
        id. The first piece is always done, even when the time is over. Returns True if no work is left.
        """
        lines = self._lines(owners)
        while lines:
            organization_id, ids = lines.popleft()
            id_ = ids.popleft()
            self._organizations[organization_id] = self._ids[id_] = next(self._numbers)
            if work(id_):
                ids.append(id_)
            if ids:
                lines.append((organization_id, ids))
            if lines and is_over():
                return False
        return True

    def _lines(self, owners: Mapping[int, int]) -> deque[Line]:
        """Return the organizations with their ids, both sorted by their last turn, oldest first."""
        self._ids = {id_: number for id_, number in self._ids.items() if id_ in owners}
        present = set(owners.values())
        self._organizations = {id_: number for id_, number in self._organizations.items() if id_ in present}
        lines: defaultdict[int, deque[int]] = defaultdict(deque)
        for id_ in sorted(owners, key=lambda id_: (self._ids.get(id_, 0), id_)):
            lines[owners[id_]].append(id_)
        return deque(sorted(lines.items(), key=lambda line: (self._organizations.get(line[0], 0), line[0])))
