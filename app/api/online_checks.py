"""Online checks of a prompt: make, list, read, change, remove."""

from __future__ import annotations

from app.api.operation import Command, Resource, operation
from app.models.api_keys import ApiKey
from app.models.online_checks import OnlineCheck
from app.schemas import online_checks as schemas
from app.schemas.answer import listing
from app.services.accounts.keys import RUN
from app.services.scores.online_checks import CHECKS_MAX, NewCheck


class PromptOnlineChecks(Resource, tag="Scores", GET="read", POST="write"):
    """Adding a check of the kind `judge`, which runs a model, requires also the scope `run`."""

    @operation("The prompt's online checks", answers={200: listing("online_checks", schemas.OnlineCheckAnswerSchema)})
    def on_get(self, key: ApiKey, prompt_id: int) -> list[OnlineCheck]:
        return self.services.online_checks.list(project_id=key.project_id, prompt_id=prompt_id)

    @operation(
        f"Check a share of the prompt's newly recorded turns; a prompt has at most {CHECKS_MAX} checks",
        body=schemas.OnlineCheckSchema,
        answers={201: schemas.OnlineCheckAnswerSchema},
        location="/api/v1/online-checks/{id}",
        answer_headers=("Location",),
        errors=(404,),
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: NewCheck) -> OnlineCheck:
        return self.services.online_checks.add(
            project_id=key.project_id, prompt_id=prompt_id, new=command, actor=key.actor, may_spend=RUN in key.scopes
        )


class OnlineCheckResource(Resource, tag="Scores", GET="read", PATCH="write", DELETE="write"):
    """Changing a check of the kind `judge`, which runs a model, requires also the scope `run`.

    Without this scope such a check can be renamed, paused, or given a lower `share` or `maxCostPerDay`.
    """

    @operation("One online check", answers={200: schemas.OnlineCheckAnswerSchema})
    def on_get(self, key: ApiKey, check_id: int) -> OnlineCheck:
        return self.services.online_checks.get(project_id=key.project_id, check_id=check_id)

    @operation(
        "Change or pause an online check; its scores stay",
        body=schemas.OnlineCheckChangeSchema,
        answers={200: schemas.OnlineCheckAnswerSchema},
    )
    def on_patch(self, key: ApiKey, check_id: int, command: Command) -> OnlineCheck:
        return self.services.online_checks.change(
            project_id=key.project_id, check_id=check_id, values=command, actor=key.actor, may_spend=RUN in key.scopes
        )

    @operation("Remove an online check; its scores stay", answers={204: None})
    def on_delete(self, key: ApiKey, check_id: int) -> None:
        self.services.online_checks.remove(project_id=key.project_id, check_id=check_id, actor=key.actor)
