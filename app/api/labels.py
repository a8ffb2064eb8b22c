"""/api/v1/prompts/{id}/labels: the names that point to versions of a prompt."""

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


class Label(Resource, GET="read", PUT="write", DELETE="write"):
    @operation("One label", answers={200: schemas.Label})
    def on_get(self, key: ApiKey, prompt_id: int, label: str) -> labels.Label:
        return self.services.labels.get(project_id=key.project_id, prompt_id=prompt_id, name=_name(label))

    @operation(
        "Point a label to a version, or give the version to a share of the keys",
        body=schemas.LabelMoveSchema,
        answers={200: schemas.Label},
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
    """Return the label in an address; `Invalid` for what is no label's name."""
    name: str = load(_PATH, {"label": label})["label"]
    return name
