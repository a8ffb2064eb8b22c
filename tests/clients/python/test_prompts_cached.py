"""A prompt comes from memory, and the server's changes reach the application at the right time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from reprise_client import (
    AuthenticationError,
    ConfigurationError,
    NotFoundError,
    RateLimitedError,
    UnreachableError,
)
from reprise_client.remembered import CHARACTERS_MAX

from tests.clients.python.fakes import OTHER, OWN, FakeReprise
from tests.support.waiting import free_port, wait_until

Connect = Callable[..., Any]
NEVER, AT_ONCE = 1e9, 0.0


def test_a_prompt_is_fetched_once_while_it_is_fresh(fake: FakeReprise, connect: Connect) -> None:
    client = connect(fresh_s=NEVER)

    prompts = [client.prompt(17) for _ in range(3)]

    assert fake.requests == ["/api/v1/prompts/17"]
    assert {(prompt.value, prompt.version, prompt.state, prompt.problem) for prompt in prompts} == {
        ("Be {{tone}}.", OWN, "fresh", None)
    }


def test_each_version_that_can_be_asked_for_is_remembered_by_itself(fake: FakeReprise, connect: Connect) -> None:
    client = connect(fresh_s=NEVER)

    for _ in range(2):
        client.prompt(17, label="production")
        client.prompt(17, version=OTHER)
        client.prompt(17, draft=True)

    path = "/api/v1/prompts/17"
    assert fake.requests == [f"{path}?label=production", f"{path}?commitHash={OTHER}", f"{path}?productive=false"]


def test_a_prompt_is_served_stale_while_it_is_fetched_in_the_background(fake: FakeReprise, connect: Connect) -> None:
    client = connect(fresh_s=AT_ONCE)
    client.prompt(17)
    fake.value, fake.held = "New.", threading.Event()

    stale = client.prompt(17)
    assert (stale.value, stale.state, stale.problem) == ("Be {{tone}}.", "stale", None)

    fake.held.set()
    wait_until(lambda: client.prompt(17).value == "New.", "the new text")


def test_what_did_not_change_is_not_sent_again(fake: FakeReprise, connect: Connect) -> None:
    client = connect(fresh_s=AT_ONCE)

    wait_until(lambda: client.prompt(17) and fake.unchanged >= 2, "answers without a body")

    assert client.prompt(17).value == "Be {{tone}}."


def test_many_callers_make_one_request(fake: FakeReprise, connect: Connect) -> None:
    client, fake.held = connect(first_wait_s=60), threading.Event()
    with ThreadPoolExecutor(20) as pool:
        waiting = [pool.submit(client.prompt, 17) for _ in range(20)]
        wait_until(lambda: fake.requests, "a request")
        fake.held.set()
        assert {future.result().state for future in waiting} == {"fresh"}

    assert len(fake.requests) == 1


def test_a_server_that_is_away_is_asked_again_after_a_pause(fake: FakeReprise, connect: Connect) -> None:
    client = connect(fresh_s=AT_ONCE)
    client.prompt(17)
    fake.refuse(503, "The database is away.", Retry_After="3600")
    wait_until(lambda: client.prompt(17).problem, "the problem")
    before = len(fake.requests)

    served = [client.prompt(17) for _ in range(100)]

    assert len(fake.requests) == before
    assert {(prompt.state, str(prompt.problem)) for prompt in served} == {("stale", "The database is away.")}


def test_a_rate_limit_holds_back_the_requests_for_all_prompts(fake: FakeReprise, connect: Connect) -> None:
    client = connect(fresh_s=AT_ONCE)
    client.prompt(1), client.prompt(2)
    fake.refuse(429, "6,000 requests a minute.", Retry_After="3600")
    problem = wait_until(lambda: client.prompt(1).problem, "the problem")
    before = len(fake.requests)

    assert client.prompt(2).state == "stale"
    assert len(fake.requests) == before
    assert isinstance(problem, RateLimitedError)
    assert problem.retry_after_s == 3600


@pytest.mark.parametrize(
    ("status", "expected"), [(401, AuthenticationError), (404, NotFoundError)], ids=["revoked key", "archived prompt"]
)
def test_a_refusal_is_reported_once_while_the_copy_is_served(
    fake: FakeReprise, connect: Connect, caplog: pytest.LogCaptureFixture, status: int, expected: type[Exception]
) -> None:
    client = connect(fresh_s=0.01)
    client.prompt(17)
    fake.refuse(status, "There is no such prompt.")
    wait_until(lambda: client.prompt(17) and len(fake.requests) > 3, "several refusals")

    prompt = client.prompt(17)

    assert (prompt.value, prompt.state) == ("Be {{tone}}.", "stale")
    assert isinstance(prompt.problem, expected)
    # A busy machine may reset a connection of the fake server, which is reported as well.
    warnings = [entry.getMessage() for entry in caplog.records if entry.levelno == logging.WARNING]
    assert warnings.count(f"prompt 17 (newest): {expected.__name__}: There is no such prompt.") == 1


def test_without_a_copy_the_error_is_raised_in_the_servers_words(fake: FakeReprise, connect: Connect) -> None:
    client = connect()
    fake.refuse(404, "The prompt has no such label.")

    with pytest.raises(NotFoundError, match=r"^The prompt has no such label\.$") as raised:
        client.prompt(17, label="production")
    assert raised.value.status == 404

    fake.refusal = None
    wait_until(lambda: _state(client, label="production") == "fresh", "the label that was made meanwhile")


def test_each_caller_gets_a_separate_error_that_keeps_nothing_alive(fake: FakeReprise, connect: Connect) -> None:
    client = connect()
    fake.refuse(429, "Not now.", Retry_After="3600")

    raised = []
    for _ in range(3):
        with pytest.raises(RateLimitedError) as caught:
            client.prompt(17)
        raised.append(caught.value)
    problem = client.prompt(17, fallback="bundled").problem

    assert len(set(map(id, raised))) == 3
    assert {error.retry_after_s for error in raised} == {3600}
    assert (problem.__traceback__, problem.__cause__, problem.__context__) == (None, None, None)


def test_the_fall_back_is_served_until_the_server_answers(fake: FakeReprise, connect: Connect) -> None:
    client, fake.held = connect(first_wait_s=0.01), threading.Event()
    bundled = {"value": "Stay {{tone}}.", "instructionFormat": "RAW", "placeholderDefinitions": []}

    texts = [client.prompt(17, fallback=fallback) for fallback in ("Be {{tone}}!", bundled)]

    assert [(prompt.value, prompt.state, prompt.version) for prompt in texts] == [
        ("Be {{tone}}!", "fallback", None),
        ("Stay {{tone}}.", "fallback", None),
    ]
    assert isinstance(texts[0].problem, UnreachableError)
    fake.held.set()
    wait_until(lambda: client.prompt(17, fallback="Be {{tone}}!").state == "fresh", "the prompt")


def test_what_answers_but_is_not_reprise_is_no_prompt(fake: FakeReprise, connect: Connect) -> None:
    for answer in ({"id": 18, "value": "another"}, {"id": 17, "value": "x"}, [], "text", {"id": 17, "value": "x"}):
        client, fake.refusal = connect(), (200, answer, {})
        with pytest.raises(UnreachableError, match="did not answer as Reprise does"):
            client.prompt(17)


def test_an_address_without_a_server_is_reported_with_the_address(connect: Connect) -> None:
    address = f"http://127.0.0.1:{free_port()}"

    with pytest.raises(UnreachableError, match=f"^{address}: "):
        connect(url=address).prompt(17)


def test_what_an_application_does_to_an_answer_reaches_no_other(connect: Connect) -> None:
    client = connect(fresh_s=NEVER)

    client.prompt(17).language_model_config["tools"].clear()

    assert client.prompt(17).language_model_config == {"tools": [{"name": "find"}]}


def test_both_versions_of_a_split_are_remembered_for_any_key(fake: FakeReprise, connect: Connect) -> None:
    client, fake.split = connect(fresh_s=NEVER), {"commitHash": OTHER, "share": 0.5}

    versions = [client.prompt(17, label="production", split_key=f"user-{n}").version for n in range(200)]

    assert len(fake.requests) == 3
    assert 60 < versions.count(OTHER) < 140


def test_a_split_that_ends_is_followed_without_a_wait(fake: FakeReprise, connect: Connect) -> None:
    client, fake.split = connect(fresh_s=AT_ONCE), {"commitHash": OTHER, "share": 0.999999}
    assert client.prompt(17, label="production", split_key="user").version == OTHER

    fake.split = None

    wait_until(lambda: client.prompt(17, label="production", split_key="user").version == OWN, "the label's own")


def test_renderings_are_remembered_within_bounds(fake: FakeReprise, connect: Connect) -> None:
    fake.value = "{{tone}}" * 20_000
    prompt = connect(fresh_s=NEVER).prompt(17)

    first, again = prompt.render(tone="formal"), prompt.render(tone="formal")
    first.ignored.append("changed by the application")
    for number in range(200):
        assert prompt.render({f"key {number}": "\0" * 10_000}).ignored == [f"key {number}"]

    assert again.instruction is first.instruction
    assert prompt.render(tone="formal") == again
    assert prompt.record._renderings._weight <= CHARACTERS_MAX


@pytest.mark.parametrize(
    "options",
    [
        {"prompt_id": 0},
        {"prompt_id": "17"},
        {"prompt_id": True},
        {"prompt_id": 17, "label": "a/../b"},
        {"prompt_id": 17, "label": ".."},
        {"prompt_id": 17, "version": "abc"},
        {"prompt_id": 17, "label": "a", "draft": True},
        {"prompt_id": 17, "fallback": {"value": 1}},
        {"prompt_id": 17, "fallback": {"value": "x", "placeholderDefinitions": [{"key": "a", "values": ["x"]}]}},
    ],
)
def test_what_no_request_can_be_made_of_is_refused(connect: Connect, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        connect().prompt(**options)


def _state(client: Any, **options: Any) -> str | None:
    try:
        found: str = client.prompt(17, **options).state
    except NotFoundError:
        return None
    return found
