"""Schedules of a prompt: experiments that the clock starts."""

from __future__ import annotations

from collections.abc import Sequence

from app.api.operation import Command, Resource, operation
from app.models.api_keys import ApiKey
from app.models.schedules import ServedTime
from app.pagination import ListPage
from app.schemas import schedules as schemas
from app.schemas.base import PageQuerySchema
from app.services.experiments.schedules import SCHEDULES_MAX, NewSchedule, ScheduleView, WatchView


class PromptSchedules(Resource, GET="read", POST="run"):
    @operation("The schedules of the prompt, oldest first", answers={200: schemas.Schedules})
    def on_get(self, key: ApiKey, prompt_id: int) -> Sequence[ScheduleView]:
        return self.services.schedules.list(project_id=key.project_id, prompt_id=prompt_id)

    @operation(
        f"Make a schedule; a prompt has at most {SCHEDULES_MAX}",
        body=schemas.NewScheduleSchema,
        answers={201: schemas.ScheduleSchema},
        location="/api/v1/schedules/{id}",
        errors=(404,),
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: NewSchedule) -> ScheduleView:
        return self.services.schedules.create(
            project_id=key.project_id, prompt_id=prompt_id, new=command, actor=key.actor
        )


class ScheduleResource(Resource, GET="read", PATCH="run", DELETE="run"):
    @operation("One schedule", answers={200: schemas.ScheduleSchema})
    def on_get(self, key: ApiKey, schedule_id: int) -> ScheduleView:
        return self.services.schedules.get(project_id=key.project_id, schedule_id=schedule_id)

    @operation(
        "Change or pause a schedule; what was due before is not caught up",
        body=schemas.ScheduleChangeSchema,
        answers={200: schemas.ScheduleSchema},
    )
    def on_patch(self, key: ApiKey, schedule_id: int, command: Command) -> ScheduleView:
        return self.services.schedules.change(
            project_id=key.project_id, schedule_id=schedule_id, values=command, actor=key.actor
        )

    @operation("Delete a schedule with its history; its experiments stay", answers={204: None})
    def on_delete(self, key: ApiKey, schedule_id: int) -> None:
        self.services.schedules.delete(project_id=key.project_id, schedule_id=schedule_id, actor=key.actor)


class ScheduleRuns(Resource, GET="read"):
    @operation(
        "The due times that were served, newest first", query=PageQuerySchema, answers={200: schemas.ScheduleRuns}
    )
    def on_get(self, key: ApiKey, schedule_id: int, command: Command) -> ListPage[ServedTime]:
        return self.services.schedules.runs(project_id=key.project_id, schedule_id=schedule_id, **command)


class ScheduleReference(Resource, GET="read", DELETE="run"):
    @operation("The reference of a watch, and what it has shown since", answers={200: schemas.WatchSchema})
    def on_get(self, key: ApiKey, schedule_id: int) -> WatchView:
        return self.services.schedules.watch(project_id=key.project_id, schedule_id=schedule_id)

    @operation("Begin a new reference of a watch with its next run", answers={204: None})
    def on_delete(self, key: ApiKey, schedule_id: int) -> None:
        self.services.schedules.begin_reference(project_id=key.project_id, schedule_id=schedule_id, actor=key.actor)
