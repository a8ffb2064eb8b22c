"""Readers of one organization that read nothing of their exports keep no other organization from exporting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from falcon.testing import create_environ

from app.http.exports import EXPORTS_PER_ORGANIZATION
from app.wiring.container import Container
from tests.support.world import World, new_world


@contextmanager
def reader(world: World, prompt_id: int) -> Iterator[str]:
    """An export that is asked for and not taken; its status."""
    begun: list[str] = []
    environ = create_environ(f"/api/v1/prompts/{prompt_id}/exports/runs", headers=world.headers)
    app: Callable[..., Iterable[bytes]] = world.client.app
    answer = app(environ, lambda status, *_: begun.append(status))
    try:
        yield begun[0]
    finally:
        if close := getattr(answer, "close", None):
            close()


def test_export_readers_that_read_nothing_refuse_only_their_own_organization(container: Container) -> None:
    greedy = new_world(container)
    other = replace(new_world(container), client=greedy.client)
    prompt_id = greedy.prompt()
    with ExitStack() as readers:
        begun = [readers.enter_context(reader(greedy, prompt_id)) for _ in range(3 * EXPORTS_PER_ORGANIZATION)]
        assert begun[:EXPORTS_PER_ORGANIZATION] == ["200 OK"] * EXPORTS_PER_ORGANIZATION
        assert {status[:3] for status in begun[EXPORTS_PER_ORGANIZATION:]} == {"503"}

        answer = other.get(f"/api/v1/prompts/{other.prompt()}/exports/runs")

        assert answer.status_code == 200
    assert greedy.get(f"/api/v1/prompts/{prompt_id}/exports/runs").status_code == 200
