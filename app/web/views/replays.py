"""Replays: watch, cancel and judge them, and accept their outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reprise_formats.formats import plural

from app.http.access import ByRole
from app.models.organizations import Role
from app.models.replays import ReplayRow
from app.replay.case_types import TestCase
from app.schemas.base import load
from app.schemas.replays import VerdictSchema
from app.services.replays.history import BatchEntry
from app.services.replays.views import ReplayView as ReplayDetails
from app.web.page import PromptPage, Redirect, Reply, confirm, show
from app.web.presenters.replay import batch_progress, batch_title, shown_turns
from app.web.presenters.replay_findings import FIRST_FINDINGS, first_trouble
from app.web.presenters.replay_parts import ReplayPart, part_of
from app.web.presenters.replay_violations import LISTED_MAX, kinds_by_anchor, placed_violations
from app.web.visit import Visit


class ReplayPage(PromptPage):
    """Shows a part of a replay: its violations, then the recording and the draft's steps side by side."""

    access = ByRole({"GET": Role.VIEWER})

    def get(self, visit: Visit, replay_id: int) -> Reply:
        replay = self.services.replays.get(project_id=visit.project_id, replay_id=replay_id)
        result = replay.result or {}
        violations = placed_violations(result)
        part = self._part(visit, result)
        return show(
            "replay.html",
            row=replay.row,
            head=self.head(visit, replay.row.prompt_id),
            case_name=replay.shown_name,
            faults=(replay.row.faults or {}).get("faults", []),
            commit_hash=replay.commit_hash,
            experiment_id=self.services.replay_history.experiment_id(replay.row),
            together=self.services.replay_history.count_batch(replay.row),
            result=result,
            violations=violations[:LISTED_MAX],
            more_violations=len(violations[LISTED_MAX:]),
            trouble=None if violations else first_trouble(result, "program" if replay.row.external else "draft"),
            first_findings=FIRST_FINDINGS,
            part=part,
            here={place.anchor for place in part.places},
            turns=shown_turns(part, kinds_by_anchor(violations), self._case(visit, replay)),
        )

    def _part(self, visit: Visit, result: Mapping[str, Any]) -> ReplayPart:
        """Return the part of the replay that the query names by number, turn or anchor of a step."""
        part, turn = visit.identifier("part"), visit.identifier("turn")
        return part_of(result, part=part, turn=turn, anchor=visit.query.get("at", ""))

    def _case(self, visit: Visit, replay: ReplayDetails) -> TestCase | None:
        """Return the present test case; None if it was deleted, or if nothing can be accepted."""
        if replay.test_case_name is None or not replay.row.finished or replay.row.faults:
            return None
        return self.services.test_cases.case(project_id=visit.project_id, test_case_id=replay.row.test_case_id)


def _at(step: int) -> str:
    """Return the end of the address that shows a step on the page of its replay."""
    return f"?at=step-{step}#step-{step}"


class BatchView(PromptPage):
    """Shows a batch of replays; with `show=failed` only replays that did not pass."""

    access = ByRole({"GET": Role.VIEWER})

    def get(self, visit: Visit, replay_id: int) -> Reply:
        entries = self.services.replay_history.batch(project_id=visit.project_id, replay_id=replay_id)
        first = entries[0].row
        version = first.candidate_commit if first.candidate_kind == "version" else self._version(first)
        messages = self.services.versions.messages(prompt_id=first.prompt_id, hashes={version} if version else ())
        not_passed = [entry for entry in entries if entry.row.finished and entry.row.status != "passed"]
        return show(
            "replay_batch.html",
            head=self.head(visit, first.prompt_id),
            title=batch_title(first, version),
            message=messages.get(version or "", ""),
            version=version,
            entries=not_passed if visit.query.get("show") == "failed" else entries,
            progress=batch_progress([entry.row for entry in entries]),
            not_passed=len(not_passed),
            failed=any(entry.row.status == "failed" for entry in not_passed),
            newly_failing=sum(entry.newly_failing for entry in entries),
            first=first,
            tokens=sum(entry.row.prompt_tokens + entry.row.completion_tokens for entry in entries),
            cost=sum(entry.row.prompt_cost_usd + entry.row.completion_cost_usd for entry in entries),
            again=_to_run_again(entries),
        )

    def _version(self, row: ReplayRow) -> str | None:
        """Return the version with the content of a draft; an overlay or a program is no version."""
        return self.services.replay_history.version_of(row) if row.candidate_kind == "draft" else None


