"""Bounds the bytes of models' answers that a process keeps in Redis.

Streams, and the originals of masked answers, expire minutes after the end of their runs. Without a bound, an
organization with long answers would fill Redis until then, and no organization could start a run or send a batch.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

KEPT_BYTES = 64 * 1024 * 1024
"""Of each process that executes runs. Redis needs the rest of its memory for messages, batches and counts."""
KEY_BYTES = 1024
"""What each key counts besides its answer."""


@dataclass(slots=True)
class KeptBytes:
    """Counts what this process writes, and names the keys to delete: the least recently written ones first.

    A key that has expired counts until it is the oldest. Deleting it then changes nothing.
    """

    most: int = KEPT_BYTES
    _held: int = field(default=0, init=False)
    _sizes: OrderedDict[str, int] = field(default_factory=OrderedDict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def add(self, key: str, size: int) -> list[str]:
        """Count so many bytes that are written under a key; return the keys to delete before, perhaps this one."""
        with self._lock:
            over: list[str] = []
            kept = self._sizes.pop(key, 0)
            self._held += size if kept else KEY_BYTES + size
            while self._held > self.most and self._sizes:
                oldest, freed = self._sizes.popitem(last=False)
                self._held -= freed
                over.append(oldest)
            if kept and self._held > self.most:
                self._held -= kept - KEY_BYTES
                kept = 0
                over.append(key)
            self._sizes[key] = (kept or KEY_BYTES) + size
            return over
