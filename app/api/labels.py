"""/api/v1/prompts/{id}/labels: names that point to versions of a prompt."""

from __future__ import annotations

from app.api.operation import Resource, operation
from app.models import labels
from app.models.api_keys import ApiKey
from app.schemas import labels as schemas
from app.schemas.base import load
from app.services.accounts.keys import ADMIN
from app.services.prompts.labels import LabelMove

_PATH = schemas.LabelPath()


class Labels(Resource, GET="read"):
    @operation("The prompt's labels", answers={200: schemas.Labels})
    def on_get(self, key: ApiKey, prompt_id: int) -> list[labels.Label]:
        return self.services.labels.list(project_id=key.project_id, prompt_id=prompt_id)


class LabelResource(Resource, GET="read", PUT="write", DELETE="write"):
    @operation("One label", answers={200: schemas.LabelSchema})
    def on_get(self, key: ApiKey, prompt_id: int, label: str) -> labels.Label:
        return self.services.labels.get(project_id=key.project_id, prompt_id=prompt_id, name=_name(label))

    @operation(
        "Point a label to a version, or only for a share of the callers",
        body=schemas.LabelMoveSchema,
        answers={200: schemas.LabelSchema},
        errors=(409,),
    )
    def on_put(self, key: ApiKey, command: LabelMove, prompt_id: int, label: str) -> labels.Label:
        return self.services.labels.move(
            project_id=key.project_id,
            prompt_id=prompt_id,
            name=_name(label),
            move=command,
            may_override=ADMIN in key.scopes,
            actor=key.actor,
        )

    @operation("Delete a label", answers={204: None})
    def on_delete(self, key: ApiKey, prompt_id: int, label: str) -> None:
        self.services.labels.delete(
            project_id=key.project_id,
            prompt_id=prompt_id,
            name=_name(label),
            may_override=ADMIN in key.scopes,
            actor=key.actor,
        )


def _name(label: str) -> str:
    """Return the label's name in an address; raises `Invalid` if it can't be one."""
    name: str = load(_PATH, {"label": label})["label"]
    return name
