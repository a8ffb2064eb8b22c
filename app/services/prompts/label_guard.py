"""The guard of a label: checks the experiment that is required to move it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection

from app.errors import Conflict, Forbidden, require
from app.models import case_snapshots, cases, experiments, labels, prompt_versions
from app.models.case_snapshots import snapshot_fingerprint
from app.models.experiments import ExperimentEvidence
from app.models.labels import EvidenceRule, Label
from app.models.prompts import PromptRow

# Test cases that an error message lists.
NAMED_MAX = 10


def check_rights(old: Label | None, new: Label, *, has_reason: bool) -> None:
    """Raise `Forbidden` for a move that requires the rights of an admin."""
    if has_reason:
        raise Forbidden("Overriding the guard of a label requires the scope admin.")
    if old is None or not old.guarded:
        return
    if not new.guarded:
        raise Forbidden("Switching off the guard of a label requires the scope admin.")
    if _is_weaker(old.evidence, new.evidence):
        raise Forbidden("evidence: Requiring less evidence for a guarded label requires the scope admin.")


def check_guard(connection: Connection, prompt: PromptRow, old: Label, new: Label, experiment_id: int | None) -> None:
    """Raise `Conflict` if the guarded label would move to a new version without the required experiment."""
    version = _further_version(old, new)
    if version is None or labels.has_pointed_to(connection, prompt_id=prompt.id, label=old.name, commit_hash=version):
        return
    versions = f"version {version[:8]} against version {old.commit_hash[:8]}"
    if experiment_id is None:
        also = f", with {evidence_words(old.evidence)}" if old.evidence else ""
        raise Conflict(f"The label {old.name} is guarded: send experimentId, a passed experiment of {versions}{also}.")
    evidence = require_experiment(connection, prompt, experiment_id)
    if not evidence.passed:
        raise Conflict(f"experimentId: The experiment has not passed; {old.name} is guarded.")
    sides = [
        prompt_versions.content_hash_of(connection, prompt_id=prompt.id, commit_hash=commit_hash)
        for commit_hash in (version, old.commit_hash)
    ]
    if sides != [evidence.candidate, evidence.baseline]:
        raise Conflict(f"experimentId: The label {old.name} is guarded and needs an experiment of {versions}.")
    if old.evidence and (missing := "; ".join(_missing(connection, prompt, old.evidence, evidence))):
        raise Conflict(f"experimentId: The guard of {old.name} requires more evidence: {missing}.")


def require_experiment(connection: Connection, prompt: PromptRow, experiment_id: int) -> ExperimentEvidence:
    evidence = experiments.find_evidence(connection, prompt_id=prompt.id, experiment_id=experiment_id)
    return require(evidence, "The prompt has no such experiment.")


def evidence_words(rule: EvidenceRule | None) -> str:
    """Return the experiment that the guard requires, in words."""
    if rule is None:
        return "any passed experiment"
    numbers = f"at least {rule.repeats} repeats, detect at most {rule.detect:g}, alpha at least {rule.alpha:g}"
    return f"all test cases as they are now, {numbers}"


def _further_version(old: Label, new: Label) -> str | None:
    """Return the version that the move gives to keys that do not have it yet; None if there is none."""
    if new.split is None:
        return new.commit_hash if new.commit_hash != old.commit_hash else None
    if new.split.commit_hash == old.commit_hash:
        return None
    is_larger = old.split is None or old.split.commit_hash != new.split.commit_hash or old.split.share < new.split.share
    return new.split.commit_hash if is_larger else None


def _is_weaker(before: EvidenceRule | None, after: EvidenceRule | None) -> bool:
    if before is None or after is None:
        return before is not None
    return after.repeats < before.repeats or after.detect > before.detect or after.alpha < before.alpha


def _missing(
    connection: Connection, prompt: PromptRow, rule: EvidenceRule, evidence: ExperimentEvidence
) -> Iterator[str]:
    """Yield the unmet requirements of the experiment, in words."""
    known = cases.fingerprints_of(connection, prompt_id=prompt.id)
    wanted = {case_id: snapshot_fingerprint(of_case, prompt.assertion_value) for case_id, of_case in known.items()}
    present = case_snapshots.find_snapshots(connection, wanted)
    played = {case["testCaseId"]: case["snapshotId"] for case in evidence.cases}
    lacking = [case_id for case_id in known if case_id not in played]
    changed = [case_id for case_id in known if case_id in played and played[case_id] != present.get(case_id)]
    if lacking:
        yield f"it lacks {_named(lacking)}"
    if changed:
        yield f"since then {_named(changed)} changed"
    repeats, detect, alpha = evidence.design["repeats"]["min"], evidence.design["detect"], evidence.design["alpha"]
    if repeats < rule.repeats:
        yield f"its repeats.min is {repeats}, and at least {rule.repeats} are required"
    if detect > rule.detect:
        yield f"its detect is {detect:g}, and at most {rule.detect:g} is required"
    if alpha < rule.alpha:
        yield f"its alpha is {alpha:g}, and at least {rule.alpha:g} is required"


def _named(case_ids: Sequence[int]) -> str:
    """Return test cases in words: "the test cases 3, 5, 8 and 12 more"."""
    more = f" and {len(case_ids) - NAMED_MAX} more" if len(case_ids) > NAMED_MAX else ""
    return f"the test case{'s' if len(case_ids) > 1 else ''} {', '.join(map(str, case_ids[:NAMED_MAX]))}{more}"
