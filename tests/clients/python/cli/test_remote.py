from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx
import pytest
from reprise_client.cli.remote import PAUSE_S, TRIES, CouldNotRun, Remote, connect


def remote(answer: Callable[[httpx.Request], httpx.Response]) -> tuple[Remote, list[float]]:
    """An instance that answers so, and the seconds that were slept."""
    slept: list[float] = []
    return Remote("http://reprise/", "rp_key", transport=httpx.MockTransport(answer), sleep=slept.append), slept


def test_requests_have_the_key_and_the_unchanged_path() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"ok": True})

    assert remote(answer)[0].post("/api/v1/x", {"a": 1}) == {"ok": True}
    assert str(seen[0].url) == "http://reprise/api/v1/x"
    assert seen[0].headers["Authorization"] == "Bearer rp_key"


@pytest.mark.parametrize(("method", "status"), [("get", 429), ("get", 503), ("post", 429)])
def test_a_busy_instance_is_asked_again_at_the_time_it_names(method: str, status: int) -> None:
    answers = iter(
        [httpx.Response(status, headers={"Retry-After": "7"}, json={"error": "busy"})] * 2
        + [httpx.Response(200, json={"id": 1})]
    )
    instance, slept = remote(lambda _: next(answers))

    assert getattr(instance, method)("/api/v1/x") == {"id": 1}
    assert slept == [7.0, 7.0]


def test_a_post_that_may_have_started_work_is_not_sent_again() -> None:
    instance, slept = remote(lambda _: httpx.Response(503, json={"error": "The database is away."}))

    with pytest.raises(CouldNotRun, match=r"503: The database is away\. It may have been carried out") as problem:
        instance.post("/api/v1/x")
    assert (problem.value.status, slept) == (503, [])


@pytest.mark.parametrize(("value", "is_repeated"), [("true", True), ("false", False), ("", False)])
def test_a_post_that_was_refused_before_any_change_is_sent_again(value: str, is_repeated: bool) -> None:
    refused = httpx.Response(503, headers={"X-Unchanged": value}, json={"error": "The database is away."})
    answers = iter([refused, httpx.Response(200, json={"id": 1})])
    instance, slept = remote(lambda _: next(answers))

    if is_repeated:
        assert instance.post("/api/v1/x") == {"id": 1}
    else:
        with pytest.raises(CouldNotRun):
            instance.post("/api/v1/x")
    assert len(slept) == is_repeated


def test_a_harmless_post_is_sent_again() -> None:
    answers = iter([httpx.Response(503)] * 4 + [httpx.Response(200, json={"id": 1})] * 2)
    instance, _ = remote(lambda _: next(answers))

    assert instance.post("/api/v1/x", harmless=True) == {"id": 1}
    assert instance.cancel("/api/v1/x")


def test_a_delay_that_is_no_number_is_not_used() -> None:
    answers = iter([httpx.Response(503, headers={"Retry-After": b"\xb2"}), httpx.Response(200, json={"id": 1})])
    instance, slept = remote(lambda _: next(answers))

    assert instance.get("/api/v1/x") == {"id": 1}
    assert slept == [PAUSE_S]


def test_an_instance_that_stays_busy_is_given_up_with_its_words() -> None:
    instance, slept = remote(lambda _: httpx.Response(503, json={"error": "The database is away."}))

    with pytest.raises(CouldNotRun, match=r"503: The database is away\."):
        instance.get("/api/v1/x")
    assert len(slept) == TRIES - 1


@pytest.mark.parametrize("status", [400, 401, 404, 500, 302])
def test_other_refusals_end_at_once(status: int) -> None:
    instance, slept = remote(lambda _: httpx.Response(status, json={"error": "No."}))

    with pytest.raises(CouldNotRun, match=f"{status}: No."):
        instance.get("/api/v1/x")
    assert slept == []


def test_the_error_about_an_answer_that_is_not_json_has_its_status() -> None:
    instance, _ = remote(lambda _: httpx.Response(200, text="<html>a proxy's page</html>"))

    with pytest.raises(CouldNotRun, match="answered 200"):
        instance.get("/api/v1/x")


