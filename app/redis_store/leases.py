"""Leases of a key's permits and of its project's epoch, so that a busy key needs no round trip to Redis a request.

A lease lasts `LEASE_S` from before it was asked for, by a clock that also counts while the machine is suspended. Its
permits count as used from its begin, so that the limit is never passed; unused ones are free again a moment after its
end. A lease that its process can't settle, since it died, was stopped or lost Redis, is counted as used. `Epochs.end`
waits until all leases of the epoch before have ended.

A thread asks for the next lease of a busy key before the present one ends, so that no request waits for Redis.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from secrets import token_hex

import redis
import structlog

from app.errors import Unavailable
from app.redis_store.epochs import LEASE_S
from app.redis_store.shared_window import Allowance, Question, SharedWindow, Window

log = structlog.get_logger(__name__)

RENEWED_S = 0.6 * LEASE_S
"""The pause of the thread that renews and settles leases. The rest of a lease is time for its question to Redis."""
BUSY_REQUESTS = 4
"""A key with fewer requests than this within `LEASE_S` gets no lease."""
IDLE_S = 1.0
"""A key is forgotten when its last request was so long ago."""
KEYS_MAX = 1_000
"""Idle keys are forgotten beyond this number of keys, and then beyond twice as many as were left."""


def monotonic() -> float:
    """Return the seconds since the start of the machine, also those in which it was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclass(slots=True)
class Lease:
    """Permits of a key until `until`, of which `left` are unused.

    `allowance` is the answer to each request; all permits of the lease already count as used in it.
    """

    lease_id: str
    until: float
    left: int
    allowance: Allowance
    used: int = 1


@dataclass(slots=True)
class _Key:
    """The requests of a key, in slots of `LEASE_S`: `count` since `begin`, and `before` in the slot before.

    `asks` is set while a thread asks for a lease. `renewed` are leases that were replaced before their end, and are not
    settled yet.
    """

    project_id: int
    begin: float
    count: int = 0
    before: int = 0
    lease: Lease | None = None
    asks: bool = False
    renewed: list[Lease] = field(default_factory=list)

    def add(self, now: float) -> None:
        slots = (now - self.begin) / LEASE_S
        if slots >= 1:
            self.before = self.count if slots < 2 else 0
            self.begin, self.count = now, 0
        self.count += 1

    def wanted(self, now: float) -> int:
        """Return the permits to ask for in the next lease: a quarter more than the requests of a slot."""
        slots = (now - self.begin) / LEASE_S
        many = max(self.before, self.count) if slots < 1 else self.count if slots < 2 else 0
        return many + many // 4 if many >= BUSY_REQUESTS else 0

    def question(self, key: int | str, now: float) -> Question:
        """Return the question that asks for a lease for a request, and settles the one before."""
        settled, used = (self.lease.lease_id, self.lease.used) if self.lease else ("", 0)
        return Question(key, self.project_id, lot=self.wanted(now), lease=token_hex(8), settled=settled, used=used)

    def renewal(self, key: int | str, now: float) -> Question | None:
        """Return the question that asks for the next lease without a request; None if the key needs none."""
        if self.lease is None or self.asks or not (wanted := self.wanted(now)):
            return None
        return Question(key, self.project_id, amount=0, lot=wanted, lease=token_hex(8))

    def settle(self, key: int | str, now: float) -> list[Question]:
        """Drop the leases that have ended or were renewed, and return the questions that settle them."""
        ended, self.renewed = self.renewed, []
        if self.lease is not None and now >= self.lease.until and not self.asks:
            ended.append(self.lease)
            self.lease = None
        return [Question(key, self.project_id, amount=0, settled=lease.lease_id, used=lease.used) for lease in ended]

    @property
    def has_leases(self) -> bool:
        return self.lease is not None or bool(self.renewed)

    def is_idle(self, now: float) -> bool:
        return not self.has_leases and not self.asks and now - self.begin > IDLE_S


