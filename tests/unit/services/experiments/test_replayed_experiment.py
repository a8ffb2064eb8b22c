"""The next replays of an experiment follow only from its replays, and it ends whatever they find."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.models.experiment_replays import COUNTED, PlayedRow
from app.models.experiments import ExperimentRow
from app.models.replays import UNFINISHED
from app.services.experiments import replayed_experiment
from app.services.experiments.findings import findings_of, summary_of
from app.services.experiments.plan import BASELINE, CANDIDATE, FIRST_MODEL, Parameters, Plan, PlannedModel, Repeats
from app.services.experiments.replayed_experiment import ReplayedExperiment, WantedReplay
from app.services.replays.frozen import FrozenCase

NOW = datetime(2026, 1, 1, tzinfo=UTC)
IN_WORK_MAX = 5
MIN, MAX = 2, 6
OUTCOMES = ("passed", "passed", "passed", "failed", "needs_review", "void", "error", "cancelled", None)


def plan(cases: int = 2, *, snapshots: tuple[int | None, ...] = (1, 2), **parameters: Any) -> Plan:
    """A plan with snapshots for each arm: the candidate's, the baseline's, and those of other models."""
    candidate, baseline, *models = snapshots
    row = ExperimentRow(
        id=1,
        project_id=1,
        prompt_id=1,
        kind="experiment",
        status="running",
        verdict=None,
        reason=None,
        candidate_kind="draft",
        candidate_commit=None,
        candidate_snapshot_id=candidate or 0,
        candidate_fingerprint="a",
        candidate_external=None,
        baseline_commit=None,
        baseline_snapshot_id=baseline,
        baseline_fingerprint="b",
        baseline_external=None,
        judge_model_id=None,
        design={},
        done=0,
        total=0,
        summary={},
        created_at=NOW,
        started_at=None,
        finished_at=None,
    )
    planned = tuple(FrozenCase(number, f"Case {number}", number, 1) for number in range(cases))
    others = tuple(PlannedModel(f"model-{each}", each or 0) for each in models)
    return Plan(row, Parameters(Repeats(MIN, MAX), 0.5, 0.05, **parameters), planned, others)


def played(wanted: WantedReplay, replay_id: int, status: str | None = "passed", **values: Any) -> PlayedRow:
    row = PlayedRow(
        arm=wanted.series.arm,
        variant=wanted.series.variant,
        test_case_id=wanted.series.test_case_id,
        ordinal=wanted.ordinal,
        replay_id=replay_id,
        reused=False,
        status=status,
        violated=False,
        accepted_partial=False,
        answers_digest=None,
        attempts=1,
        prompt_tokens=3,
        completion_tokens=1,
        prompt_cost_usd=0.03,
        completion_cost_usd=0.01,
        started_at=NOW,
        finished_at=NOW + timedelta(milliseconds=replay_id),
    )
    return replace(row, **values)


def ordered(rows: list[PlayedRow]) -> list[PlayedRow]:
    return sorted(rows, key=lambda row: (row.arm, row.test_case_id, row.ordinal))


def over(experiment: ReplayedExperiment) -> bool:
    return experiment.assessment.is_decided or experiment.assessment.arm_without_result is not None


SNAPSHOTS = st.sampled_from([(1, 2), (1, 1), (1, None), (1, 2, 3), (1, 2, 1), (1, 1, 2)])


@pytest.mark.slow
@settings(max_examples=150)
@given(data=st.data(), snapshots=SNAPSHOTS, cases=st.integers(1, 3), max_cost=st.sampled_from([None, 0.5]))
def test_every_experiment_ends_in_whatever_order_its_replays_end_with_whatever_result(
    data: st.DataObject, snapshots: tuple[int | None, ...], cases: int, max_cost: float | None
) -> None:
    fixed = plan(cases, snapshots=snapshots, max_cost=max_cost)
    rows: list[PlayedRow] = []
    while not over(experiment := ReplayedExperiment(fixed, ordered(rows))):
        added = experiment.assessment.wanted[: IN_WORK_MAX - experiment.in_work]
        rows += [played(each, len(rows) + number, "running") for number, each in enumerate(added)]
        in_work = [index for index, row in enumerate(rows) if row.status in UNFINISHED]
        assert in_work, "it neither has ended nor waits for a replay"
        ended = data.draw(st.sampled_from(in_work))
        rows[ended] = replace(rows[ended], status=data.draw(st.sampled_from(OUTCOMES)))

    of_series = Counter((row.arm, row.test_case_id) for row in rows)
    results = Counter((row.arm, row.test_case_id) for row in rows if row.status in COUNTED)
    assert max(of_series.values(), default=0) <= 2 * MAX
    assert max(results.values(), default=0) <= MAX
    for arm, test_case_id in of_series:
        ordinals = [row.ordinal for row in ordered(rows) if (row.arm, row.test_case_id) == (arm, test_case_id)]
        assert ordinals == list(range(len(ordinals)))
    findings = findings_of(experiment, experiment.assessment.decisions)
    assert len(findings.test_cases) == cases
    assert len(findings.models) == len(fixed.models)
    summary = summary_of(experiment, experiment.assessment.decisions, lambda _replay_id: [])
    assert summary.cost.total == pytest.approx(0.04 * len(rows))


def first_round(fixed: Plan, **values: Any) -> list[PlayedRow]:
    wanted = ReplayedExperiment(fixed, []).assessment.wanted
    return ordered([played(each, number, **values) for number, each in enumerate(wanted)])


def test_the_first_replays_go_over_all_test_cases_and_both_sides() -> None:
    wanted = ReplayedExperiment(plan(), []).assessment.wanted
    assert [(each.ordinal, each.series.test_case_id, each.series.arm) for each in wanted] == [
        (ordinal, case, arm) for ordinal in range(MIN) for case in range(2) for arm in (CANDIDATE, BASELINE)
    ]


def test_equal_contents_have_one_series() -> None:
    wanted = ReplayedExperiment(plan(1, snapshots=(1, 1, 1)), []).assessment.wanted
    assert [(each.ordinal, each.series.arm) for each in wanted] == [(0, CANDIDATE)]


def test_replays_that_end_early_do_not_count_before_earlier_ones() -> None:
    rows = first_round(plan(1))
    slow = [replace(row, status="running") if row.ordinal == 0 and row.arm == CANDIDATE else row for row in rows]
    experiment = ReplayedExperiment(plan(1), slow)
    assert experiment.trials_of(CANDIDATE, experiment.plan.cases[0]) == []
    assert len(experiment.trials_of(BASELINE, experiment.plan.cases[0])) == MIN


def test_a_violation_counts_at_once() -> None:
    rows = first_round(plan(1), status="running")
    violated = [replace(r, status="failed", violated=True) if r.ordinal and r.arm == CANDIDATE else r for r in rows]
    decision = ReplayedExperiment(plan(1), violated).assessment.decisions[CANDIDATE]
    assert decision.verdict == "failed"


@pytest.mark.parametrize(
    ("snapshots", "arm", "stopped"),
    [
        ((1, 2, 3), CANDIDATE, {CANDIDATE}),
        ((1, 2, 3), FIRST_MODEL, {FIRST_MODEL}),
        ((1, 2, 3), BASELINE, set()),
        # The other model is compared with the candidate's replays, which are the baseline's, too.
        ((1, 1, 3), CANDIDATE, set()),
    ],
)
def test_a_violation_stops_the_arm_unless_others_are_compared_with_it(
    snapshots: tuple[int | None, ...], arm: int, stopped: set[int]
) -> None:
    fixed = plan(1, snapshots=snapshots)
    rows = [replace(r, status="failed", violated=True) if r.arm == arm else r for r in first_round(fixed)]
    assert ReplayedExperiment(fixed, rows).violated_arms == stopped


def test_the_cancelled_rest_of_an_arm_with_a_violation_counts_as_no_error() -> None:
    fixed = plan(1, snapshots=(1, 2, 3))
    rows = [
        replace(row, status="failed", violated=not row.ordinal)
        if row.arm == CANDIDATE
        else replace(row, status="error")
        for row in first_round(fixed)
    ]
    cancelled = [replace(row, status="cancelled") if row.arm == CANDIDATE and row.ordinal else row for row in rows]
    assert ReplayedExperiment(fixed, cancelled)._errors == ReplayedExperiment(fixed, rows)._errors == 2 * MIN


def test_a_violation_of_the_baseline_is_no_fault_of_the_candidate() -> None:
    rows = [replace(r, status="failed", violated=True) if r.arm == BASELINE else r for r in first_round(plan(1))]
    assert ReplayedExperiment(plan(1), rows).assessment.decisions[CANDIDATE].verdict != "failed"


def test_what_a_budget_stopped_is_no_error() -> None:
    fixed = plan(1, max_cost=0.04 * MIN)
    rows = [
        replace(row, status="cancelled", prompt_cost_usd=0, completion_cost_usd=0) if row.arm == BASELINE else row
        for row in first_round(fixed)
    ]
    assessment = ReplayedExperiment(fixed, rows).assessment
    assert (assessment.arm_without_result, assessment.decisions[CANDIDATE].verdict) == (None, "inconclusive")
    assert "the cost reached $0.08" in (assessment.decisions[CANDIDATE].reason or "")


def test_an_experiment_has_a_largest_number_of_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayed_experiment, "REPLAYS_MAX", 5)
    fixed = plan(2)
    assert len(ReplayedExperiment(fixed, []).assessment.wanted) == 5
    rows = first_round(fixed)
    assert ReplayedExperiment(fixed, [*rows[:4], replace(rows[4], status="running")]).assessment.wanted == []
    assessment = ReplayedExperiment(fixed, rows).assessment
    assert assessment.decisions[CANDIDATE].verdict == "inconclusive"


def test_reused_results_cost_nothing_and_interrupted_replays_have_no_latency() -> None:
    fixed = plan(1)
    rows = [replace(row, reused=row.arm == BASELINE, attempts=1 + row.ordinal) for row in first_round(fixed)]
    experiment = ReplayedExperiment(fixed, rows)
    found = findings_of(experiment, experiment.assessment.decisions).test_cases[0]
    assert found.baseline is not None
    assert (found.baseline.reused, found.baseline.cost.total, found.baseline.tokens.total) == (MIN, 0, 0)
    assert found.candidate.cost.total == pytest.approx(0.04 * MIN)
    assert found.candidate.latency.p50 == found.candidate.latency.p95 == 0


def test_an_experiment_keeps_so_many_violations_and_no_arguments_beyond_a_length() -> None:
    fixed = plan(1)
    rows = [replace(row, status="failed", violated=True) for row in first_round(fixed)]
    experiment = ReplayedExperiment(fixed, rows)
    found = {"kind": "extra_write", "tool": "refund", "turn": 0, "message": "It was called."}

    def violations(replay_id: int) -> list[dict[str, Any]]:
        return [found | {"arguments": {"note": "x" * (20_000 if number else 3)}} for number in range(60)]

    kept = summary_of(experiment, experiment.assessment.decisions, violations).violations
    assert [each.arguments for each in kept[:2]] == [{"note": "xxx"}, None]
    assert (len(kept), {each.test_case_id for each in kept}) == (100, {0})
