"""The findings of an experiment, stored when it ends; each struct also describes its JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
import orjson

from app.chat import Tokens
from app.experiments.ranking import ranks
from app.experiments.statistics import pass_k, percentile, wilson_interval
from app.experiments.types import CaseClass, Decision, Verdict
from app.models.experiment_replays import PlayedRow
from app.models.replays import CandidateKind
from app.models.runs import StoredCost
from app.replay.result_types import ViolationKind
from app.services.experiments.plan import BASELINE, FIRST_MODEL, Plan
from app.services.experiments.replayed_experiment import UNDECIDED, ReplayedExperiment, latency_ms
from app.services.replays.frozen import FrozenCase
from app.values.structs import convert

# Violations that an experiment stores, and the longest stored arguments of one, as bytes of JSON.
MOST_VIOLATIONS = 100
ARGUMENTS_BYTES = 20_000


class _FindingsDocument(msgspec.Struct, frozen=True, rename="camel"):
    pass


class Latency(_FindingsDocument, frozen=True):
    """The median and the 95th percentile of the replays' milliseconds; None without a measured replay."""

    p50: float | None
    p95: float | None


class Side(_FindingsDocument, frozen=True):
    """The replays of a test case with one arm; `undecided` counts the ones in need of review or void.

    `interval` is the 95 % Wilson interval. Tokens and costs are only those of replays played for this experiment;
    reused results count as zero.
    """

    runs: int
    passed: int
    pass_rate: float | None
    interval: tuple[float, ...]
    pass_k: tuple[float, ...]
    tokens: Tokens
    cost: StoredCost
    latency: Latency
    reused: int
    replay_ids: tuple[int, ...]
    failed_replay_ids: tuple[int, ...]
    undecided: int = 0


class CaseFindings(_FindingsDocument, frozen=True):
    """The findings of a test case; `baseline` is None in an experiment without a baseline.

    `variant` is the name of the variant that was played, which is a part of `name`; None for the recording. A `blind`
    test case cannot show a drop, because the baseline passes it too rarely. `accepted_partial` is true if replays of it
    were played although they can't show all that the recorded model saw.
    """

    test_case_id: int
    name: str
    class_: CaseClass = msgspec.field(name="class")
    candidate: Side
    baseline: Side | None
    blind: bool = False
    variant: str | None = None
    accepted_partial: bool = False


class ModelFindings(_FindingsDocument, frozen=True):
    """The findings of the test cases with another model; its side is called `candidate`."""

    language_model_name: str
    test_cases: tuple[CaseFindings, ...]


class FoundViolation(_FindingsDocument, frozen=True):
    """A violation with the candidate's replay that has it; very long arguments are only in the replay."""

    test_case_id: int
    replay_id: int
    kind: ViolationKind
    tool: str
    turn: int
    arguments: Any
    message: str
    variant: str | None = None


class CandidateSummary(_FindingsDocument, frozen=True):
    """What is shown of one of several candidates; `violated` counts its replays with a violation."""

    name: str
    rank: int
    kind: CandidateKind
    commit_hash: str | None
    fingerprint: str
    verdict: Verdict | None
    reason: str | None
    classes: dict[CaseClass, int]
    blind: int
    sighted: int
    violated: int
    detectable: float | None
    p_value: float | None


class CandidateFindings(_FindingsDocument, frozen=True):
    """The findings of the test cases with one of several candidates."""

    name: str
    test_cases: tuple[CaseFindings, ...]


class SummaryAudit(_FindingsDocument, frozen=True):
    """The audit of an experiment's judge; `sentence` is None until it has ended."""

    id: int
    sentence: str | None


class Summary(_FindingsDocument, frozen=True):
    """The part of the findings that lists show too.

    `classes` counts the test cases of each class. `blind` counts the blind ones. `sighted` counts the others and the
    blind ones that got better, None where an earlier release did not count them. `reused` counts the replays with
    reused results. `p_value` belongs to the comparison with the baseline. Of several `candidates`, which are in the
    order of their ranks, all this belongs to the first. `judge_audit` is None in experiments of earlier releases.
    """

    classes: dict[CaseClass, int] = {}
    reused: int = 0
    violations: tuple[FoundViolation, ...] = ()
    detectable: float | None = None
    p_value: float | None = None
    tokens: Tokens = Tokens()
    cost: StoredCost = StoredCost(0, 0, 0)
    blind: int = 0
    sighted: int | None = None
    candidates: tuple[CandidateSummary, ...] = ()
    judge_audit: SummaryAudit | None = None


class Findings(_FindingsDocument, frozen=True):
    """The findings of each test case: with the candidate, with the compared models, with each of several candidates.

    `test_cases` belong to the candidate that is ranked first.
    """

    test_cases: tuple[CaseFindings, ...]
    models: tuple[ModelFindings, ...]
    candidates: tuple[CandidateFindings, ...] = ()


def present(stored: Mapping[str, Any] | None, kind: type[Summary | Findings]) -> dict[str, Any]:
    """Return the JSON of a summary, or of findings, that any release has stored, in its present form."""
    document: dict[str, Any] = {} if stored is None else msgspec.to_builtins(convert(stored, kind))
    return document


Violations = Callable[[int], Iterable[Mapping[str, Any]]]


