"""Suites of a prompt: their list, proposals from recorded sessions, and the coverage of one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import dropwhile

from reprise_formats.formats import plural

from app.errors import Conflict, Invalid, NotFound
from app.http.access import ByRole
from app.models.organizations import Role
from app.schemas.base import load
from app.schemas.suites import AcceptSuiteSchema, ProposeSuiteSchema
from app.services.experiments.forecast import Forecast
from app.services.experiments.request import NewExperiment
from app.services.replays.calibrations import CalibrationView
from app.services.suites.accepting import AcceptedSuite
from app.services.suites.coverage import SuiteCoverage
from app.services.suites.service import SuiteMember, SuiteView
from app.web.charts import day_label
from app.web.page import PromptPage, Redirect, Reply, confirm, show
from app.web.visit import Visit

DAYS = [("7", "The last 7 days"), ("30", "The last 30 days"), ("90", "The last 90 days")]
SIZES = [("5", "5 sessions"), ("12", "12 sessions"), ("20", "20 sessions")]
CALIBRATIONS_MAX = 50
"""Test cases of which a page shows the calibration."""


class SuitesPage(PromptPage):
    """Lists the suites of a prompt."""

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        listed = self.services.suites.list(project_id=visit.project_id, prompt_id=prompt_id)
        return show("suites.html", head=self.head(visit, prompt_id), suites=listed)


class SuiteProposalPage(PromptPage):
    """Proposes sessions, and makes a suite of the ticked ones."""

    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    refusals = (Invalid,)

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        query = visit.query
        days, size = _choice(query.get("days"), DAYS, "30"), _choice(query.get("size"), SIZES, "12")
        since = self.container.now() - timedelta(days=int(days))
        body = {"since": since.isoformat(), "size": int(size)}
        suite = query.get("suite") or None
        question = load(ProposeSuiteSchema(), body | ({"suite": suite} if suite else {}))
        view = self.services.suite_proposer.propose(project_id=visit.project_id, prompt_id=prompt_id, question=question)
        return show(
            "suite_proposal.html",
            head=self.head(visit, prompt_id),
            view=view,
            curve=[(plural(count, "session"), share) for count, share in enumerate(view.proposal.curve, start=1)],
            suite=suite,
            choices={"days": (DAYS, days), "size": (SIZES, size)},
            version=self.head(visit, prompt_id).newest_version_id is not None,
        )

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        """Accept the ticked sessions, and calibrate their test cases if the prompt has a version."""
        form = visit.form
        picks = [{"sessionId": id_, "reason": form.text(f"reason-{id_}") or None} for id_ in form.texts("session")]
        if not picks:
            raise Invalid("Tick the sessions to make test cases of.")
        body = load(AcceptSuiteSchema(), {"name": form.text("name"), "picks": picks})
        accepted = self.services.suite_acceptance.accept(
            project_id=visit.project_id, prompt_id=prompt_id, **body, actor=visit.actor
        )
        suite_id = accepted.view.row.id
        # A prompt without a version has nothing to calibrate with: the page of the suite names it.
        with suppress(Conflict):
            calibrated = self.services.suite_acceptance.calibrate(project_id=visit.project_id, suite_id=suite_id)
            self.container.replay_delivery.send(calibrated.replay_ids)
        return Redirect(f"{visit.base}/suites/{suite_id}", _accepted(accepted))


def _choice(value: str | None, choices: Sequence[tuple[str, str]], default: str) -> str:
    return value if value in dict(choices) else default


def _accepted(accepted: AcceptedSuite) -> str:
    left = accepted.left_out
    made = f"The suite has {plural(len(accepted.view.members), 'test case')}."
    return f"{made} Left out: {left[0].message}" if left else made


def _weeks(coverage: SuiteCoverage) -> list[tuple[str, float]]:
    """Return the share of each week from the first one on that has sessions."""
    weeks = dropwhile(lambda week: not week.sessions, coverage.weeks)
    return [(day_label(week.begins), week.share or 0.0) for week in weeks]


@dataclass(frozen=True, slots=True)
class ShownMember:
    """A test case of a suite with its calibration; `state` is a word and the kind of its badge."""

    member: SuiteMember
    calibration: CalibrationView | None

    @property
    def state(self) -> tuple[str, str]:
        """The word of the badge and its kind ("", "accent", "bad", "ok" or "warn")."""
        view = self.calibration
        if view is None:
            return "not calibrated", ""
        if not view.finished:
            return "calibrating", "accent"
        if view.status != "finished" or not view.outcome.usable:
            return "not usable", "bad"
        return ("reliable", "ok") if view.is_reliable else ("unstable", "warn")


class SuitePage(PromptPage):
    """Shows what a suite represents, week by week, and its test cases."""

    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    refusals = (Invalid, Conflict)

    def get(self, visit: Visit, suite_id: int) -> Reply:
        view = self.services.suites.get(project_id=visit.project_id, suite_id=suite_id)
        members = self._members(visit, view)
        # The page asks for the state of running calibrations again and again; the rest costs up to a second.
        is_polled = "calibrations" in visit.query
        coverage = None if is_polled else self.services.coverage.read(project_id=visit.project_id, suite_id=suite_id)
        return show(
            "suite.html",
            head=self.head(visit, view.row.prompt_id),
            suite=view.row,
            members=members,
            coverage=coverage,
            weeks=_weeks(coverage) if coverage else [],
            forecast=None if is_polled else self._forecast(visit, view),
            running=any(shown.state[0] == "calibrating" for shown in members),
            waiting=sum(shown.member.row.calibration_id is None for shown in members),
            doubtful=sum(shown.state[0] in ("not usable", "unstable") for shown in members),
        )

    def post(self, visit: Visit, suite_id: int) -> Reply:
        """Remove a test case from the suite, or calibrate test cases."""
        which = {"project_id": visit.project_id, "suite_id": suite_id}
        path = f"{visit.base}/suites/{suite_id}"
        if visit.form.text("remove"):
            self.services.suites.remove(**which, test_case_id=visit.form.integer("remove"), actor=visit.actor)
            return Redirect(path, "The test case is no longer in the suite.")
        again = visit.form.text("do") == "calibrate-again"
        calibrated = self.services.suite_acceptance.calibrate(**which, again=again)
        self.container.replay_delivery.send(calibrated.replay_ids)
        return Redirect(path)

    def _members(self, visit: Visit, view: SuiteView) -> list[ShownMember]:
        return [
            ShownMember(member, self._calibration(visit, member) if number < CALIBRATIONS_MAX else None)
            for number, member in enumerate(view.members)
        ]

    def _calibration(self, visit: Visit, member: SuiteMember) -> CalibrationView | None:
        """Return the calibration of a test case; None without one, or if retention has removed it."""
        if member.row.calibration_id is None:
            return None
        with suppress(NotFound):
            return self.services.calibrations.get(project_id=visit.project_id, calibration_id=member.row.calibration_id)
        return None

    def _forecast(self, visit: Visit, view: SuiteView) -> Forecast | None:
        """Return what a gate with the suite would cost; None if it would be refused."""
        with suppress(Invalid, NotFound):
            (forecast,) = self.services.experiments.forecasts(
                project_id=visit.project_id, prompt_id=view.row.prompt_id, new=NewExperiment(suite=view.row.name)
            )
            return forecast
        return None


class DeleteSuite(PromptPage):
    """Asks before a suite is deleted."""

    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})

    def get(self, visit: Visit, suite_id: int) -> Reply:
        view = self.services.suites.get(project_id=visit.project_id, suite_id=suite_id)
        return confirm(
            visit,
            title=f"Delete the suite “{view.row.name}”?",
            text="Its test cases stay. Gates and schedules that name it are refused from then on.",
            button="Delete the suite",
            back=f"{visit.base}/suites/{suite_id}",
        )

    def post(self, visit: Visit, suite_id: int) -> Reply:
        view = self.services.suites.get(project_id=visit.project_id, suite_id=suite_id)
        self.services.suites.delete(project_id=visit.project_id, suite_id=suite_id, actor=visit.actor)
        return Redirect(f"{visit.base}/prompts/{view.row.prompt_id}/suites", "The suite is deleted.")
