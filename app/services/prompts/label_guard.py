"""The guard of a label: checks the experiment that is required to move it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reprise_formats.formats import plural
from sqlalchemy import Connection

from app.audit.figures import MIN_CAUGHT
from app.errors import Conflict, Forbidden, require
from app.models import case_snapshots, cases, experiments, judge_audits, labels, prompt_versions, schedules
from app.models.case_snapshots import snapshot_fingerprint
from app.models.experiments import ExperimentEvidence
from app.models.labels import EvidenceRule, Label
from app.models.prompts import PromptRow

# Test cases that an error message lists.
NAMED_MAX = 10
# An older experiment is no evidence: the model of a vendor may have changed since.
VALID_FOR = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedMove:
    """A move of a guarded label to a further version, in the transaction that locks the prompt."""

    connection: Connection
    prompt: PromptRow
    old: Label
    version: str
    now: datetime

    @property
    def rule(self) -> EvidenceRule:
        return self.old.required or EvidenceRule()

    def content(self, commit_hash: str) -> str | None:
        """Return the hash of a version's content; None if it is unknown, so that it equals no other.

        Versions that were committed before hashes were stored have an empty one.
        """
        return (
            prompt_versions.content_hash_of(self.connection, prompt_id=self.prompt.id, commit_hash=commit_hash) or None
        )


def check_rights(old: Label | None, new: Label, *, has_reason: bool) -> None:
    """Raise `Forbidden` for a move that requires the rights of an admin."""
    if has_reason:
        raise Forbidden("Overriding the guard of a label requires the scope admin.")
    if old is None or not old.guarded:
        return
    if not new.guarded:
        raise Forbidden("Switching off the guard of a label requires the scope admin.")
    if _is_weaker(old.required or EvidenceRule(), new.required or EvidenceRule()):
        raise Forbidden("evidence: Requiring less evidence for a guarded label requires the scope admin.")


def check_guard(
    connection: Connection, prompt: PromptRow, old: Label, new: Label, experiment_id: int | None, now: datetime
) -> None:
    """Raise `Conflict` if the guarded label would move to a new version without the required experiment.

    The caller has locked the prompt, so that no other move comes between this check and the move.
    """
    version = _further_version(old, new)
    if version is None or labels.has_pointed_to(connection, prompt_id=prompt.id, label=old.name, commit_hash=version):
        return
    move = GuardedMove(connection=connection, prompt=prompt, old=old, version=version, now=now)
    content = move.content(version)
    if content is not None and content == move.content(old.commit_hash):
        return
    if experiment_id is None:
        sides = f"version {version[:8]} against version {old.commit_hash[:8]}"
        raise Conflict(
            f"The label {old.name} is guarded: send experimentId, a passed experiment of {sides}, "
            f"with {evidence_words(move.rule)}."
        )
    evidence = _of_candidate(require_experiment(connection, prompt, experiment_id), content)
    if missing := "; ".join(words for requirement in REQUIREMENTS for words in requirement(move, evidence)):
        raise Conflict(f"experimentId: The label {old.name} is guarded, and the experiment is no evidence: {missing}.")


def require_experiment(connection: Connection, prompt: PromptRow, experiment_id: int) -> ExperimentEvidence:
    """Return the evidence of the prompt's experiment, or raise `NotFound`."""
    evidence = experiments.find_evidence(connection, prompt_id=prompt.id, experiment_id=experiment_id)
    return require(evidence, "The prompt has no such experiment.")


def _of_candidate(evidence: ExperimentEvidence, content: str | None) -> ExperimentEvidence:
    """Return the evidence on the candidate with this content, where an experiment has several."""
    for candidate in evidence.summary.get("candidates", ()):
        if candidate["fingerprint"] == content:
            summary = {**evidence.summary, "sighted": candidate["sighted"]}
            return replace(evidence, verdict=candidate["verdict"], candidate=candidate["fingerprint"], summary=summary)
    return evidence


def evidence_words(rule: EvidenceRule) -> str:
    """Return the experiment that the guard requires, in words."""
    cases = "all test cases" if rule.test_case_ids is None else _named(rule.test_case_ids)
    numbers = f"at least {rule.repeats} repeats, detect at most {rule.detect:g}, alpha at least {rule.alpha:g}"
    watch = "" if rule.watch_days is None else f", and a watch of the last {plural(rule.watch_days, 'day')}"
    return f"{cases} as they are now, {numbers}{watch}"


def _further_version(old: Label, new: Label) -> str | None:
    """Return the version that the move gives to keys that do not have it yet; None if there is none."""
    if new.split is None:
        return new.commit_hash if new.commit_hash != old.commit_hash else None
    if new.split.commit_hash == old.commit_hash:
        return None
    is_larger = old.split is None or old.split.commit_hash != new.split.commit_hash or old.split.share < new.split.share
    return new.split.commit_hash if is_larger else None


def _is_weaker(before: EvidenceRule, after: EvidenceRule) -> bool:
    numbers = after.repeats < before.repeats or after.detect > before.detect or after.alpha < before.alpha
    if after.test_case_ids is None:
        fewer = False
    else:
        fewer = before.test_case_ids is None or not {*before.test_case_ids} <= {*after.test_case_ids}
    older = before.watch_days is not None and (after.watch_days is None or after.watch_days > before.watch_days)
    return numbers or fewer or older or after.min_sighted < before.min_sighted