def summary_of(experiment: ReplayedExperiment, decisions: Mapping[int, Decision], violations: Violations) -> Summary:
    """Return the summary of the results so far; `violations` returns the violations of a replay, as JSON."""
    arms = ranked_arms(experiment.plan, decisions)
    decision, played = decisions[next(iter(arms))], [replay for replay in experiment.replays if not replay.reused]
    return Summary(
        classes=Counter(decision.classes),
        reused=len(experiment.replays) - len(played),
        violations=tuple(islice(_violations(experiment, next(iter(arms)), violations), MOST_VIOLATIONS)),
        detectable=decision.detectable,
        p_value=decision.p_value,
        tokens=_tokens(played),
        cost=_cost(played),
        blind=len(decision.blind),
        sighted=decision.sighted,
        candidates=tuple(
            _candidate(experiment, arm, rank, decisions[arm]) for arm, rank in arms.items() if experiment.plan.named
        ),
    )


def ranked_arms(plan: Plan, decisions: Mapping[int, Decision]) -> dict[int, int]:
    """Return the ranks of the candidates by their arms, the first one first."""
    arms = plan.candidate_arms
    by_arm = dict(zip(arms, ranks([decisions[arm] for arm in arms]), strict=True))
    return dict(sorted(by_arm.items(), key=lambda pair: pair[1]))


def _candidate(experiment: ReplayedExperiment, arm: int, rank: int, decision: Decision) -> CandidateSummary:
    named = experiment.plan.named[arm]
    return CandidateSummary(
        name=named.name,
        rank=rank,
        kind=named.kind,
        commit_hash=named.commit_hash,
        fingerprint=named.fingerprint,
        verdict=decision.verdict,
        reason=decision.reason,
        classes=Counter(decision.classes),
        blind=len(decision.blind),
        sighted=decision.sighted,
        violated=sum(row.violated for case in experiment.plan.cases for row in experiment.trials_of(arm, case)),
        detectable=decision.detectable,
        p_value=decision.p_value,
    )


def findings_of(experiment: ReplayedExperiment, decisions: Mapping[int, Decision]) -> Findings:
    """Return the findings so far of each test case."""
    models = enumerate(experiment.plan.models, FIRST_MODEL)
    arms, named = ranked_arms(experiment.plan, decisions), experiment.plan.named
    first = next(iter(arms))
    return Findings(
        test_cases=_cases(experiment, first, decisions[first]),
        models=tuple(
            ModelFindings(model.language_model_name, _cases(experiment, arm, decisions[arm])) for arm, model in models
        ),
        candidates=tuple(
            CandidateFindings(named[arm].name, _cases(experiment, arm, decisions[arm])) for arm in arms if named
        ),
    )


def _violations(experiment: ReplayedExperiment, arm: int, violations: Violations) -> Iterator[FoundViolation]:
    """Yield the violations by test case. Replays are read one by one, because each may have many."""
    rows = ((row, case) for case in experiment.plan.cases for row in experiment.trials_of(arm, case) if row.violated)
    for row, case in rows:
        played = {"testCaseId": row.test_case_id, "replayId": row.replay_id, "variant": case.variant_name}
        for violation in violations(row.replay_id):
            values = {**violation, **played}
            if len(orjson.dumps(values["arguments"])) > ARGUMENTS_BYTES:
                values["arguments"] = None
            yield convert(values, FoundViolation)


def _cases(experiment: ReplayedExperiment, arm: int, decision: Decision) -> tuple[CaseFindings, ...]:
    has_baseline = BASELINE in experiment.plan.snapshots
    return tuple(
        CaseFindings(
            test_case_id=case.test_case_id,
            name=case.shown_name,
            class_=class_,
            candidate=_side(experiment, arm, case),
            baseline=_side(experiment, BASELINE, case) if has_baseline else None,
            blind=index in decision.blind,
            variant=case.variant_name,
            accepted_partial=any(row.accepted_partial for row in experiment.trials_of(arm, case)),
        )
        for index, (case, class_) in enumerate(zip(experiment.plan.cases, decision.classes, strict=True))
    )


def _side(experiment: ReplayedExperiment, arm: int, case: FrozenCase) -> Side:
    trials = experiment.trials_of(arm, case)
    rows = experiment.by_series.get(experiment.plan.series(arm, case), ())
    played = [row for row in rows if not row.reused]
    passed, runs = sum(row.status == "passed" for row in trials), len(trials)
    latencies = [ms for ms in map(latency_ms, trials) if ms is not None]
    return Side(
        runs=runs,
        passed=passed,
        pass_rate=passed / runs if runs else None,
        interval=wilson_interval(passed, runs),
        pass_k=pass_k(passed, runs),
        tokens=_tokens(played),
        cost=_cost(played),
        latency=Latency(percentile(latencies, 0.5), percentile(latencies, 0.95)),
        reused=sum(row.reused for row in trials),
        replay_ids=tuple(row.replay_id for row in trials),
        failed_replay_ids=tuple(row.replay_id for row in trials if row.status != "passed"),
        undecided=sum(row.status in UNDECIDED for row in trials),
    )


def _tokens(rows: Sequence[PlayedRow]) -> Tokens:
    return Tokens(sum(row.prompt_tokens for row in rows), sum(row.completion_tokens for row in rows))


def _cost(rows: Sequence[PlayedRow]) -> StoredCost:
    prompt, completion = sum(row.prompt_cost_usd for row in rows), sum(row.completion_cost_usd for row in rows)
    return StoredCost(prompt, completion, prompt + completion)
