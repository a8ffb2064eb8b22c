"""Signing in at an OpenID provider: what is asked, and which answers and tokens are accepted."""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from joserfc import jws, jwt
from joserfc.jwk import RSAKey

from app.errors import Unauthorized, Unavailable
from app.network.openid import ANSWER_MAX, KEYS_S, METADATA_S, Identity, OpenIdAttempt, OpenIdProvider
from tests.support.openid import CLIENT, ISSUER, REDIRECT, SECRET, FakeProvider

ATTEMPT = OpenIdAttempt(state="state", nonce="nonce", verifier="v" * 43)
ADA = {"email": "Ada@Example.org", "email_verified": True, "name": "Ada", "groups": ["dev", 7, "admins"]}


@pytest.fixture
def fake() -> FakeProvider:
    return FakeProvider(claims=dict(ADA))


def signed_in(fake: FakeProvider, provider: OpenIdProvider | None = None) -> Identity:
    provider = provider or fake.client()
    fake.begun(provider, ATTEMPT)
    return provider.identity("the code", ATTEMPT)


def test_the_person_is_sent_with_state_nonce_and_challenge_and_known_by_the_token(fake: FakeProvider) -> None:
    provider = fake.client()

    query = fake.begun(provider, ATTEMPT)
    identity = provider.identity("the code", ATTEMPT)

    challenge = base64.urlsafe_b64encode(hashlib.sha256(ATTEMPT.verifier.encode()).digest()).decode().rstrip("=")
    assert query == {
        "tenant": "1",
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": REDIRECT,
        "scope": "openid email profile",
        "state": "state",
        "nonce": "nonce",
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    assert identity == Identity(ISSUER, "ada-1", "Ada@Example.org", True, "Ada", frozenset({"dev", "admins"}))
    assert fake.token_request() == {
        "grant_type": "authorization_code",
        "code": "the code",
        "redirect_uri": REDIRECT,
        "code_verifier": ATTEMPT.verifier,
    }
    [token] = [request for request in fake.requests if request.url.path.endswith("/token")]
    assert base64.b64decode(token.headers["Authorization"].split()[1]) == b"reprise:s3+cret%2F%2B%3A"
    assert "userinfo" not in fake.paths()


def test_a_provider_without_basic_authentication_gets_the_secret_in_the_form(fake: FakeProvider) -> None:
    fake.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]

    signed_in(fake)

    form = fake.token_request()
    assert (form["client_id"], form["client_secret"]) == (CLIENT, SECRET)


def test_a_client_without_a_secret_sends_only_its_name(fake: FakeProvider) -> None:
    signed_in(fake, fake.client(client_secret=""))

    form = fake.token_request()
    assert form["client_id"] == CLIENT
    assert "client_secret" not in form


def test_claims_that_the_token_lacks_are_read_from_the_user_info(fake: FakeProvider) -> None:
    fake.claims = {"name": "Ada"}
    fake.user_info = {
        "sub": "ada-1",
        "email": "ada@example.org",
        "email_verified": "true",
        "groups": "dev",
        "name": "x",
    }

    identity = signed_in(fake)

    assert (identity.email, identity.email_verified, identity.groups) == ("ada@example.org", True, {"dev"})
    assert identity.name == "Ada"
    fake.user_info["sub"] = "eve"
    with pytest.raises(Unauthorized, match="another person"):
        signed_in(fake)


@pytest.mark.parametrize(
    "wrong",
    [
        {"iss": "https://evil.example"},
        {"aud": "another"},
        {"aud": ["another"]},
        {"aud": None},
        {"nonce": "stale"},
        {"nonce": None},
        {"exp": 1},
        {"exp": None},
        {"iat": None},
        {"sub": None},
        {"azp": "another"},
        {"nbf": 9_999_999_999},
    ],
    ids=str,
)
def test_a_token_for_something_else_is_refused(fake: FakeProvider, wrong: dict[str, Any]) -> None:
    fake.claims |= wrong

    with pytest.raises(Unauthorized, match="can't be accepted"):
        signed_in(fake)


