"""An OpenID provider in this process, for tests: its keys, tokens and answers can be wrong in any way."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from joserfc import jwt
from joserfc.jwk import RSAKey

from app.network.openid import OpenIdAttempt, OpenIdProvider

ISSUER = "https://id.example/realm"
CLIENT, SECRET = "reprise", "s3 cret/+:"
REDIRECT = "https://reprise.example/sign-in/openid/return"
Answers = dict[str, Callable[[httpx.Request], httpx.Response]]


@cache
def _usual_key() -> RSAKey:
    """Generate the key of all providers once, because this is slower than a whole sign-in."""
    return RSAKey.generate_key(2048, {"kid": "1"})


@dataclass
class FakeProvider:
    """Answers with the `claims` of the person who signs in; what it was asked is in `requests`."""

    claims: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    user_info: dict[str, Any] = field(default_factory=dict)
    answers: Answers = field(default_factory=dict)
    key: RSAKey = field(default_factory=_usual_key)
    header: dict[str, Any] = field(default_factory=lambda: {"alg": "RS256"})
    nonce: str = ""
    now: float = 1000.0
    requests: list[httpx.Request] = field(default_factory=list)

    def client(self, **options: Any) -> OpenIdProvider:
        given = {"issuer": ISSUER, "client_id": CLIENT, "client_secret": SECRET, "redirect_uri": REDIRECT} | options
        return OpenIdProvider(**given, transport=httpx.MockTransport(self._answer), monotonic=lambda: self.now)

    def paths(self) -> list[str]:
        return [request.url.path.rpartition("/")[2] for request in self.requests]

    def token_request(self) -> dict[str, str]:
        [request] = [received for received in self.requests if received.url.path.endswith("/token")]
        return {name: values[0] for name, values in parse_qs(request.content.decode()).items()}

    def begun(self, provider: OpenIdProvider, attempt: OpenIdAttempt) -> dict[str, str]:
        """Return the query of the address where the person is sent; the provider remembers the nonce."""
        query = {
            name: values[0] for name, values in parse_qs(urlsplit(provider.authorization_url(attempt)).query).items()
        }
        self.nonce = query["nonce"]
        return query

    def signed(self, **claims: Any) -> str:
        whole = self.standard() | self.claims | claims
        return jwt.encode(self.header, {name: value for name, value in whole.items() if value is not None}, self.key)

    def standard(self) -> dict[str, Any]:
        now = int(time.time())
        return {"iss": ISSUER, "aud": CLIENT, "sub": "ada-1", "iat": now, "exp": now + 300, "nonce": self.nonce}

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        name = request.url.path.rpartition("/")[2]
        answers: Mapping[str, Callable[[httpx.Request], httpx.Response]] = {
            "openid-configuration": lambda _: httpx.Response(200, json=self._described()),
            "keys": lambda _: httpx.Response(200, json={"keys": [self.key.as_dict(private=False)]}),
            "token": lambda _: httpx.Response(200, json={"access_token": "at", "id_token": self.signed()}),
            "userinfo": lambda _: httpx.Response(200, json=self.user_info),
        }
        return (self.answers.get(name) or answers[name])(request)

    def _described(self) -> dict[str, Any]:
        return {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize?tenant=1",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys",
            "userinfo_endpoint": f"{ISSUER}/userinfo",
        } | self.metadata
