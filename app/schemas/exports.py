"""What is exported of a prompt, as JSON lines: the same over the API, from the pages and by `reprise export`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from marshmallow import post_load

from app.errors import Invalid, NotFound
from app.schemas.answer import dumper
from app.schemas.base import Moment, StrictSchema
from app.schemas.cases import dump_test_case
from app.schemas.runs import Run
from app.services.data.export import ExportService
from app.sessions.present import present_session

KINDS = ("sessions", "runs", "test-cases")


@dataclass(frozen=True, slots=True)
class ExportQuery:
    """Only what began in [since, until)."""

    since: datetime | None = None
    until: datetime | None = None


class ExportQuerySchema(StrictSchema):
    since = Moment()
    until = Moment()

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> ExportQuery:
        return ExportQuery(**data)


def records(
    exports: ExportService, kind: str, *, project_id: int, prompt_id: int, wanted: ExportQuery
) -> Iterator[dict[str, Any]]:
    """Newest first, each as the API answers it, read while they are taken.

    At once `NotFound` for a kind that there is not and a prompt that the project does not have, and `Invalid` for
    times of test cases, which have none.
    """
    if kind not in KINDS:
        raise NotFound("There is no such export: it is of sessions, runs or test-cases.")
    exports.check(project_id=project_id, prompt_id=prompt_id)
    if kind == "test-cases":
        if wanted != ExportQuery():
            raise Invalid("since, until: These are for sessions and runs: test cases have no time.")
        return map(dump_test_case, exports.of_test_cases(prompt_id=prompt_id))
    asked: dict[str, Any] = {"project_id": project_id, "prompt_id": prompt_id}
    asked |= {"since": wanted.since, "until": wanted.until}
    if kind == "runs":
        return map(dumper(Run), exports.of_runs(**asked))
    found = exports.of_sessions(**asked)
    return (present_session(each.id, each.prompt_id, each.conversation_id, each.turns) for each in found)


def line(record: dict[str, Any]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE)
