"""Signs people in at an OpenID provider, by its authorization code flow with PKCE.

Sources: OpenID Connect Core 1.0 and Discovery 1.0, RFC 6749 and 7636. Tokens are checked by joserfc, which is installed
with the extra `openid`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from urllib.parse import urlencode

import httpx

from app.errors import Unauthorized, Unavailable
from app.network.limited_exchange import LimitedBackend
from app.values.json import parse_json

TIMEOUT_S = 10.0
"""The limit of all requests of one step of a sign-in, from the lookup of a name to the end of the last answer."""
METADATA_S = 3600.0
"""How long metadata is kept."""
KEYS_S = 60.0
"""A token with an unknown key makes the keys be read again, at most once in this time."""
ANSWER_MAX = 256 * 1024
"""Bytes of an answer."""
LEEWAY_S = 60
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA")
"""Signatures with public keys only: one with the client's secret, or none, is never accepted."""
KEY_MEMBERS = ("kty", "kid", "use", "alg", "crv", "x", "y", "n", "e")
"""Members of a public key (RFC 7518). With those of a private key, joserfc would compute for minutes."""
KEY_MEMBER_MAX = 3000
"""Characters of a member of a key: Base64 of 16,384 bits, the longest RSA key of OpenSSL, is shorter."""
Json = dict[str, Any]
Ask = Callable[..., Json]
"""Sends a request with a method and an address, and returns the JSON of the answer."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A person as the provider knows them; `groups` is empty if the provider names none."""

    issuer: str
    subject: str
    email: str
    email_verified: bool
    name: str
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class OpenIdAttempt:
    """The secrets of one sign-in, which the browser keeps until it comes back."""

    state: str
    nonce: str
    verifier: str

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@dataclass(slots=True)
class OpenIdProvider:
    """A provider and this instance's client there. All methods raise `Unavailable` if the provider does not answer."""

    issuer: str
    client_id: str
    client_secret: str
    redirect_uri: str
    scopes: str = "openid email profile"
    groups_claim: str = "groups"
    monotonic: Callable[[], float] = time.monotonic
    transport: httpx.BaseTransport | None = None
    # Each with the time at which it was read.
    _metadata: tuple[float, Json] = field(default=(0.0, {}), init=False)
    _keys: tuple[float, Sequence[Any]] = field(default=(0.0, ()), init=False)

    @property
    def has_metadata(self) -> bool:
        """Whether the provider's metadata is known, so that `authorization_url` sends no request."""
        read_at, metadata = self._metadata
        return bool(metadata) and self.monotonic() - read_at < METADATA_S

    def authorization_url(self, attempt: OpenIdAttempt) -> str:
        """Return the address at the provider where the person signs in."""
        address: str = self._read_metadata(self._asking())["authorization_endpoint"]
        query = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": self.scopes,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"

    def identity(self, code: str, attempt: OpenIdAttempt) -> Identity:
        """Return who signed in, given the code that the provider sent; `Unauthorized` if the code or token is bad."""
        ask = self._asking()
        metadata = self._read_metadata(ask)
        tokens = self._tokens(ask, metadata, code, attempt)
        claims = self._valid_claims(ask, metadata, str(tokens.get("id_token", "")), attempt.nonce)
        if not isinstance(claims.get("email"), str) or self.groups_claim not in claims:
            claims = self._user_info(ask, metadata, str(tokens.get("access_token", "")), claims) | claims
        groups = claims.get(self.groups_claim)
        listed = groups if isinstance(groups, list) else [groups]
        email = claims.get("email")
        return Identity(
            issuer=self.issuer,
            subject=claims["sub"],
            email=email if isinstance(email, str) else "",
            email_verified=claims.get("email_verified") in (True, "true"),
            name=str(claims.get("name") or claims.get("preferred_username") or ""),
            groups=frozenset(group for group in listed if isinstance(group, str)),
        )

    def _asking(self) -> Ask:
        """Return a function that asks the provider for up to `TIMEOUT_S` from now."""
        return partial(self._json, self.monotonic() + TIMEOUT_S)

    def _read_metadata(self, ask: Ask) -> Json:
        """Return the provider's metadata (Discovery 1.0, section 4)."""
        if self.has_metadata:
            return self._metadata[1]
        metadata = ask("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
        if metadata.get("issuer") != self.issuer:
            raise Unavailable(f"The provider calls itself {metadata.get('issuer')!r}, not {self.issuer!r}.")
        needed = {"authorization_endpoint", "token_endpoint", "jwks_uri"}
        if "userinfo_endpoint" in metadata:
            needed.add("userinfo_endpoint")
        scheme = self.issuer.partition("://")[0] + "://"
        addresses = {name: str(metadata.get(name)) for name in sorted(needed)}
        if lacking := [
            name
            for name, address in addresses.items()
            if not (address.startswith(scheme) and address.isascii() and address.isprintable())
        ]:
            raise Unavailable(f"The provider's metadata lacks {scheme} addresses: {', '.join(lacking)}.")
        self._metadata = self.monotonic(), metadata
        return metadata

    def _tokens(self, ask: Ask, metadata: Json, code: str, attempt: OpenIdAttempt) -> Json:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": attempt.verifier,
        }
        methods = metadata.get("token_endpoint_auth_methods_supported")
        by_header = bool(self.client_secret) and (not isinstance(methods, list) or "client_secret_basic" in methods)
        if not by_header:
            form |= {"client_id": self.client_id}
        if self.client_secret and not by_header:
            form |= {"client_secret": self.client_secret}
        # RFC 6749, section 2.3.1: both are encoded like values of forms.
        encoded = [urlencode({"": text})[1:] for text in (self.client_id, self.client_secret)]
        auth = httpx.BasicAuth(*encoded) if by_header else None
        return ask("POST", metadata["token_endpoint"], data=form, auth=auth)

    def _valid_claims(self, ask: Ask, metadata: Json, token: str, nonce: str) -> Json:
        """Return the claims of an ID token (Core 1.0, section 3.1.3.7)."""
        from joserfc import errors, jwt

        try:
            claims = self._signed_claims(ask, metadata, token)
            jwt.JWTClaimsRegistry(
                leeway=LEEWAY_S,
                iss={"essential": True, "value": self.issuer},
                aud={"essential": True, "value": self.client_id},
                sub={"essential": True},
                exp={"essential": True},
                iat={"essential": True},
                nonce={"essential": True, "value": nonce},
                azp={"value": self.client_id},
            ).validate(claims)
        except (errors.JoseError, ValueError) as error:
            raise Unauthorized(f"The provider's token can't be accepted: {error}") from error
        return claims

    def _signed_claims(self, ask: Ask, metadata: Json, token: str) -> Json:
        """Return the claims of a token that is signed by one of the provider's keys."""
        from joserfc import errors

        read_at, keys = self._keys
        try:
            return _decoded(token, keys)
        except (errors.JoseError, ValueError):
            if keys and self.monotonic() - read_at < KEYS_S:
                raise
        # The provider may have new keys.
        listed = ask("GET", metadata["jwks_uri"]).get("keys")
        if not isinstance(listed, list) or not all(isinstance(key, dict) for key in listed):
            raise Unavailable("The provider lists no keys.")
        keys = _public_keys(listed)
        self._keys = self.monotonic(), keys
        return _decoded(token, keys)

    def _user_info(self, ask: Ask, metadata: Json, access_token: str, claims: Json) -> Json:
        """Return the claims of the user info endpoint, if there is one, for the person of the ID token."""
        if "userinfo_endpoint" not in metadata:
            return {}
        headers = {"Authorization": f"Bearer {access_token}"}
        user_info = ask("GET", metadata["userinfo_endpoint"], headers=headers)
        if user_info.get("sub") != claims["sub"]:
            raise Unauthorized("The provider describes another person than its token.")
        return user_info

    def _json(self, until: float, method: str, url: str, **options: Any) -> Json:
        """Send a request, and return the JSON of its answer. Raises `Unauthorized` and `Unavailable`."""
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"} | options.pop("headers", {})
        try:
            transport = self.transport or _transport(lambda: until - self.monotonic())
            with (
                httpx.Client(timeout=TIMEOUT_S, transport=transport, follow_redirects=False) as client,
                client.stream(method, url, headers=headers, **options) as answer,
            ):
                content = parse_json(self._read(answer, until))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise Unavailable(f"The provider does not answer as it should: {error or type(error).__name__}") from error
        if answer.status_code in (400, 401, 403):
            raise Unauthorized(f"The provider refused: {_reason(content)}")
        if answer.status_code != 200 or not isinstance(content, dict):
            raise Unavailable(f"The provider answered {url} with status {answer.status_code}.")
        return content

    def _read(self, answer: httpx.Response, until: float) -> bytes:
        """Return the body of an answer. Raises `ValueError` for one that is compressed, too long or too slow."""
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise ValueError("the answer is compressed, which was not asked for")
        body = bytearray()
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > ANSWER_MAX:
                raise ValueError(f"the answer has more than {ANSWER_MAX} bytes")
            if self.monotonic() > until:
                raise ValueError(f"its answers need more than {TIMEOUT_S:g} s")
        return bytes(body)


