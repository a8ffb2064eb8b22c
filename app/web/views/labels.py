"""Labels of a prompt: the form that moves a label to a version for all callers or a share, or guards it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.errors import Conflict, Forbidden, Invalid, NotFound
from app.models.experiments import ExperimentRow
from app.models.labels import EvidenceRule, Label
from app.models.organizations import Role
from app.schemas.base import load
from app.schemas.labels import LabelMoveSchema, LabelPath
from app.web.forms import Form, number_in
from app.web.page import PAGE_SIZE, PromptPage, Redirect, Reply, confirm, show
from app.web.presenters.evidence_form import fields_of, fields_sent, has_evidence
from app.web.presenters.experiment_form import version_choices
from app.web.visit import Visit

GUARDS = [("", "Unchanged"), ("on", "On: moves only to a version that passed an experiment")]
OFF = ("off", "Off: moves to any version")
# Test cases that the form lists. The ids of others are in a field.
CASES_MAX = 200


class MoveLabel(PromptPage):
    """Moves a label. The query fills in the form: `label`, `version`, `share` in percent, and `experiment`.

    For a label that exists, the newest version is chosen unless the query names another than the label's, and the
    newest experiment that this version passed against the label's.
    """

    reads = Role.MEMBER
    refusals = (Invalid, Conflict, Forbidden, NotFound)

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        head = self.head(visit, prompt_id)
        versions = self.services.versions.list(project_id=visit.project_id, prompt_id=prompt_id)
        filled = visit.sent if visit.problem else Form({name: [text] for name, text in visit.query.items()})
        known = head.labels.get(filled.text("label"))
        evidence = fields_sent(filled) if has_evidence(filled) else fields_of(_rule(known))
        cases = self.services.test_cases.list(
            project_id=visit.project_id, prompt_id=prompt_id, limit=CASES_MAX, cursor=None
        )
        listed, ticked = {str(case.id) for case in cases.entries}, evidence.cases
        chosen, present = filled.text("version"), known.commit_hash if known else ""
        if versions and not visit.problem and chosen in ("", present):
            chosen = versions[0].head.commit_hash
        passed = self.services.experiments.list(
            project_id=visit.project_id, prompt_id=prompt_id, verdict="passed", limit=PAGE_SIZE
        )
        return show(
            "label.html",
            head=head,
            experiments=[("", "None"), *((str(row.id), _sides(row)) for row in passed.entries)],
            experiment=filled.text("experiment") or _passed_experiment(passed.entries, chosen, present),
            filled=filled,
            known=known,
            refines=any(map(filled.text, ("share", "guard", "override"))),
            deletable=known if known and (visit.can_administer or not known.guarded) else None,
            version=chosen,
            versions=version_choices([version.head for version in versions], chosen),
            guards=[*GUARDS, OFF] if visit.can_administer else GUARDS,
            evidence=evidence,
            cases=cases.entries,
            ticked=listed.intersection(ticked),
            other_cases=", ".join(case_id for case_id in ticked if case_id not in listed),
            more_cases=cases.next_cursor is not None,
        )

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        name = load(LabelPath(), {"label": visit.form.text("label")})["label"]
        rule = _rule(self.head(visit, prompt_id).labels.get(name))
        label = self.services.labels.move(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            name=name,
            move=load(LabelMoveSchema(), move_body(visit.form, rule)),
            may_override=visit.can_administer,
            actor=visit.actor,
        )
        versions = label.commit_hash[:8]
        if label.split:
            versions += f", and to {label.split.commit_hash[:8]} for {label.split.share:.4g} of the callers"
        path = f"{visit.base}/prompts/{prompt_id}/versions"
        return Redirect(path, f"{label.name} points to {versions}.")


def move_body(form: Form, rule: EvidenceRule) -> dict[str, Any]:
    """Return the API's body for the form; `rule` is what the guard requires now. Empty fields are omitted."""
    fields = {
        "commitHash": form.text("version"),
        "experimentId": form.text("experiment").strip(),
        "override": form.text("override").strip(),
        "share": number_in("share", form.text("share").strip(), of=100),
        "guarded": {"on": True, "off": False}.get(form.text("guard")),
        "evidence": fields_sent(form).body(rule),
    }
    return {name: value for name, value in fields.items() if value not in ("", None)}


def _rule(label: Label | None) -> EvidenceRule:
    """Return what the label's guard requires, or what it would require by default."""
    return (label.required if label else None) or EvidenceRule()


def _passed_experiment(passed: Iterable[ExperimentRow], version: str, present: str) -> str:
    """Return the id of the newest experiment that a version passed against the present one; "" without one."""
    sides = version, present
    return next((str(row.id) for row in passed if (row.candidate_commit, row.baseline_commit) == sides), "")


def _sides(row: ExperimentRow) -> str:
    """Return a passed experiment in words: "12: 9be2d7aa against 4f53a0c1"."""
    candidate, baseline = (row.candidate_commit or "draft")[:8], (row.baseline_commit or "nothing")[:8]
    return f"{row.id}: {candidate} against {baseline}"


class DeleteLabel(PromptPage):
    def get(self, visit: Visit, prompt_id: int, label: str) -> Reply:
        stored = self.services.labels.get(project_id=visit.project_id, prompt_id=prompt_id, name=label)
        return confirm(
            visit,
            title=f"Delete the label “{stored.name}”?",
            text="Callers that use it get 404 from then on. The versions stay.",
            button="Delete the label",
            back=f"{visit.base}/prompts/{prompt_id}/versions",
        )

    def post(self, visit: Visit, prompt_id: int, label: str) -> Reply:
        self.services.labels.delete(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            name=label,
            may_override=visit.can_administer,
            actor=visit.actor,
        )
        return Redirect(f"{visit.base}/prompts/{prompt_id}/versions", f"The label {label} is deleted.")
