"""Guard maps of a prompt: which of its sentences are guarded by tests."""

from __future__ import annotations

from collections.abc import Sequence

from app.api.operation import Command, Resource, operation
from app.models.api_keys import ApiKey
from app.models.experiments import ExperimentRow
from app.pagination import ListPage
from app.schemas import guard_maps as schemas
from app.schemas.base import PageQuerySchema
from app.services.experiments.guard_maps import MapForecast, NewMap
from app.services.experiments.guard_offers import SentenceOffer
from app.services.suites.accepting import AcceptedCases


class PromptGuardMaps(Resource, GET="read", POST="run"):
    @operation("The prompt's guard maps, newest first", query=PageQuerySchema, answers={200: schemas.GuardMaps})
    def on_get(self, key: ApiKey, prompt_id: int, command: Command) -> ListPage[ExperimentRow]:
        return self.services.guard_maps.list(project_id=key.project_id, prompt_id=prompt_id, **command)

    @operation(
        "Replay the test cases against the text with each of its sentences removed or changed",
        body=schemas.StartMapSchema,
        body_optional=True,
        answers={202: schemas.AcceptedMap},
        location="/api/v1/guard-maps/{id}",
        errors=(404,),
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: NewMap) -> ExperimentRow:
        row = self.services.guard_maps.start(project_id=key.project_id, prompt_id=prompt_id, new=command)
        self.container.experiment_delivery.begin(row)
        return row


class GuardMapForecasts(Resource, POST="run"):
    @operation(
        "What a guard map would play and cost",
        body=schemas.StartMapSchema,
        body_optional=True,
        answers={200: schemas.MapForecastSchema},
        errors=(404,),
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: NewMap) -> MapForecast:
        return self.services.guard_maps.forecast(project_id=key.project_id, prompt_id=prompt_id, new=command)


class GuardMapResource(Resource, GET="read"):
    @operation("One guard map with its sentences", answers={200: schemas.GuardMapSchema})
    def on_get(self, key: ApiKey, map_id: int) -> schemas.ShownMap:
        view = self.services.guard_maps.get(project_id=key.project_id, map_id=map_id)
        return schemas.ShownMap.at(self.container.settings.public_url, view)


class GuardMapCancellation(Resource, POST="run"):
    """Keys that may start guard maps may cancel them."""

    @operation("Cancel a guard map", answers={200: schemas.GuardMapSchema}, errors=(409,))
    def on_post(self, key: ApiKey, map_id: int) -> schemas.ShownMap:
        view = self.services.guard_maps.cancel(project_id=key.project_id, map_id=map_id)
        return schemas.ShownMap.at(self.container.settings.public_url, view)


class GuardMapSessions(Resource, GET="read"):
    @operation(
        "The recorded sessions that its sentences without a guard are about", answers={200: schemas.SentenceOffers}
    )
    def on_get(self, key: ApiKey, map_id: int) -> Sequence[SentenceOffer]:
        return self.services.guard_offers.read(project_id=key.project_id, map_id=map_id)


class GuardMapCases(Resource, POST="write"):
    @operation(
        "Make test cases of recorded sessions for a sentence, by default of the ones that are offered for it",
        body=schemas.GuardCasesSchema,
        answers={200: schemas.AcceptedCasesSchema},
    )
    def on_post(self, key: ApiKey, map_id: int, command: Command) -> AcceptedCases:
        return self.services.guard_offers.make(project_id=key.project_id, map_id=map_id, **command, actor=key.actor)
