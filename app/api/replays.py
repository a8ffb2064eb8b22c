"""Replays of a test case or a whole prompt: start, list, read, cancel, judge."""

from __future__ import annotations

from typing import Any

from app.api.operation import Command, Resource, operation
from app.errors import Invalid
from app.models.api_keys import ApiKey
from app.models.replays import ReplayFilter, ReplayRow
from app.pagination import ListPage
from app.schemas import replays as schemas
from app.schemas.cases import TestCaseSchema
from app.schemas.programs import accepted_program
from app.services.replays.acceptance import AcceptableStep
from app.services.replays.cases import CaseView
from app.services.replays.history import DraftHistory
from app.services.replays.service import JudgeAgreement
from app.services.replays.views import ReplayView


class TestCaseReplays(Resource, POST="run"):
    @operation(
        "Replay a test case against the draft, a version or another candidate",
        body=schemas.StartOneSchema,
        body_optional=True,
        answers={202: schemas.AcceptedProgramReplay},
        location="/api/v1/replays/{id}",
        errors=(409,),
    )
    def on_post(self, key: ApiKey, test_case_id: int, command: Command) -> ReplayRow | dict[str, Any]:
        owner: Command = {"project_id": key.project_id, "test_case_id": test_case_id}
        of_program = _of_program(command)
        if command["candidate"].external is None:
            row = self.services.replays.start(**owner, **command)
            self.container.replay_delivery.send([row.id])
            return row
        started = self.services.programs.start(**owner, **command, **of_program, actor=key.actor)
        return accepted_program(self.container.settings.public_url, started)


class PromptReplays(Resource, GET="read", POST="run"):
    @operation("The prompt's replays, newest first", query=schemas.ReplayQuerySchema, answers={200: schemas.Replays})
    def on_get(self, key: ApiKey, prompt_id: int, command: Command) -> ListPage[ReplayView]:
        test_case_id, status = command.pop("test_case_id", None), command.pop("status", None)
        fingerprint = command.pop("fingerprint", None)
        filters = ReplayFilter(test_case_id, status, [fingerprint] if fingerprint else None)
        page = self.services.replays.list(project_id=key.project_id, prompt_id=prompt_id, filters=filters, **command)
        base = self.container.settings.public_url
        return ListPage([view.at(base) for view in page.entries], page.next_cursor)

    @operation(
        "Replay test cases of the prompt against the draft, a version or another candidate",
        body=schemas.StartAllSchema,
        body_optional=True,
        answers={202: schemas.AcceptedReplays},
        location="/api/v1/prompts/{prompt_id}/replays",
        errors=(409,),
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: Command) -> list[ReplayRow]:
        rows = self.services.replays.start_all(project_id=key.project_id, prompt_id=prompt_id, **command)
        self.container.replay_delivery.send(row.id for row in rows)
        return rows


class ReplayResource(Resource, GET="read"):
    @operation("One replay with the verdict on each step", answers={200: schemas.Replay})
    def on_get(self, key: ApiKey, replay_id: int) -> ReplayView:
        view = self.services.replays.get(project_id=key.project_id, replay_id=replay_id)
        return view.at(self.container.settings.public_url)


class ReplayCancellation(Resource, POST="run"):
    """Keys that may start replays may cancel them."""

    @operation("Cancel a replay", answers={200: schemas.Replay}, errors=(409,))
    def on_post(self, key: ApiKey, replay_id: int) -> ReplayView:
        view = self.services.replays.cancel(project_id=key.project_id, replay_id=replay_id)
        return view.at(self.container.settings.public_url)


class ReplayStep(Resource, PATCH="write"):
    """A person's verdict on a step. Steps count from 0 over all turns."""

    @operation(
        "Decide a step that needs review, or that a judge decided",
        body=schemas.VerdictSchema,
        answers={200: schemas.Replay},
        errors=(409,),
    )
    def on_patch(self, key: ApiKey, replay_id: int, step: str, command: Command) -> ReplayView:
        view = self.services.replays.decide(
            project_id=key.project_id, replay_id=replay_id, step=_number(step), **command, actor=key.actor
        )
        return view.at(self.container.settings.public_url)


class AcceptedStep(Resource, POST="write"):
    """Changes the test case: it expects what the draft produced. The replay keeps its verdict."""

    @operation("Accept a step's outcome as expected", answers={200: TestCaseSchema})
    def on_post(self, key: ApiKey, replay_id: int, step: str) -> CaseView:
        produced = self.services.replays.produced(project_id=key.project_id, replay_id=replay_id, step=_number(step))
        row = self.services.test_cases.accept(
            project_id=key.project_id,
            test_case_id=produced.test_case_id,
            outcome=produced.outcome,
            actor=key.actor,
        )
        return self.services.test_cases.view(row)


class BatchAcceptance(Resource, GET="read", POST="write"):
    """The batch of replays that this one was started with, and the changes if all its outcomes are accepted."""

    @operation("The failed steps of the batch that can be accepted as expected", answers={200: schemas.AcceptableSteps})
    def on_get(self, key: ApiKey, replay_id: int) -> list[AcceptableStep]:
        return self.services.acceptance.of_batch(project_id=key.project_id, replay_id=replay_id)

    @operation(
        "Accept the outcomes of failed steps of the batch as expected",
        body=schemas.AcceptBatchSchema,
        body_optional=True,
        answers={200: schemas.AcceptedSteps},
    )
    def on_post(self, key: ApiKey, replay_id: int, command: Command) -> int:
        return self.services.acceptance.accept(
            project_id=key.project_id, replay_id=replay_id, **command, actor=key.actor
        )


def _of_program(command: Command) -> Command:
    return {name: command.pop(name) for name in ("tools", "offline")}


def _number(step: str) -> int:
    if not (step.isascii() and step.isdigit() and len(step) < 10):
        raise Invalid("n: Must be the number of a step.")
    return int(step)


class JudgeAgreementResource(Resource, GET="read"):
    @operation(
        "The number of steps that both a judge and a person decided, and on how many they agree",
        answers={200: schemas.JudgeAgreementSchema},
    )
    def on_get(self, key: ApiKey, prompt_id: int) -> JudgeAgreement:
        return self.services.replays.judge_agreement(project_id=key.project_id, prompt_id=prompt_id)


class ReplayHistoryResource(Resource, GET="read"):
    @operation(
        "How often the replays of each draft and version passed",
        query=schemas.HistoryQuerySchema,
        answers={200: schemas.ReplayHistorySchema},
    )
    def on_get(self, key: ApiKey, prompt_id: int, command: Command) -> list[DraftHistory]:
        return self.services.replay_history.of_prompt(project_id=key.project_id, prompt_id=prompt_id, **command)