# A requirement yields what the experiment lacks, in words: "its detect is 0.5, and at most 0.25 is required".
Requirement = Callable[[GuardedMove, ExperimentEvidence], Iterator[str]]


def _outcome(move: GuardedMove, evidence: ExperimentEvidence) -> Iterator[str]:
    if evidence.status != "finished":
        yield f"it is {evidence.status}"
    elif evidence.verdict != "passed":
        yield f"it is {evidence.verdict}, and must have passed"
    if evidence.finished_at is not None and evidence.finished_at < move.now - VALID_FOR:
        yield f"it ended on {evidence.finished_at:%Y-%m-%d}, and may be {VALID_FOR.days} days old"


def _sides(move: GuardedMove, evidence: ExperimentEvidence) -> Iterator[str]:
    if evidence.candidate != move.content(move.version):
        yield f"its candidate has other content than version {move.version[:8]}"
    if evidence.baseline is None or evidence.baseline != move.content(move.old.commit_hash):
        yield f"its baseline is not version {move.old.commit_hash[:8]}, to which the label points now"


def _test_cases(move: GuardedMove, evidence: ExperimentEvidence) -> Iterator[str]:
    known = cases.fingerprints_of(move.connection, prompt_id=move.prompt.id)
    suite = move.rule.test_case_ids
    if suite is not None:
        known = {case_id: known[case_id] for case_id in suite if case_id in known}
        if not known:
            yield "the label's suite has no test case any more"
    wanted = {case_id: snapshot_fingerprint(of_case, move.prompt.assertion_value) for case_id, of_case in known.items()}
    present = case_snapshots.find_snapshots(move.connection, wanted)
    played = {case["testCaseId"]: case["snapshotId"] for case in evidence.cases}
    lacking = [case_id for case_id in known if case_id not in played]
    changed = [case_id for case_id in known if case_id in played and played[case_id] != present.get(case_id)]
    if lacking:
        yield f"it lacks {_named(lacking)}"
    if changed:
        yield f"since then {_named(changed)} changed"


def _parameters(move: GuardedMove, evidence: ExperimentEvidence) -> Iterator[str]:
    rule, design = move.rule, evidence.design
    repeats, detect, alpha = design["repeats"]["min"], design["detect"], design["alpha"]
    if repeats < rule.repeats:
        yield f"its repeats.min is {repeats}, and at least {rule.repeats} are required"
    if detect > rule.detect:
        yield f"its detect is {detect:g}, and at most {rule.detect:g} is required"
    if alpha < rule.alpha:
        yield f"its alpha is {alpha:g}, and at least {rule.alpha:g} is required"


def _sighted(move: GuardedMove, evidence: ExperimentEvidence) -> Iterator[str]:
    sighted, total = evidence.summary.get("sighted"), len(evidence.cases)
    if sighted is None:
        yield "it does not show which test cases can notice a drop"
    elif not sighted or sighted < move.rule.min_sighted * total:
        needed = f"{move.rule.min_sighted:.0%} of them, and one at least,"
        yield f"only {sighted} of its {total} test cases can show a drop, and {needed} must"


def _watch(move: GuardedMove, _evidence: ExperimentEvidence) -> Iterator[str]:
    days = move.rule.watch_days
    if days is None:
        return
    prompt = move.prompt
    newest = schedules.newest_watched(move.connection, project_id=prompt.project_id, prompt_id=prompt.id)
    if newest is None or newest.due_at < move.now - timedelta(days=days):
        yield f"no watch of the prompt has ended in the last {plural(days, 'day')}"
    elif newest.watched and newest.watched.dropped:
        dropped = plural(newest.watched.dropped, "dropped test case")
        yield f"the watch of {newest.due_at:%Y-%m-%d} found {dropped}"


def _judge(move: GuardedMove, evidence: ExperimentEvidence) -> Iterator[str]:
    # Experiments of earlier releases audited no judge.
    if (least := evidence.design.get("minJudgeCaught", 0)) < MIN_CAUGHT:
        yield f"its minJudgeCaught is {least:g}, and at least {MIN_CAUGHT:g} is required"
    if (audit_id := evidence.design.get("auditId")) is not None:
        audit = judge_audits.find_audit(move.connection, project_id=move.prompt.project_id, audit_id=audit_id)
        if audit is not None and audit.figures is None:
            yield f"its judge was not audited: {audit.error or audit.status}"


# What each guard requires of an experiment; all that lacks is named.
REQUIREMENTS: tuple[Requirement, ...] = (_outcome, _sides, _test_cases, _parameters, _sighted, _watch, _judge)


def _named(case_ids: Sequence[int]) -> str:
    """Return test cases in words: "the test cases 3, 5, 8 and 12 more"."""
    more = f" and {len(case_ids) - NAMED_MAX} more" if len(case_ids) > NAMED_MAX else ""
    return f"the test case{'s' if len(case_ids) > 1 else ''} {', '.join(map(str, case_ids[:NAMED_MAX]))}{more}"
