"""The benchmark of reading sees a work that became slower, and counts the benchmark's own batch in no sum."""

from __future__ import annotations

import pytest

from bench.reading import ALL, BENCHMARK, GOALS, Batches, ratios, report, together
from bench.spans import batch

PARSED = {"json.loads": 0.010, "protobuf": 0.001}
FAST = PARSED | {
    name: 0.9 * goal * PARSED["protobuf" if "protobuf" in name else "json.loads"] for name, goal in GOALS.items()
}


def test_works_are_compared_with_the_parsing_of_their_encoding() -> None:
    assert ratios(FAST) == pytest.approx({name: 0.9 * goal for name, goal in GOALS.items()})


@pytest.mark.parametrize("name", GOALS)
def test_a_work_that_became_slower_misses_its_goal(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    report({"vercel": FAST, "adk": FAST})
    assert "all goals are met" in capsys.readouterr().out

    report({"vercel": FAST, "adk": FAST | {name: 2 * FAST[name]}})
    assert f"missed: {name}\n" in capsys.readouterr().out


def test_the_batch_of_the_benchmark_is_listed_and_not_in_the_sum(capsys: pytest.CaptureFixture[str]) -> None:
    slow = {name: 100 * took for name, took in FAST.items()}

    assert together({"vercel": FAST, BENCHMARK: slow}) == FAST
    report({"vercel": FAST, BENCHMARK: slow})
    listed = [line.split("  ")[1] for line in capsys.readouterr().out.splitlines() if " ms" in line]
    assert listed == ["vercel", BENCHMARK, ALL]


def test_every_work_reads_all_spans_of_the_batches() -> None:
    batches = Batches([batch(1, 14, start_ns=10**18), batch(1, 7, start_ns=10**18)])
    works = batches.works()

    assert [len(decoded.spans) for decoded in works["decode"]()] == [14, 7]  # type: ignore[attr-defined]
    assert [len(decoded.spans) for decoded in works["decode protobuf"]()] == [14, 7]  # type: ignore[attr-defined]
    assert list(map(len, works["facts"]())) == list(map(len, works["session"]())) == [2, 1]  # type: ignore[call-overload]
