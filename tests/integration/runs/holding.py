"""Holds a transaction up, so that those who come meanwhile share the next one."""

import threading

from tests.support.waiting import wait_until

WAIT_S = 120


class Held:
    """Holds the first transaction of a `GroupCommit` until it is let go, and notes how many changes each has."""

    def __init__(self, group, monkeypatch):
        self.sizes, self.gate = [], threading.Event()
        self._group, self._commit = group, group._commit
        monkeypatch.setattr(group, "_commit", self)

    def __call__(self, changes):
        self.sizes.append(len(changes))
        self.gate.wait(WAIT_S)
        return self._commit(changes)

    def until_begun(self):
        wait_until(lambda: self.sizes, "the first transaction")

    def until_waiting(self, count):
        wait_until(lambda: self._waiting() == count, f"{count} that wait for the next one")

    def _waiting(self):
        return sum(len(together._waiting) for together in self._group._by_project.values())
