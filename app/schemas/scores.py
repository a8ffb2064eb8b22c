"""Scores: schemas of requests and answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, get_args

from marshmallow import ValidationError, fields, post_load, validate, validates_schema

from app.models.scores import ScoreRow, Source
from app.otlp.evaluations import COMMENT_MAX, EVALUATION_NAME_MAX
from app.otlp.names import MAX_CONVERSATION_ID
from app.schemas.answer import AnswerSchema, Json, choice, fields_of, integer, itself, listing, one, text, time
from app.schemas.base import BoundedList, Identifier, PageQuerySchema, StrictSchema, Text
from app.services.scores.service import GivenScore
from app.services.scores.targets import Target
from app.timestamps import of_unix_ns

BATCH_MAX = 1_000
TARGETS = (
    {"session_id"},
    {"prompt_id", "conversation_id"},
    {"trace_id"},
    {"trace_id", "span_id"},
    {"run_id"},
)


class ScoreValue(fields.Field[Any]):
    """A number, true or false, or the name of a category."""

    documented: ClassVar = {"type": ["number", "boolean", "string"], "minLength": 1, "maxLength": EVALUATION_NAME_MAX}
    category = Text(minimum=1, maximum=EVALUATION_NAME_MAX)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> float | bool | str:
        if isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return _finite(value)
        if not isinstance(value, str):
            raise ValidationError("Must be a number, true, false or a text.")
        category: str = self.category.deserialize(value)
        return category


def _finite(value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValidationError("Must be a finite number.")
    return number


class Hexadecimal(fields.String):
    """A text of `digits` hexadecimal digits, upper or lower case; loads to lower case."""

    def __init__(self, digits: int, **kwargs: Any) -> None:
        super().__init__(validate=validate.Regexp(rf"[0-9a-fA-F]{{{digits}}}\Z"), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text: str = super()._deserialize(value, attr, data, **kwargs)
        return text.lower()


class ScoredSchema(StrictSchema):
    """What is scored: a session (`sessionId`, or `promptId` and `conversationId`), turn (`traceId`), step or run.

    A step is named by `traceId` and `spanId`.
    """

    session_id = Hexadecimal(32)
    prompt_id = Identifier()
    conversation_id = Text(minimum=1, maximum=MAX_CONVERSATION_ID)
    trace_id = Hexadecimal(32)
    span_id = Hexadecimal(16)
    run_id = Identifier()

    @validates_schema
    def check_names_one(self, data: Json, **_kwargs: Any) -> None:
        if data.keys() not in TARGETS:
            raise ValidationError(
                "Name one thing: sessionId, promptId and conversationId, traceId, traceId and spanId, or runId."
            )

    @post_load
    def build(self, data: Json, **_kwargs: Any) -> Target:
        ids: Json = {name: bytes.fromhex(data[name]) for name in ("trace_id", "span_id") if name in data}
        return Target(**{**data, **ids})


class ScoreSchema(StrictSchema):
    """A score. If a score with this `id` is stored already, the new one replaces it."""

    command: ClassVar = GivenScore

    id = fields.String(validate=validate.Regexp(r"[A-Za-z0-9][A-Za-z0-9._:~-]{0,127}\Z"))
    name = Text(required=True, minimum=1, maximum=EVALUATION_NAME_MAX)
    value = ScoreValue(required=True)
    comment = Text(maximum=COMMENT_MAX, allow_none=True)
    target = fields.Nested(ScoredSchema, required=True)


class ScoreBatchSchema(StrictSchema):
    """Scores. Either all of them are stored or none. Their `id`s differ."""

    scores = BoundedList(fields.Nested(ScoreSchema), minimum=1, maximum=BATCH_MAX, required=True)

    @validates_schema
    def check_ids_differ(self, data: Json, **_kwargs: Any) -> None:
        seen: set[str] = set()
        for index, score in enumerate(data["scores"]):
            if score.id in seen:
                raise ValidationError({"scores": {index: {"id": ["Another score of the batch has this id."]}}})
            seen.update([score.id] if score.id is not None else ())

    @post_load
    def make_command(self, data: Json, **_kwargs: Any) -> list[GivenScore]:
        given: list[GivenScore] = data["scores"]
        return given


class GivenScoresSchema(ScoreSchema):
    """A score, or several as `scores`; loads to a `GivenScore` or a list of them."""

    alternatives = (ScoreSchema, ScoreBatchSchema)

    def load(self, data: Any, **kwargs: Any) -> Any:
        if isinstance(data, Mapping) and "scores" in data:
            return ScoreBatchSchema().load(data, **kwargs)
        return super().load(data, **kwargs)


class ScoreQuerySchema(PageQuerySchema):
    """The scores with a name, or of a run."""

    name = Text(minimum=1, maximum=EVALUATION_NAME_MAX)
    run_id = Identifier()


def _hex(value: bytes | None) -> str | None:
    return value.hex() if value else None


class ScoreTarget(AnswerSchema):
    """A session, a turn (`traceId`), a step (with `spanId`) or a run."""

    session_id = text(required=False, get=lambda score: _hex(score.session_key))
    trace_id = text(required=False, get=lambda score: _hex(score.trace_id))
    span_id = text(required=False, get=lambda score: _hex(score.span_id))
    run_id = integer(required=False)


class SessionScore(AnswerSchema):
    """A score of a session, of one of its turns or of a step.

    `source` is `otlp` for an evaluation from telemetry, `api` for a program's score, `person` for a score from a page,
    `check` for the score of an online check. A score that is true or false has the value 1 or 0, and the label "true"
    or "false".
    """

    id = text(required=False, get=lambda score: None if score.source == "otlp" else score.id)
    of_score = fields_of(ScoreRow, "name", "value", "label", "comment")
    source = choice(*get_args(Source))
    target = one(ScoreTarget, get=itself)


class ScoreAnswerSchema(SessionScore):
    """A score of a session, turn, step or run. Scores from telemetry have an id, too."""

    id = text()
    scored_at = time(get=lambda score: of_unix_ns(score.time_ns))


StoredScores = listing("scores", ScoreAnswerSchema, name="StoredScores")


class ScoreOrScores(ScoreAnswerSchema):
    """A score, or the scores of a batch."""

    alternatives = (ScoreAnswerSchema, StoredScores)
