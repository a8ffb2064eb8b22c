"""Experiments: started for a prompt, listed, read, cancelled."""

from __future__ import annotations

from app.api.operation import Command, Resource, operation
from app.cursors import Page
from app.models.api_keys import ApiKey
from app.models.experiments import ExperimentRow
from app.schemas import experiments as schemas
from app.schemas.base import PageQuerySchema
from app.services.experiments.service import NewExperiment


class PromptExperiments(Resource, GET="read", POST="run"):
    @operation("The prompt's experiments, newest first", query=PageQuerySchema, answers={200: schemas.Experiments})
    def on_get(self, key: ApiKey, prompt_id: int, command: Command) -> Page[schemas.Shown]:
        page = self.services.experiments.list(project_id=key.project_id, prompt_id=prompt_id, **command)
        base = self.container.settings.public_url
        return Page([schemas.Shown.at(base, row) for row in page.entries], page.next_cursor)

    @operation(
        "Replay a candidate and a baseline until the difference between them is decided",
        body=schemas.StartExperimentSchema,
        body_optional=True,
        answers={202: schemas.AcceptedExperiment},
        location="/api/v1/experiments/{id}",
        errors=(404,),
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: NewExperiment) -> ExperimentRow:
        row = self.services.experiments.start(project_id=key.project_id, prompt_id=prompt_id, new=command)
        self.container.experiment_delivery.advance(row.id)
        return row


class ExperimentResource(Resource, GET="read"):
    @operation("One experiment with its test cases", answers={200: schemas.Experiment})
    def on_get(self, key: ApiKey, experiment_id: int) -> schemas.Shown:
        view = self.services.experiments.get(project_id=key.project_id, experiment_id=experiment_id)
        return schemas.Shown.at(self.container.settings.public_url, view)


class ExperimentCancellation(Resource, POST="run"):
    """A key that may start experiments may cancel them."""

    @operation("Cancel an experiment", answers={200: schemas.Experiment}, errors=(409,))
    def on_post(self, key: ApiKey, experiment_id: int) -> schemas.Shown:
        view = self.services.experiments.cancel(project_id=key.project_id, experiment_id=experiment_id)
        return schemas.Shown.at(self.container.settings.public_url, view)
