"""The catalogue in the database, and an organization's view of it."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from app.errors import NotFound
from app.models.language_models import LanguageModel
from app.providers import catalogue
from app.providers.catalogue import Catalogue
from app.services.language_models.service import ModelService
from app.wiring.container import Container
from tests.support.world import World

SHIPPED = catalogue.load()
MINI = ("OPENAI", "gpt-4o-mini")


def synced(container: Container, entries: Catalogue, *, hours: int = 0) -> dict[tuple[str, str], LanguageModel]:
    """The models after a start with `entries`, that many hours from now."""
    later = container.now() + timedelta(hours=hours)
    models = ModelService(database=container.database, now=lambda: later, catalogue=entries)
    models.sync_catalogue()
    return {(model.vendor, model.name): model for model in models.list(organization_id=0)}


def test_every_entry_is_there_with_its_facts(container: Container) -> None:
    models = synced(container, SHIPPED)
    assert models.keys() == SHIPPED.keys()
    mini = models[MINI]
    assert (mini.prompt_price, mini.completion_price) == (0.15, 0.6)
    assert (mini.context_tokens_max, mini.completion_tokens_max) == (128_000, 16_384)
    assert mini.details["temperature"] == [0, 2]
    assert "tools" in mini.details["capabilities"]


def test_starting_again_changes_nothing(container: Container) -> None:
    assert synced(container, SHIPPED) == synced(container, SHIPPED, hours=1)


def test_a_model_that_left_is_retired_and_can_come_back(container: Container) -> None:
    before = synced(container, SHIPPED)[MINI]
    without = {key: entry for key, entry in SHIPPED.items() if key != MINI}
    retired = synced(container, without, hours=1)[MINI]
    assert not retired.usable
    assert retired.updated_at > before.updated_at
    back = synced(container, SHIPPED, hours=2)[MINI]
    assert back == replace(before, updated_at=back.updated_at)


def test_a_changed_price_is_taken_over(container: Container) -> None:
    dearer = msgspec.structs.replace(SHIPPED[MINI], description="Dearer now.")
    assert synced(container, {**SHIPPED, MINI: dearer})[MINI].description == "Dearer now."
    assert synced(container, SHIPPED)[MINI].description == SHIPPED[MINI].description


def test_there_is_no_choosing_what_is_not_there(world: World) -> None:
    with pytest.raises(NotFound):
        world.container.services.models.choose(organization_id=world.organization_id, model_id=10**9, disabled=True)


def test_a_prompt_keeps_a_model_that_was_disabled_since(world: World) -> None:
    models = world.container.services.models
    new = {"name": "n", "value": "v", "languageModelName": "gpt-4o"}
    path = f"/api/v1/prompts/{world.post('/api/v1/prompts', json=new).json['prompt']['id']}"
    model_id = world.get(path).json["languageModelId"]
    models.choose(organization_id=world.organization_id, model_id=model_id, disabled=True)
    assert world.get(path).json["languageModel"]["name"] == "gpt-4o"
    assert world.patch(path, json={"value": "w"}).status_code == 200
    prompt_id = int(path.rpartition("/")[2])
    content = world.container.services.prompts.content(
        project_id=world.project_id, prompt_id=prompt_id, productive=True
    )
    assert not content.model.usable
