"""/api/v1/scores: scores that people and programs give to sessions, turns, steps and runs."""

from __future__ import annotations

from app.api.authentication import count_more
from app.api.operation import ApiCall, ApiReply, Command, Resource, operation
from app.models.api_keys import ApiKey
from app.models.scores import ScoreRow
from app.pagination import ListPage
from app.schemas import scores as schemas
from app.schemas.answer import dump, listing
from app.services.scores.service import GivenScore

SCORES = "/api/v1/scores"


class Scores(Resource, GET="read", POST="ingest"):
    @operation(
        "The project's scores, last stored first",
        query=schemas.ScoreQuerySchema,
        answers={200: listing("scores", schemas.ScoreAnswerSchema, paged=True)},
    )
    def on_get(self, key: ApiKey, command: Command) -> ListPage[ScoreRow]:
        return self.services.scores.list(project_id=key.project_id, **command)

    @operation(
        "Score a session, turn, step or run, or replace the score with this id (200); or store a batch of scores (200)",
        body=schemas.GivenScoresSchema,
        answers={200: schemas.ScoreOrScores, 201: schemas.ScoreAnswerSchema},
        location=f"{SCORES}/{{id}}",
        answer_headers=("Location",),
        errors=(404,),
    )
    def on_post(self, key: ApiKey, command: GivenScore | list[GivenScore], call: ApiCall) -> ApiReply:
        if isinstance(command, list):
            count_more(self.container.limiter, call.resp, key, len(command) - 1)
            stored = self.services.scores.put_all(project_id=key.project_id, given=command)
            return ApiReply(200, dump(schemas.StoredScores, stored), location=SCORES)
        score, added = self.services.scores.put(project_id=key.project_id, score=command)
        return ApiReply(201 if added else 200, score)


class ScoreResource(Resource, tag="Scores", GET="read", DELETE="write"):
    @operation("A score by its id", answers={200: schemas.ScoreAnswerSchema})
    def on_get(self, key: ApiKey, score_id: str) -> ScoreRow:
        return self.services.scores.get(project_id=key.project_id, score_id=score_id)

    @operation("Remove a score", answers={204: None})
    def on_delete(self, key: ApiKey, score_id: str) -> None:
        self.services.scores.remove(project_id=key.project_id, score_id=score_id, actor=key.actor)
