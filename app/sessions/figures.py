"""The figures of sessions, which add up by day, version and model, so that versions can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from math import ceil, floor, log, sqrt
from statistics import NormalDist

import msgspec

from app.prices.book import PriceBook
from app.sessions.facts import TurnFacts
from app.sessions.model_calls import CallSums
from app.timestamps import NS_PER_MS
from app.values.structs import decoder

GROWTH = 1.1
"""The bounds of a sketch's buckets grow by this factor, so that its values are accurate within 5 %."""
PER_USD = 1_000_000
"""The costs of a sketch are in millionths of a US dollar."""
_Z = NormalDist().inv_cdf(0.975)

Sketch = Mapping[int, int]
"""Numbers of values by bucket; sketches of different values add up to the sketch of all of them."""


class Sums(msgspec.Struct, frozen=True, omit_defaults=True):
    """Sums over sessions. `failed` counts sessions with errors, `tool_failed` sessions with a failed tool call.

    For the `unpriced` sessions `cost_usd` has the known part.
    """

    sessions: int = 0
    failed: int = 0
    turns: int = 0
    errors: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    tool_failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    unpriced: int = 0
    cost_usd: float = 0.0


class Figures(Sums, frozen=True, omit_defaults=True):
    """Sums over sessions, with sketches of their values.

    `latency` is the sketch of the turns' milliseconds, from the first span's start to the last one's end. `cost` is the
    sketch of the costs of sessions with a price for all calls.
    """

    latency: Sketch = {}
    cost: Sketch = {}

    @property
    def negative(self) -> Figures:
        """The negative of these figures: adding it subtracts them."""
        sketches = ({bucket: -count for bucket, count in sketch.items()} for sketch in (self.latency, self.cost))
        return Figures(*(-getattr(self, name) for name in _SUMS), *sketches)


_SUMS = Sums.__struct_fields__


def sum_up(sums: Iterable[Sums]) -> Sums:
    """Return the sums without sketches."""
    rows = [msgspec.structs.astuple(part)[: len(_SUMS)] for part in sums]
    return Sums(*map(sum, zip(*rows, strict=True)))


class FiguresSum:
    """Adds up figures without keeping them; buckets that come to 0 are left out."""

    def __init__(self) -> None:
        self._sums = Sums()
        self._latency: Counter[int] = Counter()
        self._cost: Counter[int] = Counter()

    def add(self, figures: Figures) -> None:
        self._sums = sum_up((self._sums, figures))
        self._latency.update(figures.latency)
        self._cost.update(figures.cost)

    @property
    def figures(self) -> Figures:
        """The sum so far. Later additions do not change it."""
        sketches = (
            {bucket: count for bucket, count in sketch.items() if count} for sketch in (self._latency, self._cost)
        )
        return Figures(*msgspec.structs.astuple(self._sums), *sketches)


def total(figures: Iterable[Figures]) -> Figures:
    """Return the sums with the sketches."""
    figures_sum = FiguresSum()
    for part in figures:
        figures_sum.add(part)
    return figures_sum.figures


class Counted(msgspec.Struct, frozen=True):
    """The figures of one session, and where they count: `version` and `model` are "" for none and for several."""

    day: date
    version: str
    model: str
    figures: Figures


dump = msgspec.json.Encoder().encode
"""Encode `Figures` or `Counted` as JSON."""
load = decoder(Figures)
load_sums = decoder(Sums)
"""Decode `Figures` without the sketches, which are most of them."""
load_counted = decoder(Counted)


def count(day: date, facts: Iterable[TurnFacts], prices: PriceBook) -> tuple[Counted, CallSums]:
    """Return the figures of a session that begins on `day`, from the facts of its turns, and its model calls.

    A session without active turns, such as a health check, counts as none.
    """
    sums: Counter[str] = Counter()
    latency: Counter[int] = Counter()
    versions: set[str] = set()
    models: set[str] = set()
    calls = CallSums()
    is_active = False
    for turn_facts in facts:
        is_active = is_active or turn_facts.is_active
        sums.update(
            turns=1, errors=turn_facts.errors, tool_calls=turn_facts.tool_calls, tool_errors=turn_facts.tool_errors
        )
        sums.update(input_tokens=turn_facts.usage.input_tokens, output_tokens=turn_facts.usage.output_tokens)
        latency[bucket_of((turn_facts.end_ns - turn_facts.start_ns) / NS_PER_MS)] += 1
        versions |= turn_facts.prompt_versions
        models |= turn_facts.models
        calls.add(turn_facts.calls)
    if not is_active:
        return Counted(day, "", "", Figures()), calls
    bill = calls.bill(prices)
    cost_usd = bill.total_usd or 0.0
    figures = Figures(
        **sums,
        sessions=1,
        failed=int(sums["errors"] > 0),
        tool_failed=int(sums["tool_errors"] > 0),
        unpriced=int(bool(bill.unpriced)),
        cost_usd=cost_usd,
        latency=dict(latency),
        cost={bucket_of(cost_usd * PER_USD): 1} if bill.cost and not bill.unpriced else {},
    )
    return Counted(day, only(versions), only(models), figures), calls


def only(names: Collection[str]) -> str:
    """Return the name where there is just one, else ""."""
    return next(iter(names)) if len(names) == 1 else ""


def bucket_of(value: float) -> int:
    """Return the bucket of a value: 0 below 1, else one more than its logarithm to the base `GROWTH`, rounded down."""
    return 1 + floor(log(value) / log(GROWTH)) if value >= 1 else 0


def bounds_of(bucket: int) -> tuple[float, float]:
    """Return the bounds of a bucket's values: the lower one is among them, the upper one is the next bucket's."""
    return (GROWTH ** (bucket - 1), GROWTH**bucket) if bucket else (0.0, 1.0)


def value_of(bucket: int) -> float:
    """Return a value within 5 % of every value in the bucket; 0 for bucket 0."""
    return 2 * GROWTH**bucket / (1 + GROWTH) if bucket else 0.0


def quantile(sketch: Sketch, share: float) -> float | None:
    """Return the value below which `share` (0 to 1) of the values lie, within 5 %; None for an empty sketch."""
    values = sum(sketch.values())
    return value_of(_nth(sketch, max(1, ceil(share * values)))) if values > 0 else None


def quantile_interval(sketch: Sketch, share: float) -> tuple[float, float] | None:
    """Return the bounds of the quantile at 95 % confidence, by the ranks of the values; None for too few values.

    Conover, "Practical Nonparametric Statistics", 3rd edition (1999), section 3.2.
    """
    values = sum(sketch.values())
    middle, half = values * share, _Z * sqrt(values * share * (1 - share))
    low, high = floor(middle - half), ceil(middle + half) + 1
    if low < 1 or high > values:
        return None
    return bounds_of(_nth(sketch, low))[0], bounds_of(_nth(sketch, high))[1]


def _nth(sketch: Sketch, rank: int) -> int:
    """Return the bucket of the value that comes at this rank, from 1 on; of the last one where there are fewer."""
    bucket = 0
    for bucket in sorted(sketch):
        rank -= sketch[bucket]
        if rank <= 0:
            break
    return bucket
