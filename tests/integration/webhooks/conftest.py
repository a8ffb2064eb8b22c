"""Receivers on loopback, and webhooks that lead there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.models.webhooks import WebhookEvent
from app.services.webhooks.deliveries import WebhookDeliverer
from tests.fakes.receiver import Receiver, receiving
from tests.support.world import World

EVERYTHING = [str(event) for event in WebhookEvent]


@dataclass(frozen=True)
class Hook:
    """A webhook of a project. It makes deliveries in the calling thread, at a time that a test chooses."""

    world: World
    id: int
    secret: str

    @property
    def path(self) -> str:
        return f"/api/v1/webhooks/{self.id}"

    def deliverer(self, later: timedelta = timedelta()) -> WebhookDeliverer:
        """The project's deliverer, for which it is so much later."""

        def now() -> datetime:
            return self.world.container.now() + later

        return replace(self.world.container.services.webhook_deliverer, now=now)

    def deliver(self, later: timedelta = timedelta()) -> None:
        """Make what is due so much later."""
        self.deliverer(later).deliver(project_id=self.world.project_id, webhook_id=self.id)

    def is_due(self, later: timedelta = timedelta()) -> bool:
        """Return True if the clock would send a message for the webhook; if so, it is reserved from then on."""
        return self.id in {due.webhook_id for due in self.deliverer(later).due()}

    def deliveries(self) -> list[dict[str, Any]]:
        """The log as the API shows it, oldest first."""
        found: list[dict[str, Any]] = self.world.get(f"{self.path}/deliveries").json["deliveries"]
        return found[::-1]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def hook(world: World, receiver: Receiver) -> Hook:
    """A webhook that is sent every event."""
    return new_hook(world, receiver.url)


def new_hook(world: World, url: str, **values: Any) -> Hook:
    made = world.post("/api/v1/webhooks", json={"url": url, "events": EVERYTHING} | values)
    assert made.status_code == 201, made.text
    return Hook(world, made.json["id"], made.json["secret"])


def committed(world: World, name: str = "Support") -> int:
    """Make a prompt with a version, and return its id."""
    made = world.post("/api/v1/prompts", json={"name": name, "value": "Be kind."})
    assert made.status_code == 201, made.text
    prompt_id: int = made.json["prompt"]["id"]
    return prompt_id
