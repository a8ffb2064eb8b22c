"""Settings · Webhooks: made, tested and changed by forms, with the log of what was sent."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.fakes.receiver import Receiver, receiving
from tests.integration.web.conftest import Browser
from tests.support.world import World

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def page(admin: Browser, receiver: Receiver) -> str:
    """The page of a webhook that was made by the form; the browser shows it with the secret."""
    path = f"{admin.base}/settings/webhooks"
    admin.open(path)
    made = admin.send(path, url=receiver.url, events="version.committed", format="json", enabled="on")
    assert made.status_code == 303, admin.text
    admin.open(made.headers["Location"])
    return str(made.headers["Location"])


def deliver(world: World) -> None:
    """Make what is due, as the clock and a worker do."""
    deliverer = world.container.services.webhook_deliverer
    (webhook,) = world.container.services.webhooks.list(project_id=world.project_id)
    deliverer.deliver(project_id=world.project_id, webhook_id=webhook.id)


def test_the_secret_is_shown_once(admin: Browser, page: str) -> None:
    (secret,) = re.findall(r"whsec_[\w+/]+=*", admin.text)
    admin.open(page)
    assert secret not in admin.text
    admin.open(f"{page}/secret")
    admin.open(str(admin.send(f"{page}/secret").headers["Location"]))
    assert set(re.findall(r"whsec_[\w+/]+=*", admin.text)) - {secret}


def test_a_test_that_fails_is_in_the_log_and_can_be_sent_again(
    world: World, admin: Browser, page: str, receiver: Receiver
) -> None:
    receiver.answers = [410]
    assert admin.send(page, do="test").status_code == 303
    deliver(world)
    admin.open(page)
    assert "failed" in admin.text
    (delivery,) = re.findall(r'name="delivery" value="(\d+)"', admin.page)

    assert admin.send(page, do="again", delivery=delivery).status_code == 303
    deliver(world)
    admin.open(page)
    assert "delivered" in admin.text
    assert len(receiver.received) == 2


def test_what_a_receiver_answers_is_text(world: World, admin: Browser, page: str, receiver: Receiver) -> None:
    def hostile(handler: object) -> None:
        handler.wfile.write(f"HTTP/1.1 410 Gone\r\n\r\n{HOSTILE}".encode())  # type: ignore[attr-defined]

    receiver.behave = hostile
    admin.send(page, do="test")
    deliver(world)
    admin.open(page)
    assert HOSTILE not in admin.page
    assert HOSTILE in admin.text


def test_a_form_that_is_refused_keeps_what_was_filled_in(world: World, admin: Browser, page: str) -> None:
    refused = admin.send(page, do="save", url="http://10.0.0.8/", events="label.moved", format="slack")
    assert refused.status_code == 400
    assert "not public" in admin.text
    assert 'value="http://10.0.0.8/"' in admin.page
    (webhook,) = world.container.services.webhooks.list(project_id=world.project_id)
    assert webhook.events == ["version.committed"]


def test_a_change_and_the_removal_by_forms(world: World, admin: Browser, page: str, receiver: Receiver) -> None:
    saved = admin.send(page, do="save", url=receiver.url, events="label.moved", format="slack")
    assert saved.status_code == 303
    (webhook,) = world.container.services.webhooks.list(project_id=world.project_id)
    assert (webhook.events, webhook.format, webhook.enabled) == (["label.moved"], "slack", False)
    admin.open(f"{page}/remove")
    assert admin.send(f"{page}/remove").status_code == 303
    assert world.count("webhooks") == 0


def test_an_alert_rule_is_made_in_percent_and_removed_by_forms(world: World, admin: Browser) -> None:
    path = f"{admin.base}/settings/alerts"
    admin.open(path)
    assert "no notification is sent" in admin.text
    form = {"metric": "errorShare", "threshold": "12.5", "window": "60", "prompt": "", "minSessions": "10"}
    assert admin.send(path, **(form | {"threshold": "many"})).status_code == 400
    assert admin.send(path, **form).status_code == 303
    (rule,) = world.container.services.alerts.list(project_id=world.project_id)
    assert (rule.threshold, rule.window_minutes, rule.min_sessions) == (0.125, 60, 10)
    admin.open(path)
    assert "All prompts, the last hour, from 10 sessions on" in admin.text
    assert '<span class="visually-hidden">OK</span>' in admin.page
    assert 'class="badge' not in admin.page
    one = f"{path}/{rule.id}"
    admin.open(one)
    assert 'value="12.5"' in admin.page
    assert admin.send(one, **(form | {"threshold": "100"}), enabled="on").status_code == 400
    assert admin.send(one, **(form | {"threshold": "20"})).status_code == 303
    (changed,) = world.container.services.alerts.list(project_id=world.project_id)
    assert (changed.threshold, changed.enabled) == (0.2, False)
    admin.open(path)
    assert "paused" in admin.text
    admin.open(f"{path}/{rule.id}/remove")
    assert admin.send(f"{path}/{rule.id}/remove").status_code == 303
    assert world.count("alert_rules") == 0


def test_the_reason_of_a_failed_delivery_is_also_shown_on_a_phone(
    world: World, admin: Browser, page: str, receiver: Receiver
) -> None:
    form = {"url": "http://receiver.invalid/", "events": "version.committed", "format": "json", "enabled": "on"}
    assert admin.send(page, do="save", **form).status_code == 303
    assert admin.send(page, do="test").status_code == 303
    deliver(world)

    admin.open(page)

    assert '<span class="sub narrow-only">The name of the host was not found.' in admin.page
    assert re.search(r"1 attempt, next (in|within) ", admin.text)