class LeasedWindow(Window):
    """Counts the requests of busy keys by leases, and all others one by one. Raises as `SharedWindow`."""

    def __init__(self, shared: SharedWindow, clock: Callable[[], float] = monotonic) -> None:
        super().__init__(shared.limit, shared.ingest_limit)
        self._shared, self._clock = shared, clock
        self._lock = threading.Lock()
        self._keys: dict[int | str, _Key] = {}
        self._renewer: threading.Thread | None = None
        self._full_at = KEYS_MAX

    def hit(self, key: int | str, project_id: int | None = None, ingest: bool = False, amount: int = 1) -> Allowance:
        if project_id is None or ingest or amount != 1:
            return self._shared.hit(key, project_id, ingest, amount)
        with self._lock:
            now = self._clock()
            known = self._keys.get(key)
            if known is None:
                if len(self._keys) >= self._full_at:
                    self._forget_idle(now)
                    self._full_at = max(KEYS_MAX, 2 * len(self._keys))
                known = self._keys[key] = _Key(project_id, now)
            known.add(now)
            lease = known.lease
            if lease is not None and lease.left and now < lease.until:
                lease.left -= 1
                lease.used += 1
                return lease.allowance
            if known.asks or not (lease or known.wanted(now)):
                question = Question(key, project_id)
            else:
                known.asks = True
                question = known.question(key, now)
        return self._asked(known, question, now) if question.lease else self._shared.ask(question)[0]

    def give_back(self, key: int | str) -> None:
        self._shared.give_back(key)

    def _asked(self, known: _Key, question: Question, began: float) -> Allowance:
        """Ask for a lease, and keep it. `began` is before the question, so that the lease ends in time."""
        lot = 0
        try:
            allowance, lot = self._shared.ask(question)
        finally:
            with self._lock:
                known.asks = False
                known.lease = None
                if lot:
                    known.lease = Lease(question.lease, began + LEASE_S, lot - 1, allowance)
                    self._begin_renewing()
        return allowance

    def _begin_renewing(self) -> None:
        if self._renewer is None:
            self._renewer = threading.Thread(target=self._renew, name="leases", daemon=True)
            self._renewer.start()

    def _renew(self) -> None:
        """Renew and settle leases until there is none."""
        while True:
            time.sleep(RENEWED_S)
            self.renew()
            with self._lock:
                if not any(known.has_leases for known in self._keys.values()):
                    self._renewer = None
                    return

    def renew(self) -> None:
        """Settle the leases that have ended, and renew those of busy keys, in one message. Forget idle keys.

        A renewed lease may be used until the answer. If there is none, it may be used until its end.
        """
        settled = self.ended()
        with self._lock:
            began = self._clock()
            asked = [(known, question) for key, known in self._keys.items() if (question := known.renewal(key, began))]
            for known, _ in asked:
                known.asks = True
        answers: Sequence[tuple[Allowance, int]] = ()
        try:
            answers = self.send([*settled, *(question for _, question in asked)])
        finally:
            with self._lock:
                for known, _ in asked:
                    known.asks = False
                for (known, question), (allowance, lot) in zip(asked, answers[len(settled) :], strict=False):
                    if lot:
                        known.renewed += [known.lease] if known.lease else []
                        known.lease = Lease(question.lease, began + LEASE_S, lot, allowance, used=0)

    def ended(self) -> list[Question]:
        """Drop the leases that have ended or were renewed, and return the questions that settle them."""
        with self._lock:
            now = self._clock()
            self._forget_idle(now)
            return [question for key, known in self._keys.items() for question in known.settle(key, now)]

    def _forget_idle(self, now: float) -> None:
        self._keys = {key: known for key, known in self._keys.items() if not known.is_idle(now)}

    def send(self, questions: Sequence[Question]) -> Sequence[tuple[Allowance, int]]:
        """Return the answers; none if Redis does not answer."""
        try:
            return self._shared.ask_all(questions)
        except (redis.RedisError, Unavailable):
            log.warning("leases_not_settled", keys=len(questions))
            return ()