def forged(claims: dict[str, Any], key: bytes = b"") -> str:
    """Return a token without a signature, or with one by a shared key: joserfc itself makes neither."""
    parts = [json.dumps(part).encode() for part in ({"alg": "HS256" if key else "none"}, claims)]
    encoded = [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts]
    signature = hmac.digest(key, ".".join(encoded).encode(), "sha256") if key else b""
    return ".".join([*encoded, base64.urlsafe_b64encode(signature).decode().rstrip("=")])


def test_a_token_that_the_provider_did_not_sign_is_refused(fake: FakeProvider) -> None:
    standard = FakeProvider(nonce=ATTEMPT.nonce).standard() | ADA
    tokens = {
        "unsigned": forged(standard),
        "by the secret": forged(standard, SECRET.encode()),
        "by the public key": forged(standard, fake.key.as_pem(private=False)),
        "by another key": jwt.encode({"alg": "RS256", "kid": "1"}, standard, RSAKey.generate_key(2048, {"kid": "1"})),
        "cut": "eyJ.x",
        "empty": "",
        "emoji": "😀.😀.😀",
    }
    for name, token in tokens.items():
        fake.answers["token"] = lambda _, token=token: httpx.Response(200, json={"id_token": token})  # type: ignore[misc]
        with pytest.raises(Unauthorized, match="can't be accepted"):
            signed_in(fake)
        assert name


def test_keys_are_read_without_their_private_members_and_without_keys_that_are_unknown(fake: FakeProvider) -> None:
    known = fake.key.as_dict(private=False)
    # joserfc looks for the primes of a key with `d` for 40 s, and no other thread runs meanwhile.
    modulus = base64.urlsafe_b64encode(b"\xff" * 2048).decode().rstrip("=")
    unreadable = [
        {"kty": "RSA", "kid": "2", "n": modulus, "e": "AQAB", "d": modulus},
        {"kty": "RSA", "kid": "3", "n": modulus * 20, "e": "AQAB"},
        {"kty": "EC", "kid": "4", "crv": "P-999", "x": "AQ", "y": "AQ"},
        {"kty": ["RSA"]},
        {"kty": "oct", "k": "AQ", "kid": "5"},
    ]
    fake.answers["keys"] = lambda _: httpx.Response(200, json={"keys": [*unreadable, known | {"d": 7}]})
    fake.header["kid"] = "1"
    provider = fake.client()

    assert signed_in(fake, provider).subject == "ada-1"

    assert [(key.kid, key.is_private) for key in provider._keys[1]] == [("2", False), ("1", False)]


def signed_text(fake: FakeProvider, claims: str) -> str:
    return jws.serialize_compact({"alg": "RS256", "kid": "1"}, claims, fake.key)


def test_a_token_that_no_browser_or_database_can_hold_is_refused(fake: FakeProvider) -> None:
    half_a_character = json.dumps(FakeProvider(nonce=ATTEMPT.nonce).standard() | ADA | {"sub": "\ud800"})
    header = base64.urlsafe_b64encode(b'"alg"').decode().rstrip("=")
    for token in (signed_text(fake, half_a_character), signed_text(fake, "[" * 50_000), f"{header}.e30.AA"):
        fake.answers["token"] = lambda _, token=token: httpx.Response(200, json={"id_token": token})  # type: ignore[misc]
        with pytest.raises(Unauthorized, match="can't be accepted"):
            signed_in(fake)


@pytest.mark.parametrize("methods", [None, 7, {}])
def test_methods_of_authentication_that_are_no_list_count_as_the_usual_one(fake: FakeProvider, methods: Any) -> None:
    fake.metadata["token_endpoint_auth_methods_supported"] = methods

    signed_in(fake)

    assert "client_secret" not in fake.token_request()


