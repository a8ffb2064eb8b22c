"""The page of components shows every token, to those who develop."""

from __future__ import annotations

from app.web.views.design import tokens
from tests.integration.web.conftest import Browser
from tests.support.backends import EACH_CONTAINER
from tests.support.world import World


@EACH_CONTAINER
def test_every_token_is_shown_in_the_embedded_mode_and_none_elsewhere(world: World, admin: Browser) -> None:
    shown = admin.open("/design")

    if world.container.settings.embedded:
        assert [name for name in tokens() if f"--{name}<" not in admin.page] == []
    else:
        assert shown.status_code == 404
