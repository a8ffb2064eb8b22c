"""A running server with something on every page, and a browser that is signed in to it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.ui.work import seed_work
from tests.support import browser as support
from tests.support.browser import Visit
from tests.support.deployment import EmbeddedServer, read_assignments
from tests.support.exports import export, span
from tests.support.http_client import Client

pytestmark = pytest.mark.browser
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


@dataclass(frozen=True)
class Site:
    """`signed_in` is a browser's storage after the sign-in; `session_id` a recorded session with a tool call.

    `work` has the ids of a run, a test case, a replay, a calibration and an experiment of it, and a version's hash.
    """

    server: EmbeddedServer
    client: Client
    known: dict[str, str]
    signed_in: Any
    base: str
    prompt_id: int
    session_id: str
    work: dict[str, Any]


Look = Callable[..., AbstractContextManager[Visit]]


@pytest.fixture(scope="package")
def chromium() -> Iterator[support.Browser]:
    missing = support.missing()
    if missing and os.environ.get("REQUIRE_SERVICES"):
        pytest.fail(f"REQUIRE_SERVICES is set, but {missing}", pytrace=False)
    if missing:
        pytest.skip(f"needs real servers: {missing}")
    with support.chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def site(chromium: support.Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with EmbeddedServer(tmp_path_factory.mktemp("ui"), {"REPRISE_PAGE_RATE_LIMIT": "1000000"}) as server:
        known = read_assignments(server.home / "dev.env")
        with support.visit(chromium, server.url) as visit:
            base = sign_in(visit, known)
            model_id = add_model(visit, base)
            add_price(visit, base)
            add_invitation(visit, base)
            add_webhook(visit, base)
            add_alert(visit, base)
            signed_in = visit.page.context.storage_state()
        client = server.client()
        prompt_id, session_id = seed(client)
        work = seed_work(client, prompt_id, session_id, HOSTILE) | {"model": model_id}
        yield Site(server, client, known, signed_in, base, prompt_id, session_id, work)


@pytest.fixture(scope="package")
def shared_look(chromium: support.Browser, site: Site) -> Look:
    """Opens a signed-in window; `shared_look(color_scheme="dark", width=360)`."""

    def opened(width: int = 1280, **options: Any) -> AbstractContextManager[Visit]:
        view = {"viewport": {"width": width, "height": 800}, "storage_state": site.signed_in}
        return support.visit(chromium, site.server.url, **(view | options))

    return opened


@pytest.fixture
def look(shared_look: Look) -> Look:
    """Opens a signed-in window for one test."""
    return shared_look


def sign_in(visit: Visit, known: dict[str, str]) -> str:
    """By the form; the path of the project one comes to."""
    visit.open("/sign-in")
    visit.page.fill("#email", known["ADMIN_EMAIL"])
    visit.page.fill("#password", known["ADMIN_PASSWORD"])
    visit.page.click("button")
    visit.page.wait_for_url("**/projects/**")
    return "/".join(visit.page.url.removeprefix(visit.url).split("/")[:3])


def add_model(visit: Visit, base: str) -> int:
    """Return the id of a custom model that repeats what it should not."""
    visit.open(f"{base}/settings/models")
    visit.page.fill("#name", HOSTILE)
    visit.page.fill("#baseUrl", "http://localhost:1/v1")
    visit.page.fill("#description", HOSTILE)
    visit.page.click("text=Add the model")
    visit.page.wait_for_selector("text=can be used in prompts")
    removal = visit.page.locator("a[href*='/models/'][href$='/remove']").get_attribute("href")
    assert removal
    return int(removal.split("/")[-2])


def add_price(visit: Visit, base: str) -> None:
    """The price of a model that no trace names."""
    visit.open(f"{base}/settings/models/prices")
    visit.page.fill("[name=model]", HOSTILE[:60])
    visit.page.get_by_label("Input", exact=True).fill("1")
    visit.page.get_by_label("Output", exact=True).fill("2")
    visit.page.get_by_role("button", name="Set the price").click()
    visit.page.wait_for_selector("a[href$='/remove']")


def add_invitation(visit: Visit, base: str) -> None:
    """An invitation that waits."""
    visit.open(f"{base}/settings/members")
    visit.page.fill("[name=email]", "invited@example.org")
    visit.page.get_by_role("button", name="Create an invitation link").click()
    visit.page.wait_for_selector("a[href$='/withdraw']")


def add_webhook(visit: Visit, base: str) -> None:
    """A webhook with an unreachable receiver, and a test among its deliveries."""
    visit.open(f"{base}/settings/webhooks")
    visit.page.fill("#url", f"https://{'a' * 60}.invalid/hooks")
    visit.page.click("text=Create the webhook")
    visit.page.click("text=Send a test")
    visit.page.wait_for_selector("text=on its way")


def add_alert(visit: Visit, base: str) -> None:
    """An alert rule that never fires."""
    visit.open(f"{base}/settings/alerts")
    visit.page.fill("#threshold", "99")
    visit.page.click("text=Create the rule")
    visit.page.wait_for_selector("text=The alert rule is created")


def seed(client: Client) -> tuple[int, str]:
    """A prompt full of markup with a run, a session and a rejected span that are too; (prompt id, session id)."""
    made = client.post("/api/v1/prompts", {"name": HOSTILE, "value": "# Role\n{{name}}"}).json()
    prompt_id = made["prompt"]["id"]
    client.post("/api/v1/prompts/run", {"id": prompt_id, "question": HOSTILE})
    client.post("/api/v1/api-keys", {"name": HOSTILE})
    client.post("/api/v1/session-filters", {"name": HOSTILE[:100], "filters": {"minTurns": 1}})
    check = {"name": HOSTILE, "kind": "contains", "value": HOSTILE, "enabled": False}
    client.post(f"/api/v1/prompts/{prompt_id}/online-checks", check)
    client.request("POST", "/api/public/otel/v1/traces", body=trace(prompt_id), headers=JSON)
    entries = client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
    return prompt_id, entries[0]["id"]


JSON = {"Content-Type": "application/json"}


def trace(prompt_id: int) -> bytes:
    now = time.time_ns()
    times = {"startTimeUnixNano": str(now - 2 * 10**9), "endTimeUnixNano": str(now)}
    common = {"service.prompt.id": prompt_id, "gen_ai.conversation.id": HOSTILE}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": HOSTILE, "gen_ai.usage.input_tokens": 12}
    said = {
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": HOSTILE}]}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": HOSTILE}]}],
    }
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": HOSTILE,
        "gen_ai.tool.call.arguments": {"city": HOSTILE},
        "gen_ai.tool.call.result": HOSTILE,
    }
    first, second, refused = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc"
    return export(
        span(common | chat | said, name=HOSTILE, spanId=first, **times),
        span(common | tool, name=HOSTILE, spanId=second, parentSpanId=first, **times),
        span({"service.prompt.id": HOSTILE}, name=HOSTILE, spanId=refused, **times),
    )