def test_new_keys_of_the_provider_are_read_once_and_not_for_each_forged_token(fake: FakeProvider) -> None:
    provider = fake.client()
    signed_in(fake, provider)
    fake.key = RSAKey.generate_key(2048, {"kid": "2"})
    fake.now += KEYS_S

    signed_in(fake, provider)
    fake.key = RSAKey.generate_key(2048, {"kid": "3"})
    for _ in range(3):
        with pytest.raises(Unauthorized):
            signed_in(fake, provider)

    assert fake.paths().count("keys") == 2
    assert fake.paths().count("openid-configuration") == 1
    fake.now += METADATA_S
    signed_in(fake, provider)
    assert fake.paths().count("openid-configuration") == 2


@pytest.mark.parametrize(
    ("path", "answer", "error", "words"),
    [
        (
            "token",
            httpx.Response(400, json={"error": "invalid_grant", "error_description": "Used."}),
            Unauthorized,
            "Used",
        ),
        ("token", httpx.Response(400, json=["x"]), Unauthorized, "no reason"),
        ("token", httpx.Response(500, json={}), Unavailable, "status 500"),
        ("token", httpx.Response(200, text="<html>"), Unavailable, "as it should"),
        ("token", httpx.Response(200, json=[]), Unavailable, "status 200"),
        ("keys", httpx.Response(302, json={}), Unavailable, "status 302"),
        ("keys", httpx.Response(200, json={"keys": 7}), Unavailable, "no keys"),
        ("keys", httpx.Response(200, json={"keys": [{"kty": "x"}]}), Unauthorized, "can't be accepted"),
        (
            "openid-configuration",
            httpx.Response(200, json={"issuer": "https://evil.example"}),
            Unavailable,
            "calls itself",
        ),
        ("openid-configuration", httpx.Response(200, json={"issuer": ISSUER}), Unavailable, "lacks"),
        ("openid-configuration", httpx.Response(404, json={}), Unavailable, "status 404"),
    ],
)
def test_each_bad_answer_of_the_provider_is_reported(
    fake: FakeProvider, path: str, answer: httpx.Response, error: type[Exception], words: str
) -> None:
    fake.answers[path] = lambda _: answer

    with pytest.raises(error, match=words):
        signed_in(fake)


def test_a_provider_that_is_away_is_reported(fake: FakeProvider) -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("", request=request)

    fake.answers["openid-configuration"] = away

    with pytest.raises(Unavailable, match="does not answer"):
        fake.client().authorization_url(ATTEMPT)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, content=b'{"a": "' + b"x" * ANSWER_MAX + b'"}'),
        httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=gzip.compress(b"{}")),
        httpx.Response(200, content=b"[" * 100_000),
    ],
    ids=["long", "compressed", "nested"],
)
def test_an_answer_that_would_fill_the_memory_is_refused(fake: FakeProvider, answer: httpx.Response) -> None:
    fake.answers["token"] = lambda _: answer

    with pytest.raises(Unavailable, match="does not answer as it should"):
        signed_in(fake)


def test_an_answer_in_many_slow_pieces_is_refused(fake: FakeProvider) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(1_000):
            fake.now += 1
            yield b" "

    fake.answers["token"] = lambda _: httpx.Response(200, content=pieces())
    begun = fake.now

    with pytest.raises(Unavailable, match="more than 10 s"):
        signed_in(fake)
    assert fake.now - begun < 20


@pytest.mark.parametrize(
    "address", [7, None, "http://id.example/token", "file:///etc/passwd", "https://id.example/é", "https://a\r\nb: c"]
)
@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"])
def test_the_provider_has_only_addresses_as_safe_as_its_own(fake: FakeProvider, name: str, address: Any) -> None:
    fake.metadata[name] = address

    with pytest.raises(Unavailable, match=f"lacks https:// addresses: {name}"):
        fake.begun(fake.client(), ATTEMPT)
