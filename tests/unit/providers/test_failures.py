"""Refusals of vendors in words, without secrets."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.failures import broken, failed_midway, no_json, refused, scrub

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def refusal(status, message="words", headers=None, vendor="OPENAI", **error):
    """The failure of an answer with this status and this message of its error."""
    body = json.dumps({"error": {"message": message, **error}}).encode()
    return refused(vendor, None, NOW, status, headers or {}, body)


@given(st.text(), st.text(min_size=8), st.text())
def test_a_scrubbed_text_never_holds_the_secret(before, secret, after):
    assert secret not in scrub(before + secret + after, secret)


def test_the_secret_is_scrubbed_from_urls_too():
    assert scrub("GET /?key=a%2Fb%3D&x=1 a/b=", "a/b=") == "GET /?key=***&x=1 ***"


@pytest.mark.parametrize("secret", [None, ""])
def test_without_a_secret_a_text_stays(secret):
    assert scrub("as it is", secret) == "as it is"


@pytest.mark.parametrize(
    ("status", "retryable", "outage"),
    [(400, False, False), (401, False, False), (404, False, False), (408, True, False), (429, True, False),
     (500, True, True), (502, True, True), (503, True, True), (529, True, True)],
)  # fmt: skip
def test_the_status_decides_whether_to_ask_again(status, retryable, outage):
    failure = refusal(status)

    assert (failure.retryable, failure.outage) == (retryable, outage)
    assert str(failure).endswith(": words")


def test_a_key_that_google_does_not_know_is_named_in_the_details_only():
    failure = refusal(400, "API key not valid", vendor="GOOGLE", details=[{"reason": "API_KEY_INVALID"}])
    assert str(failure) == "GOOGLE refused the key: API key not valid"


def test_a_broken_connection_is_worth_another_try():
    failure = broken(ConnectionResetError("Connection reset by peer"), "DEEPSEEK", None)

    assert "Connection reset by peer" in str(failure)
    assert (failure.retryable, failure.outage) == (True, True)


def test_an_error_sent_in_the_middle_of_a_stream_is_worth_another_try():
    failure = failed_midway("ANTHROPIC", None, {"type": "error", "error": {"message": "Overloaded"}})

    assert (failure.retryable, failure.outage) == (True, False)
    assert "Overloaded" in str(failure)


def test_an_error_of_our_own_making_is_not_tried_again():
    assert not broken(ValueError("no such field"), "OPENAI", None).retryable


def test_a_page_of_html_is_cut_short():
    assert len(str(refused("OPENAI", None, NOW, 502, {}, b"<html>" * 5000))) == 2000


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "No such model"}}, "No such model"),
        ([{"error": {"code": 400, "message": "Bad schema", "status": "INVALID_ARGUMENT"}}], "Bad schema"),
        ({"error": "model 'x' not found"}, "model 'x' not found"),
        ({"code": "Client specified an invalid argument", "error": "Bad role"}, "Bad role"),
        ({"object": "error", "message": "Too long", "code": 400}, "Too long"),
        ({"Message": "Access denied"}, "Access denied"),
        ({"detail": "Not here"}, "Not here"),
        ({"detail": [{"loc": ["body", "stop"], "msg": "field required"}]}, "body.stop: field required"),
        ({"message": {"detail": [{"loc": ["body"], "msg": "Extra inputs"}]}}, "body: Extra inputs"),
        ({"error": {"message": "Provider returned error", "metadata": {"raw": "overheated"}}},
         "Provider returned error: overheated"),
        ({"error": {"message": ""}}, '{"error": {"message": ""}}'),
        ({}, "{}"),
    ],
)  # fmt: skip
def test_the_words_of_an_error_are_found_in_each_vendors_form(body, words):
    failure = refused("OPENAI", None, NOW, 400, {}, json.dumps(body).encode())
    assert str(failure) == f"OPENAI answered 400: {words}"


def test_errors_that_nest_deeply_have_no_words():
    body = b'{"error":' * 300 + b"1" + b"}" * 300
    assert "answered 400" in str(refused("OPENAI", None, NOW, 400, {}, body))


@pytest.mark.parametrize(("stated", "retryable"), [("true", True), ("false", False), ("perhaps", False)])
def test_a_vendor_decides_whether_its_error_is_worth_another_try(stated, retryable):
    assert refusal(422, headers={"x-should-retry": stated}).retryable == retryable
    assert not refusal(500, headers={"x-should-retry": "false"}).retryable


@pytest.mark.parametrize(
    ("error", "retryable", "outage"),
    [
        ({"message": "Too long", "code": 400}, False, False),
        ({"message": "Too long", "code": "context_length_exceeded"}, False, False),
        ({"message": "Slow down", "code": "429"}, True, False),
        ({"message": "Overloaded", "type": "overloaded_error"}, True, True),
        ({"message": "Bad role", "type": "invalid_request_error"}, False, False),
        ({"message": "No money", "type": "insufficient_quota", "code": "insufficient_quota"}, False, False),
        ({"message": "Who knows", "code": True, "type": ["x"]}, True, False),
        ("words only", True, False),
    ],
)
def test_an_error_in_the_place_of_an_answer_is_treated_as_its_status(error, retryable, outage):
    for sent in ({"error": error}, [{"error": error}], {"choices": [{"error": error, "finish_reason": "error"}]}):
        failure = failed_midway("OPENAI", None, sent)
        assert (failure.retryable, failure.outage) == (retryable, outage)


def test_an_object_of_the_kind_error_is_one():
    failure = failed_midway("OPENAI", None, {"object": "error", "message": "Too long", "code": 400})
    assert str(failure) == "OPENAI answered 400: Too long"


@pytest.mark.parametrize("sent", [{}, [], 7, None, {"error": None}, {"choices": []}, {"choices": [{"error": None}]}])
def test_an_answer_is_no_error(sent):
    assert failed_midway("OPENAI", None, sent) is None


def test_azures_filter_is_named_by_its_code():
    assert refusal(400, "The prompt was filtered", code="content_filter").filtered
    assert not refusal(400).filtered


def test_what_is_no_json_is_quoted_without_the_secret():
    failure = no_json("OPENAI", "sk-1234567890", "x" * 195 + "sk-1234567890")
    assert "sk-1" not in str(failure)
    assert "the answer is no JSON: xxx" in str(failure)


def test_an_error_that_carries_another_one_is_described_by_that_one() -> None:
    ended = ConnectionError("Remote end closed connection without response")
    failure = broken(ConnectionError(ConnectionError("Connection aborted.", ended)), "OPENAI", None)

    assert str(failure).endswith("answer properly: Remote end closed connection without response")
    assert failure.retryable
