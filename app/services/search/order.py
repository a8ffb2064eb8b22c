"""The order in which blocks of turns are read for the search: organizations alternate, and so do their projects."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import Connection

from app.models import organizations, search
from app.models.search import BlockKey


@dataclass(slots=True)
class BlockOrder:
    """In each round, each organization with waiting turns gets one block: the next one of one of its projects."""

    _round: deque[int] = field(default_factory=deque, init=False)
    # The last project of each organization, and the last block of each project, that was returned.
    _projects: dict[int, int] = field(default_factory=dict, init=False)
    _blocks: dict[int, int] = field(default_factory=dict, init=False)

    def next(self, connection: Connection) -> BlockKey | None:
        """Return the block to read next; None if none waits."""
        block = self._of_round(connection)
        if block is None:
            self._begin(connection)
            block = self._of_round(connection)
        return block

    def _of_round(self, connection: Connection) -> BlockKey | None:
        while self._round:
            project_id = self._round.popleft()
            block = search.next_waiting(connection, project_id, after=self._blocks.get(project_id, -1))
            if block is not None:
                self._blocks[project_id] = block
                return BlockKey(project_id, block)
        return None

    def _begin(self, connection: Connection) -> None:
        """Begin a round with the next project of each organization."""
        waiting = search.waiting_projects(connection)
        owners = organizations.owners_of(connection, waiting)
        projects: dict[int, list[int]] = defaultdict(list)
        for project_id in waiting:
            projects[owners.get(project_id, 0)].append(project_id)
        self._projects = {owner: _after(ids, self._projects.get(owner, -1)) for owner, ids in projects.items()}
        self._blocks = {id_: block for id_, block in self._blocks.items() if id_ in owners}
        self._round.extend(self._projects.values())


def _after(sorted_ids: Iterable[int], last: int) -> int:
    """Return the first id greater than `last`, or else the first id."""
    ids = list(sorted_ids)
    return next((id_ for id_ in ids if id_ > last), ids[0])
