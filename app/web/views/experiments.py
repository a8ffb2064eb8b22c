"""Experiments of a prompt: their history, the form that starts one, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.errors import Invalid, NotFound
from app.http.access import ByRole
from app.models.organizations import Role
from app.schemas import experiments as schemas
from app.schemas.answer import dump
from app.schemas.base import load
from app.services.experiments.forecast import Forecast
from app.web import labels
from app.web.lists import order_of
from app.web.page import PAGE_SIZE, PromptPage, Redirect, Reply, show
from app.web.presenters import experiment as presenter
from app.web.presenters import experiment_form as form
from app.web.presenters.experiment_failures import RESULT_BYTES, failures_of, replays_to_read
from app.web.presenters.prompt_editor import model_choices
from app.web.visit import Visit

CASES_MAX = 200
VIOLATIONS_MAX = 20
REPLAYS_MAX = 6
"""Replays that are named for each violation."""
OTHERS_MAX = 20
VERDICTS = [("", "All experiments")] + [
    (verdict, labels.EXPERIMENTS[verdict][0].capitalize()) for verdict in ("passed", "failed", "inconclusive")
]


class Experiments(PromptPage):
    """The history of a prompt's experiments."""

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        chosen = {name: visit.query[name] for name in ("verdict", "cursor") if visit.query.get(name)}
        query = load(schemas.ExperimentsQuerySchema(), {"limit": str(PAGE_SIZE), **chosen})
        order = order_of(visit.query, ("when",), default="-when")
        listed: dict[str, Any] = {"project_id": visit.project_id, "prompt_id": prompt_id}
        page = self.services.experiments.list(**listed, **query, newest_first=order.descending)
        entries = [dump(schemas.ExperimentSummary, schemas.Shown.at("", row)) for row in page.entries]
        messages = self.services.versions.messages(
            prompt_id=prompt_id, hashes=set().union(*map(presenter.hashes_of, entries))
        )
        shown = [presenter.ShownExperiment(entry, messages) for entry in entries]
        return show(
            "experiments.html",
            head=self.head(visit, prompt_id),
            experiments=shown,
            running=any(experiment.running for experiment in shown),
            verdicts=VERDICTS,
            count=self.services.experiments.count(**listed, verdict=query.get("verdict")),
            order=order,
            pages=visit.pages(page.next_cursor),
        )


class NewExperimentPage(PromptPage):
    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})
    refusals = (Invalid,)

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        fields = form.fields_of(visit.form) if visit.problem else form.fields_asked(visit.query)
        return self._form(visit, prompt_id, fields)

    def _form(self, visit: Visit, prompt_id: int, fields: form.ExperimentFields) -> Reply:
        head = self.head(visit, prompt_id)
        listed = self.services.versions.list(project_id=visit.project_id, prompt_id=prompt_id)
        versions = [version.head for version in listed]
        cases = self.services.test_cases.list(
            project_id=visit.project_id, prompt_id=prompt_id, limit=CASES_MAX, cursor=None
        )
        models = self.services.models.list(organization_id=visit.organization_id)
        choices = [(form.DRAFT, "The draft"), *form.version_choices(versions, fields.candidate)]
        baselines = [(form.LATEST, "The newest version")] if versions else []
        return show(
            "experiment_new.html",
            head=head,
            fields=fields,
            compares_nothing=fields.compares_nothing(
                versions[0].commit_hash if versions else None, draft_is_newest=head.committed
            ),
            candidates=choices,
            others=choices[:OTHERS_MAX] if versions else [],
            forecasts=self._forecasts(visit, prompt_id, fields) if cases.entries else [],
            baselines=[
                *baselines,
                (form.NONE, "Nothing: each replay has to pass"),
                *form.version_choices(versions, fields.baseline),
            ],
            detects=form.detect_choices(fields.detect),
            judges=form.JUDGES,
            cases=cases.entries,
            more_cases=cases.next_cursor is not None,
            suites=self.suite_choices(visit, prompt_id),
            models=model_choices(models, self.services.credentials.lacking(visit.organization_id, models)),
        )

    def _forecasts(self, visit: Visit, prompt_id: int, fields: form.ExperimentFields) -> list[tuple[Forecast, str]]:
        """Return the forecasts of the offered numbers; none for a request that would be refused."""
        try:
            command = load(schemas.StartExperimentSchema(), fields.body())
            detects = [float(share) for share, _ in form.detect_choices(fields.detect)]
            forecasts = self.services.experiments.forecasts(
                project_id=visit.project_id, prompt_id=prompt_id, new=command, detects=detects
            )
        except (Invalid, NotFound):
            return []
        return [(forecast, form.detected(forecast.detect)) for forecast in forecasts]

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        """Start the experiment, or only show its forecast."""
        fields = form.fields_of(visit.form)
        command = load(schemas.StartExperimentSchema(), fields.body())
        if visit.form.flag("forecast"):
            return self._form(visit, prompt_id, fields)
        row = self.services.experiments.start(project_id=visit.project_id, prompt_id=prompt_id, new=command)
        self.container.experiment_delivery.begin(row)
        return Redirect(f"{visit.base}/experiments/{row.id}")


class ExperimentPage(PromptPage):
    def get(self, visit: Visit, experiment_id: int) -> Reply:
        view = self.services.experiments.get(project_id=visit.project_id, experiment_id=experiment_id)
        experiment = dump(schemas.Experiment, schemas.Shown.at(self.base_url, view))
        hashes = presenter.hashes_of(experiment)
        shown = presenter.ShownExperiment(
            experiment, self.services.versions.messages(prompt_id=view.row.prompt_id, hashes=hashes)
        )
        results = {} if shown.running else self._results(visit.project_id, replays_to_read(shown.to_look_at))
        return show(
            "experiment.html",
            head=self.head(visit, view.row.prompt_id),
            shown=shown,
            failures=failures_of(shown.to_look_at, results),
            markdown=shown.markdown(results),
            violations_max=VIOLATIONS_MAX,
            replays_max=REPLAYS_MAX,
        )

    def _results(self, project_id: int, replay_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        return self.services.replays.results(project_id=project_id, replay_ids=replay_ids, bytes_max=RESULT_BYTES)


class CancelExperiment(PromptPage):
    access = ByRole({"POST": Role.MEMBER})

    def post(self, visit: Visit, experiment_id: int) -> Reply:
        self.services.experiments.cancel(project_id=visit.project_id, experiment_id=experiment_id)
        return Redirect(f"{visit.base}/experiments/{experiment_id}", "The experiment is cancelled.")
