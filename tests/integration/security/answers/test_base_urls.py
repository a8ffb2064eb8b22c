"""No base URL of an own model or a credential names a metadata service, over the API or on a page."""

import pytest

from tests.unit.network.test_addresses import OPEN, SPELLINGS

CUSTOM = "CUSTOM_OPENAI_COMPATIBLE"
SHAPES = [
    "http://gpu.internal/v1?x=",
    "http://gpu.internal/v1#",
    "http://gpu.internal/v1?",
    "http://gpu.internal\\@169.254.169.254/v1",
    "http://user@169.254.169.254/v1",
    "http://169.254.169.254@gpu.internal/v1",
    "http://%31%36%39.254.169.254/v1",
    "http://169.254.169.254:80/v1",
    "https://169.254.169.254",
    "//169.254.169.254/v1",
    "http:169.254.169.254",
]
URLS = [*(f"http://{host}/v1" for host in SPELLINGS), *SHAPES]


@pytest.fixture
def sent(world, browser):
    """The answers of every way to set a base URL, by the API and on a page."""

    def send(url):
        browser.open(f"{browser.base}/settings/models")
        model = {"promptPrice": "0", "completionPrice": "0", "contextTokensMax": "1", "completionTokensMax": "1"}
        return [
            world.post("/api/v1/models", json={"name": "mine", "baseUrl": url}),
            world.put(f"/api/v1/credentials/{CUSTOM}", json={"apiKey": "sk-x", "baseUrl": url}),
            world.put("/api/v1/credentials/OPENAI", json={"apiKey": "sk-x", "baseUrl": url}),
            browser.send(f"{browser.base}/settings/models", name="mine", baseUrl=url, **model),
            browser.send(f"{browser.base}/settings/credentials", vendor=CUSTOM, api_key="sk-x", base_url=url),
        ]

    return send


def test_link_local_and_metadata_addresses_are_refused_in_every_spelling(sent):
    for url in URLS:
        for answer in sent(url):
            assert answer.status_code == 400, url
            assert "baseUrl: Must " in answer.text, url


def test_loopback_and_private_addresses_are_taken(sent):
    for host in OPEN:
        assert all(answer.status_code in (200, 201, 303) for answer in sent(f"http://{host}:11434/v1")), host