def test_a_request_that_never_arrived_is_sent_again() -> None:
    tries: list[int] = []

    def answer(_request: httpx.Request) -> httpx.Response:
        tries.append(1)
        if len(tries) < 3:
            raise httpx.ConnectError("refused")
        return httpx.Response(202, json={"id": 1})

    assert remote(answer)[0].post("/api/v1/x") == {"id": 1}


def test_a_post_that_may_have_arrived_is_not_sent_again() -> None:
    tries: list[int] = []

    def answer(_request: httpx.Request) -> httpx.Response:
        tries.append(1)
        raise httpx.ReadTimeout("no answer")

    with pytest.raises(CouldNotRun, match=r"no answer\. It may have been carried out"):
        remote(answer)[0].post("/api/v1/x")
    assert len(tries) == 1


def test_lists_are_read_to_their_end() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        page = int(request.url.params.get("cursor", "0"))
        return httpx.Response(200, json={"things": [{"page": page}], "nextCursor": str(page + 1) if page < 2 else None})

    assert list(remote(answer)[0].pages("/api/v1/things", "things")) == [{"page": 0}, {"page": 1}, {"page": 2}]


@pytest.mark.parametrize("cursors", ["aa", "aba", [7], [["a"]], [True]])
def test_a_list_that_never_ends_is_given_up(cursors: Sequence[Any]) -> None:
    pages = iter(cursors)
    instance, _ = remote(lambda _: httpx.Response(200, json={"things": [{"a": 1}], "nextCursor": next(pages)}))

    with pytest.raises(CouldNotRun, match="leads to no next one"):
        list(instance.pages("/api/v1/things", "things"))


@pytest.mark.parametrize(("url", "key"), [("http://x", ""), ("reprise:8000", "rp_key")])
def test_without_a_key_or_an_address_nothing_is_asked(url: str, key: str) -> None:
    with pytest.raises(CouldNotRun) as refused:
        connect(url, key)
    assert refused.value.exit_code == 2


def test_what_is_put_and_what_is_read_is_sent_again_where_the_answer_got_lost() -> None:
    def lose_the_first() -> Callable[[httpx.Request], httpx.Response]:
        seen: list[httpx.Request] = []

        def answer(request: httpx.Request) -> httpx.Response:
            seen.append(request)
            if len(seen) == 1:
                raise httpx.ReadTimeout("lost")
            return httpx.Response(200, json={"times": len(seen)})

        return answer

    assert remote(lose_the_first())[0].put("/api/v1/x", {}) == {"times": 2}
    assert remote(lose_the_first())[0].get("/api/v1/x") == {"times": 2}
    with pytest.raises(CouldNotRun, match="lost"):
        remote(lose_the_first())[0].post("/api/v1/x")


def test_a_deletion_has_no_content() -> None:
    remote(lambda _: httpx.Response(204))[0].delete("/api/v1/x")
    with pytest.raises(CouldNotRun, match="404: No") as refused:
        remote(lambda _: httpx.Response(404, json={"error": "No."}))[0].delete("/api/v1/x")
    assert refused.value.status == 404


def test_a_download_is_json_lines_and_ends_with_an_error_if_it_was_cut_off() -> None:
    def cut() -> Iterator[bytes]:
        yield b"{}\n"
        raise httpx.RemoteProtocolError("peer closed connection")

    answers = iter(
        [
            httpx.Response(200, text="{}\n", headers={"Content-Type": "application/x-ndjson"}),
            httpx.Response(200, text="<html>"),
            httpx.Response(404, json={"error": "There is no such prompt."}),
            httpx.Response(200, content=cut(), headers={"Content-Type": "application/x-ndjson"}),
        ]
    )
    instance, _ = remote(lambda _: next(answers))

    assert list(instance.download("/x")) == [b"{}\n"]
    for message in ("did not answer as Reprise does", "404: There is no such prompt", "was cut off: peer closed"):
        with pytest.raises(CouldNotRun, match=message):
            list(instance.download("/x"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_a_value_that_json_does_not_have_is_refused_in_words(value: object) -> None:
    instance, _ = remote(lambda _: httpx.Response(200, json={}))
    with pytest.raises(CouldNotRun, match="A value can't be sent as JSON"):
        instance.post("/api/v1/prompts", {"maxCost": value})
