"""docs/metrics.md and the registry agree."""

import re
from pathlib import Path

import pytest

from app.metrics.registry import BY_NAME, METRICS, Metric

DOCUMENT = Path(__file__).parents[3] / "docs/metrics.md"
ROW = re.compile(r"^\| `(reprise_\w+)` \| (\w+) \| (.*?) \| (\d+) \| (.+) \|$", re.M)


def documented() -> dict[str, tuple[str, tuple[str, ...], int, str]]:
    rows = ROW.findall(DOCUMENT.read_text())
    return {
        name: (kind, tuple(re.findall(r"`(\w+)`", labels)), int(series), text)
        for name, kind, labels, series, text in rows
    }


def test_every_metric_is_documented_with_its_declaration() -> None:
    declared = {m.name: (m.kind, m.labels, m.series_max if m.labels else 1, m.help) for m in METRICS}
    assert documented() == declared


def test_no_two_metrics_have_one_name() -> None:
    assert len(BY_NAME) == len(METRICS)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_names_follow_prometheus(metric: Metric) -> None:
    assert re.fullmatch(r"reprise_[a-z_]+[a-z]", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert bool(metric.buckets) == (metric.kind == "histogram")
    assert metric.help.endswith(".")