def _public_keys(listed: Sequence[Json]) -> list[Any]:
    """Return the public keys in a list of JSON Web Keys, without unreadable ones (RFC 7517, section 5)."""
    from joserfc import errors, jwk

    keys = []
    for key in listed:
        members = ((name, key.get(name)) for name in KEY_MEMBERS)
        public: dict[str, str | list[str]] = {
            name: text for name, text in members if isinstance(text, str) and len(text) <= KEY_MEMBER_MAX
        }
        with suppress(errors.JoseError, ValueError, KeyError):  # joserfc raises `KeyError` for an unknown curve
            keys.append(jwk.import_key(public))
    return keys


def _decoded(token: str, keys: Sequence[Any]) -> Json:
    """Return the claims of a token. Raises `ValueError` and errors of joserfc."""
    from joserfc import jwk, jwt

    try:
        claims = dict(jwt.decode(token, jwk.KeySet([*keys]), ALGORITHMS).claims)
    except (TypeError, RecursionError) as error:  # joserfc expects that a header is an object, and not nested deeply
        raise ValueError("its header or its claims are no object, or nested too deeply") from error
    json.dumps(claims, ensure_ascii=False).encode()  # raises for half of a surrogate pair, which can't be stored
    return claims


def _transport(left_s: Callable[[], float]) -> httpx.HTTPTransport:
    transport = httpx.HTTPTransport(verify=_tls_context())
    # httpx has no argument for the network backend.
    transport._pool._network_backend = LimitedBackend(left_s)
    return transport


@cache
def _tls_context() -> ssl.SSLContext:
    """Return the context of all requests: reading the certificates is slower than a request."""
    return httpx.create_ssl_context()


def _reason(answer: Any) -> str:
    """Return the reason in an error of the provider (RFC 6749, section 5.2)."""
    fields: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
    return str(fields.get("error_description") or fields.get("error") or "no reason was given")[:200]
