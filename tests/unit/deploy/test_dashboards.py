"""The Grafana dashboard and the alert rules name metrics and labels that exist, and every alert is explained."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.metrics import registry

ROOT = Path(__file__).parents[3]
ALERTS = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text())
BOARD = json.loads((ROOT / "deploy/grafana/reprise.json").read_text())
HISTORIES = Path(__file__).with_name("alerts.yaml")
SELECTOR = re.compile(r"(reprise_\w+)(?:\{([^}]*)\})?")
GROUPING = re.compile(r"by \(([^)]*)\)")
PARTS = ("_bucket", "_sum", "_count")


def rules() -> list[dict[str, Any]]:
    return [rule for group in ALERTS["groups"] for rule in group["rules"]]


def expressions() -> Iterator[tuple[str, str]]:
    """Return pairs of (place, PromQL)."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in BOARD["panels"]:
        for target in panel.get("targets", ()):
            yield f"{panel['title']} {target['refId']}", target["expr"]


def metric_of(name: str) -> registry.Metric | None:
    for part in PARTS:
        found = registry.BY_NAME.get(name.removesuffix(part))
        if name.endswith(part) and found is not None and found.kind == "histogram":
            return found
    return registry.BY_NAME.get(name)


@pytest.mark.parametrize(("place", "expression"), list(expressions()), ids=lambda text: text[:40])
def test_every_metric_and_label_exists(place: str, expression: str) -> None:
    selectors = SELECTOR.findall(expression)
    assert selectors or "up{" in expression, place
    for name, matchers in selectors:
        metric = metric_of(name)
        assert metric is not None, f"{place}: there is no {name}"
        assert name.endswith(PARTS) == (metric.kind == "histogram"), f"{place}: {name}"
        known = {*metric.labels, "le"}
        used = set(re.findall(r"(\w+)\s*(?:=~|!=|!~|=)", matchers))
        grouped = {label.strip() for labels in GROUPING.findall(expression) for label in labels.split(",")}
        assert used | grouped <= known, f"{place}: {name} has the labels {known}"


needs_promtool = pytest.mark.program("promtool")


def promtool(*arguments: str | Path) -> None:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_prometheus_accepts_every_expression(tmp_path: Path) -> None:
    recorded = [
        {"record": f"checked:{number}", "expr": expression.replace("$__rate_interval", "5m")}
        for number, (_, expression) in enumerate(expressions())
    ]
    rules = tmp_path / "dashboard.yaml"
    rules.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": recorded}]}))
    promtool("check", "rules", rules, ROOT / "deploy/prometheus/alerts.yaml")


@needs_promtool
def test_every_alert_fires_when_it_should_and_none_before() -> None:
    promtool("test", "rules", HISTORIES)


def test_every_alert_is_tried() -> None:
    [_, bad] = yaml.safe_load(HISTORIES.read_text())["tests"]
    fired = [sample["labels"] for sample in bad["promql_expr_test"][0]["exp_samples"]]
    assert fired == [f'{{alertname="{rule["alert"]}"}}' for rule in rules()]


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {
        metric.name for _, text in expressions() for name, _ in SELECTOR.findall(text) if (metric := metric_of(name))
    }
    assert {metric.name for metric in registry.METRICS} <= shown


def test_legends_name_labels_that_the_query_keeps() -> None:
    for panel in BOARD["panels"]:
        for target in panel.get("targets", ()):
            kept = {label.strip() for labels in GROUPING.findall(target["expr"]) for label in labels.split(",")}
            used = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert used <= kept | set(re.findall(r"^reprise_\w+$", target["expr"])), panel["title"]


def test_panels_have_different_ids_and_places() -> None:
    panels = BOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_every_alert_names_what_is_wrong_and_is_explained(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert rule["annotations"]["summary"]
    assert f"### {rule['alert']}\n" in (ROOT / "docs/operations.md").read_text()


def test_every_explained_alert_exists() -> None:
    explained = re.findall(r"^### (Reprise\w+)$", (ROOT / "docs/operations.md").read_text(), re.M)
    assert explained == [rule["alert"] for rule in rules()]
