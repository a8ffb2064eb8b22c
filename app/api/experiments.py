"""Experiments of a prompt: start, list, read, follow, cancel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import falcon
import orjson

from app.api.operation import ApiCall, Command, Resource, operation
from app.http import event_stream
from app.models.api_keys import ApiKey
from app.models.experiments import ExperimentRow
from app.pagination import ListPage
from app.schemas import experiments as schemas
from app.schemas.answer import dump
from app.schemas.programs import accepted_program
from app.schemas.replays import AcceptedProgramReplay, ProgramModeSchema
from app.services.experiments.forecast import Forecast
from app.services.experiments.request import NewExperiment
from app.services.experiments.service import ExperimentView


class PromptExperiments(Resource, GET="read", POST="run"):
    @operation(
        "The prompt's experiments, newest first",
        query=schemas.ExperimentsQuerySchema,
        answers={200: schemas.Experiments},
    )
    def on_get(self, key: ApiKey, prompt_id: int, command: Command) -> ListPage[schemas.Shown]:
        page = self.services.experiments.list(project_id=key.project_id, prompt_id=prompt_id, **command)
        base = self.container.settings.public_url
        return ListPage([schemas.Shown.at(base, row) for row in page.entries], page.next_cursor)

    @operation(
        "Replay a candidate and a baseline until their difference is decided",
        body=schemas.StartExperimentSchema,
        body_optional=True,
        answers={202: schemas.AcceptedExperiment},
        location="/api/v1/experiments/{id}",
        errors=(404,),
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: NewExperiment) -> ExperimentRow:
        row = self.services.experiments.start(project_id=key.project_id, prompt_id=prompt_id, new=command)
        self.container.experiment_delivery.begin(row)
        return row


class ExperimentForecasts(Resource, POST="run"):
    @operation(
        "What an experiment would play and cost",
        body=schemas.StartExperimentSchema,
        body_optional=True,
        answers={200: schemas.ExperimentForecast},
        errors=(404,),
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: NewExperiment) -> Forecast:
        (forecast,) = self.services.experiments.forecasts(project_id=key.project_id, prompt_id=prompt_id, new=command)
        return forecast


class ExperimentResource(Resource, GET="read"):
    @operation("One experiment with its test cases", answers={200: schemas.Experiment})
    def on_get(self, key: ApiKey, experiment_id: int) -> schemas.Shown:
        view = self.services.experiments.get(project_id=key.project_id, experiment_id=experiment_id)
        return schemas.Shown.at(self.container.settings.public_url, view)


class ExperimentCancellation(Resource, POST="run"):
    """Keys that may start experiments may cancel them."""

    @operation("Cancel an experiment", answers={200: schemas.Experiment}, errors=(409,))
    def on_post(self, key: ApiKey, experiment_id: int) -> schemas.Shown:
        view = self.services.experiments.cancel(project_id=key.project_id, experiment_id=experiment_id)
        return schemas.Shown.at(self.container.settings.public_url, view)


class ProgramReplays(Resource, POST="run"):
    """204 if no replay awaits the program now: read the experiment, and ask again until it has ended."""

    @operation(
        "Begin the next replay that the program of an experiment has to play",
        body=ProgramModeSchema,
        body_optional=True,
        answers={200: AcceptedProgramReplay, 204: None},
        errors=(409,),
    )
    def on_post(self, key: ApiKey, call: ApiCall, experiment_id: int, command: Command) -> dict[str, Any] | None:
        started = self.services.program_experiments.next_replay(
            project_id=key.project_id, experiment_id=experiment_id, **command, actor=key.actor
        )
        if started is None:
            call.resp.status = falcon.HTTP_204
            return None
        return accepted_program(self.container.settings.public_url, started)


class ExperimentEvents(Resource, GET="read"):
    """Events of the type `progress` with the experiment, at once and after each change; `done` at its end."""

    follows = frozenset({"GET"})

    @operation(
        "Follow the experiment as events",
        headers=("Last-Event-ID",),
        answers={200: None, 204: None},
        texts=(event_stream.EVENT_STREAM,),
    )
    def on_get(self, key: ApiKey, call: ApiCall, experiment_id: int) -> None:
        owner = {"project_id": key.project_id, "experiment_id": experiment_id}
        self.services.experiments.row(**owner)
        if call.req.get_header("Last-Event-ID") == event_stream.LAST_ID:
            call.resp.status = falcon.HTTP_204
            return
        seen = self.services.experiment_follower.follow(**owner)
        event_stream.begin(call.req, call.resp, _events(seen, self.container.settings.public_url))


def _events(seen: Iterator[ExperimentView | None], base: str) -> Iterator[bytes]:
    """Yield events. `retry` makes a client that lost the connection reconnect after a second."""
    yield b"retry: 1000\n\n"
    for view in seen:
        if view is None:
            yield event_stream.comment("still in work")
            continue
        data = orjson.dumps(dump(schemas.Experiment, schemas.Shown.at(base, view)))
        yield event_stream.event(*(("done", data, event_stream.LAST_ID) if view.row.finished else ("progress", data)))
