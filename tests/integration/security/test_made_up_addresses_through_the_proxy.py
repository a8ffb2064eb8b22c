"""A client of the shipped proxy that makes up where it comes from: tries to sign in are counted by its true address."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import requests

from tests.integration.security.conftest import csrf_of
from tests.support import caddy
from tests.support.deployment import EmbeddedServer
from tests.support.waiting import LOOPBACK

pytestmark = pytest.mark.program("caddy")


def test_a_made_up_address_is_not_the_one_that_is_counted(tmp_path: Path) -> None:
    # As the compose file does; the loopback is where the proxy of this test is.
    settings = {"REPRISE_TRUSTED_PROXIES": "127.0.0.0/8,10.0.0.0/8", "REPRISE_LOG_FORMAT": "json"}
    with EmbeddedServer(tmp_path, settings) as server, caddy.proxied(tmp_path, server.url) as url:
        browser = requests.Session()
        form = {"csrf": csrf_of(browser.get(f"{url}/sign-in", timeout=120).text), "email": "a@b.c", "password": "guess"}
        headers = {"X-Forwarded-For": "198.51.100.1", "X-Real-IP": "198.51.100.1", "Forwarded": "for=198.51.100.1"}
        assert browser.post(f"{url}/sign-in", data=form, headers=headers, timeout=120).status_code == 401

    lines = [json.loads(line) for line in (tmp_path / "serve.log").read_text().splitlines() if line.startswith("{")]
    assert [line["address"] for line in lines if line["event"] == "sign_in_failed"] == [LOOPBACK]