def _to_run_again(entries: Sequence[BatchEntry]) -> list[int]:
    """Return the test cases of a batch of the draft that has ended, without deleted ones; else nothing."""
    if any(not entry.row.finished or entry.row.candidate_kind != "draft" for entry in entries):
        return []
    return list(dict.fromkeys(entry.row.test_case_id for entry in entries if entry.test_case_name is not None))


class AcceptBatch(PromptPage):
    """Accepts the outcomes of a batch's failed replays as expected by their test cases, after listing them."""

    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})

    def get(self, visit: Visit, replay_id: int) -> Reply:
        steps = self.services.acceptance.of_batch(project_id=visit.project_id, replay_id=replay_id)
        back = f"{visit.base}/replays/{replay_id}/batch"
        if not steps:
            return Redirect(back, "There is nothing to accept: look at each replay that failed.")
        asked = confirm(
            visit,
            title="Update the expectations?",
            text="The old expectations of the ticked steps are lost. The replays keep their verdicts, and "
            "later ones use the new expectations.",
            button="Accept the ticked steps",
            back=back,
        )
        return replace(asked, template="replay_accept.html", values=asked.values | {"steps": steps})

    def post(self, visit: Visit, replay_id: int) -> Reply:
        """Accept the ticked outcomes. Steps that were accepted meanwhile stay unchanged."""
        if not visit.form.texts("step"):
            return Redirect(f"{visit.base}/replays/{replay_id}/batch", "No step was ticked, so nothing is changed.")
        accepted = self.services.acceptance.accept(
            project_id=visit.project_id,
            replay_id=replay_id,
            keys=frozenset(visit.form.texts("step")),
            actor=visit.actor,
        )
        message = f"{plural(accepted, 'step')} accepted. Run the test cases again to see them pass."
        return Redirect(
            f"{visit.base}/replays/{replay_id}/batch", message if accepted else "All steps were accepted already."
        )


class CancelReplay(PromptPage):
    access = ByRole({"POST": Role.MEMBER})

    def post(self, visit: Visit, replay_id: int) -> Reply:
        self.services.replays.cancel(project_id=visit.project_id, replay_id=replay_id)
        return Redirect(f"{visit.base}/replays/{replay_id}", "The replay is cancelled.")


class JudgeStep(PromptPage):
    """A person's verdict on a step that needs review, or that a judge decided."""

    access = ByRole({"POST": Role.MEMBER})

    def post(self, visit: Visit, replay_id: int, step: int) -> Reply:
        verdict = load(VerdictSchema(), {"verdict": visit.form.text("verdict")})["verdict"]
        self.services.replays.decide(
            project_id=visit.project_id, replay_id=replay_id, step=step, verdict=verdict, actor=visit.actor
        )
        return Redirect(f"{visit.base}/replays/{replay_id}{_at(step)}")


class AcceptStep(PromptPage):
    """Accepts the draft's outcome as expected, after a confirmation: the old expectation is lost."""

    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})

    def get(self, visit: Visit, replay_id: int, step: int) -> Reply:
        produced = self.services.replays.produced(project_id=visit.project_id, replay_id=replay_id, step=step)
        change = "expects what the draft did here. What it expected until now is lost"
        if produced.outcome.actual is None:
            change = "does not check this call any more, and a draft may make it or not"
        return confirm(
            visit,
            title="Update the expectation?",
            text=f"The test case then {change}; this replay keeps its verdict, and later ones use the new expectation.",
            button="Accept it as expected",
            back=f"{visit.base}/replays/{replay_id}{_at(step)}",
        )

    def post(self, visit: Visit, replay_id: int, step: int) -> Reply:
        produced = self.services.replays.produced(project_id=visit.project_id, replay_id=replay_id, step=step)
        self.services.test_cases.accept(
            project_id=visit.project_id,
            test_case_id=produced.test_case_id,
            outcome=produced.outcome,
            actor=visit.actor,
        )
        flash = "The test case expects this now. Run it again to see it pass."
        return Redirect(f"{visit.base}/replays/{replay_id}{_at(step)}", flash)
