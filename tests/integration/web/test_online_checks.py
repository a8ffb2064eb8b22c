"""The page of a prompt's online checks adds, lists and removes them."""

from __future__ import annotations

import re

from tests.integration.web.conftest import Browser
from tests.integration.web.test_session_page import HOSTILE
from tests.support.world import World

CHECK = {"name": HOSTILE, "kind": "contains", "value": f"{HOSTILE} x", "judge": "", "cost": "", "percent": "12.5"}


def test_a_check_is_added_listed_and_removed(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    path = f"{admin.base}/prompts/{prompt_id}/online-checks"
    admin.open(path)
    assert "There are no online checks yet" in admin.text
    assert admin.send(path, **CHECK, version="", model="").status_code == 303
    admin.open(path)
    assert f"{HOSTILE} x" in admin.text
    assert HOSTILE not in admin.page
    assert "12.5 % of the turns" in admin.text

    (check,) = world.get(f"/api/v1/prompts/{prompt_id}/online-checks").json["onlineChecks"]
    one = f"{admin.base}/online-checks/{check['id']}"
    admin.open(one)
    assert (f"{HOSTILE} x" in admin.text, HOSTILE in admin.page) == (True, False)
    crumbs = admin.page.partition('aria-label="Breadcrumb"')[2].partition("</nav>")[0]
    assert re.findall(r'href="([^"]*)"', crumbs) == [f"{admin.base}/prompts", f"{admin.base}/prompts/{prompt_id}", path]
    assert admin.send(one, **CHECK | {"kind": "judge"}, version="", model="").status_code == 400
    assert "Name the model that judges." in admin.text
    assert admin.send(one, **CHECK | {"percent": "50"}, version="", model="").status_code == 303
    admin.open(path)
    assert ("paused" in admin.text, "50 % of the turns" in admin.text) == (True, True)
    remove = f"{one}/remove"
    admin.open(remove)
    assert admin.send(remove).status_code == 303
    admin.open(path)
    assert "There are no online checks yet" in admin.text


def test_a_check_that_is_refused_is_shown_again(world: World, admin: Browser) -> None:
    path = f"{admin.base}/prompts/{world.prompt()}/online-checks"
    for wrong, message in (
        ({"kind": "judge"}, "Name the model that judges."),
        ({"percent": "many"}, "Share of the turns: Must be a number."),
        ({"percent": "nan"}, "share: "),
        ({"cost": "inf"}, "maxCostPerDay: "),
    ):
        admin.open(path)
        answer = admin.send(path, **CHECK | wrong, version="", model="")
        assert (answer.status_code, message in admin.text, f"{HOSTILE} x" in admin.text) == (400, True, True)
