"""Pages are compressed for browsers that accept it, and never where another site could learn from their length."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping

import pytest
from falcon.testing import Result

from app.web.assets import Assets
from tests.integration.web.conftest import HTML, Browser
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.world import World

pytestmark = EMBEDDED_CONTAINER
GZIP = {"Accept-Encoding": "gzip, deflate, br, zstd"}


def opened(browser: Browser, headers: Mapping[str, str], method: str = "GET") -> Result:
    return browser.world.client.simulate_request(
        method, f"{browser.base}/prompts", headers={**HTML, **headers}, cookies=browser.cookies
    )


@pytest.mark.parametrize("site", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}])
def test_a_page_is_compressed_for_its_own_visitors(admin: Browser, site: Mapping[str, str]) -> None:
    answer = opened(admin, GZIP | site)

    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.headers["Vary"] == "Accept-Encoding, Sec-Fetch-Site"
    assert b'<h1 dir="auto">Prompts</h1>' in gzip.decompress(answer.content)
    assert int(answer.headers["Content-Length"]) == len(answer.content)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "something new"])
def test_a_page_that_another_site_asked_for_is_not(admin: Browser, site: str) -> None:
    answer = opened(admin, GZIP | {"Sec-Fetch-Site": site})

    assert "Content-Encoding" not in answer.headers
    assert '<h1 dir="auto">Prompts</h1>' in answer.text


@pytest.mark.parametrize("encodings", ["", "br", "identity", "gzip;q=0", "gzip; q=0.0"])
def test_a_page_is_uncompressed_for_browsers_that_do_not_accept_gzip(admin: Browser, encodings: str) -> None:
    assert "Content-Encoding" not in opened(admin, {"Accept-Encoding": encodings}).headers


def test_head_has_the_length_of_the_compressed_page(admin: Browser) -> None:
    answer = opened(admin, GZIP, "HEAD")

    assert (answer.headers["Content-Encoding"], answer.content) == ("gzip", b"")
    assert abs(int(answer.headers["Content-Length"]) - len(opened(admin, GZIP).content)) < 50


@pytest.mark.parametrize("name", ["app.css", "app.js"])
def test_style_sheets_and_scripts_are_compressed(world: World, name: str) -> None:
    answer = world.client.simulate_get(Assets().url(name), headers=GZIP)

    assert answer.headers["Content-Encoding"] == "gzip"
    assert len(answer.content) < 0.5 * len(gzip.decompress(answer.content))


def test_no_two_pages_have_the_same_token(admin: Browser) -> None:
    found = []
    for _ in range(2):
        admin.open(f"{admin.base}/settings/keys")
        found.append(admin.csrf)

    halves = [{token[:64], token[64:]} for token in found]
    assert not halves[0] & halves[1]
    for token in found:
        assert admin.send(f"{admin.base}/settings/keys", csrf=token, name="Checkout").status_code == 303


@pytest.mark.parametrize("forge", [lambda token: token[64:], lambda token: "00" * 64, lambda token: token + "00"])
def test_a_part_of_a_token_is_none(admin: Browser, forge: Callable[[str], str]) -> None:
    admin.open(f"{admin.base}/settings/keys")

    assert admin.send(f"{admin.base}/settings/keys", csrf=forge(admin.csrf), name="Forged").status_code == 403
