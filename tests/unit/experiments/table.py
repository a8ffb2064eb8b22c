"""Simulates how sure a verdict is: `python -m tests.unit.experiments.table` writes tables into docs/experiments.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.experiments.statistics import DETECT, wilson_interval
from tests.unit.experiments.simulation import ALPHA, Rates, Tally, design, exactly, fixed_repeats, simulate

PAGE = Path(__file__).parents[3] / "docs" / "experiments.md"
BEGIN, END = "<!-- begin of the simulations -->\n", "<!-- end of the simulations -->\n"

PASS_RATES = (1.0, 0.95, 0.8, 0.5)
EXPERIMENTS = {1: 1000, 5: 900, 20: 400, 50: 200}  # without a difference, by the number of test cases
CHANGES_EACH = 1000


@dataclass(frozen=True)
class Same:
    """Experiments in which candidate and baseline pass equally often, by the number of test cases."""

    pass_rate: float
    tallies: dict[int, Tally]

    @property
    def failed(self) -> int:
        return round(sum(EXPERIMENTS[cases] * tally.chances["failed"] for cases, tally in self.tallies.items()))

    @property
    def bounds(self) -> tuple[float, float]:
        return wilson_interval(self.failed, sum(EXPERIMENTS.values()))


@dataclass(frozen=True)
class Change:
    """A change for the worse, and what came of it; `fixed` is the number of repeats of the fixed design."""

    name: str
    detect: float
    tally: Tally
    fixed: int


def same() -> list[Same]:
    """Simulate 10,000 experiments without a difference."""
    return [
        Same(
            rate, {n: simulate(design(DETECT), ((1 - rate, 1 - rate),) * n, often) for n, often in EXPERIMENTS.items()}
        )
        for rate in PASS_RATES
    ]


def broken() -> list[Change]:
    """Return the exact chances for one step that fails one time in three, where everything else passes always."""
    return [
        _change(f"100 % to 67 % in 1 of {cases}", detect, exactly(design(detect), 1 / 3, cases), cases)
        for detect, cases in ((0.5, 5), (0.33, 5), (DETECT, 1), (DETECT, 5), (DETECT, 20))
    ]


def _change(name: str, detect: float, tally: Tally, cases: int, rates: Rates = (1 / 3, 0.0)) -> Change:
    return Change(name, detect, tally, fixed_repeats(rates, ALPHA / cases, tally.chances["failed"]))


def dropped() -> list[Change]:
    """Simulate changes of a prompt with unreliable test cases, in one of 20 test cases and in all of them."""
    third = simulate(design(DETECT), ((1 / 3, 0.02), *((0.02, 0.02),) * 19), CHANGES_EACH)
    found = [_change("98 % to 67 % in 1 of 20", DETECT, third, 20, (1 / 3, 0.02))]
    for detect, cases in ((0.5, 5), (DETECT, 5), (0.5, 20), (DETECT, 20), (0.1, 20)):
        one = simulate(design(detect), ((0.3, 0.05), *((0.05, 0.05),) * (cases - 1)), CHANGES_EACH)
        found.append(_change(f"95 % to 70 % in 1 of {cases}", detect, one, cases, (0.3, 0.05)))
    for detect in (0.5, 0.25):
        tally = simulate(design(detect), ((0.15, 0.05),) * 20, CHANGES_EACH)
        fixed = fixed_repeats((0.15, 0.05), ALPHA, min(0.99, tally.chances["failed"]), pooled=20)
        found.append(Change("95 % to 85 % in all 20", detect, tally, fixed))
    return found


def rendered(equal: list[Same], changes: list[Change]) -> str:
    """The tables as Markdown."""
    total = len(equal) * sum(EXPERIMENTS.values())
    lines = [
        f"{total:,} experiments without a difference, `alpha` 0.05 and `detect` {DETECT:g}:",
        "",
        f"| Both pass | Failed (at most) | {' | '.join(f'Passed with {_cases(n)}' for n in EXPERIMENTS)} |",
        f"|---|---|{'---|' * len(EXPERIMENTS)}",
        *map(_same_row, equal),
        "",
        "Changes for the worse:",
        "",
        "| Change | `detect` | Failed | Inconclusive | Passed | Replays of a test case and side | Fixed design |",
        "|---|---|---|---|---|---|---|",
        *map(_change_row, changes),
        "",
    ]
    return "\n".join(lines)


def _same_row(row: Same) -> str:
    passed = " | ".join(_percent(tally.chances["passed"]) for tally in row.tallies.values())
    bound = f"{_percent(row.failed / sum(EXPERIMENTS.values()))} ({_percent(row.bounds[1])})"
    return f"| {100 * row.pass_rate:.0f} % | {bound} | {passed} |"


def _change_row(row: Change) -> str:
    shares = " | ".join(_percent(chance) for chance in row.tally.chances.values())
    return f"| {row.name} | {row.detect:g} | {shares} | {row.tally.replays:.1f} | {row.fixed} |"


def _cases(count: int) -> str:
    return "1 test case" if count == 1 else f"{count} test cases"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def of_page() -> str:
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def write() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    made = rendered(same(), broken() + dropped())
    PAGE.write_text(before + BEGIN + made + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    write()
