"""The documents: each page is served, and its links lead to others that are."""

from __future__ import annotations

import re

import pytest

from app.web.presenters import manual
from tests.integration.web.conftest import Browser
from tests.support.world import World

LINK = re.compile(r'<a href="(?P<path>/docs/[^"#]*)?(?:#(?P<anchor>[^"]*))?">')


def test_every_document_is_listed(admin: Browser) -> None:
    admin.open("/docs")
    listed = re.findall(r'href="/docs/([^"]+)"', admin.page)
    assert listed[0] == "start"
    assert sorted(listed) == sorted(manual.names())


@pytest.mark.parametrize("name", manual.names())
def test_the_links_of_a_document_lead_somewhere(name: str) -> None:
    links = LINK.finditer(manual.document(name).html)
    for path, anchor in {(link["path"] or f"/docs/{name}", link["anchor"]) for link in links}:
        target = manual.document(path.removeprefix("/docs/"))
        assert anchor is None or f'id="{anchor}"' in target.html, (path, anchor)


def test_a_document_is_shown_with_its_tables_and_programs(admin: Browser) -> None:
    admin.open("/docs/reference-replays")

    assert "POST /api/v1/replays/{id}/cancel" in admin.text
    assert "style=" not in admin.page
    assert "<img" not in admin.page
    assert admin.open("/docs/nothing").status_code == 404
    assert admin.open("/docs/..%2FREADME").status_code == 404


def test_a_long_document_lists_its_parts(admin: Browser) -> None:
    admin.open("/docs/reference-gate")

    assert "On this page" in admin.text
    assert '<li><a href="#calibrations">Calibrations</a></li>' in admin.page


def test_a_link_to_a_document_has_its_title_as_words(admin: Browser) -> None:
    admin.open("/docs/reference-gate")

    assert f'<a href="/docs/replays">{manual.document("replays").title}</a> explains how' in admin.page
    assert ".md</a>" not in admin.page


def test_a_document_is_for_those_who_are_signed_in(world: World) -> None:
    assert Browser(world).open("/docs/start").status_code == 303
