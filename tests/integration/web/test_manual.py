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


def test_words_find_the_parts_that_have_them(admin: Browser) -> None:
    admin.open("/docs?q=WEBHOOK+signat")

    first = re.search(r'<ul class="found"><li><a href="([^"]+)">', admin.page)
    assert first is not None
    assert first[1].startswith("/docs/webhooks")
    path, _, anchor = first[1].partition("#")
    admin.open(path)
    assert not anchor or f'id="{anchor}"' in admin.page


def test_words_that_nothing_has_find_nothing_and_all_pages_stay(admin: Browser) -> None:
    admin.open("/docs?q=%3Cb%3Enothing%3C%2Fb%3E+like+it")

    assert "No part of the documentation has all of the words “<b>nothing</b> like it”." in admin.text
    assert "<b>nothing" not in admin.page
    assert 'href="/docs/start"' in admin.page


def test_a_heading_with_the_word_comes_before_a_text_with_it() -> None:
    hits = manual.find("calibrations")

    assert hits[0].heading.startswith("Calibrations")
    assert len(hits) > 1
    assert all(len(hit.excerpt) <= manual.EXCERPT + 4 for hit in hits)


def test_what_is_found_is_text_without_markup_and_with_its_spaces() -> None:
    excerpts = [hit.excerpt for word in ("label", "images", "session") for hit in manual.find(word)]

    assert not any("](" in excerpt or "labelpoints" in excerpt for excerpt in excerpts)
    assert any("the label points to" in excerpt for excerpt in excerpts)


def test_a_search_is_bounded() -> None:
    assert len(manual.find("the")) == manual.HITS_MAX
    assert manual.find("  ") == []
    assert manual.find("(") is not None
