"""Walks every route as every caller, and holds each answer to what the route declares."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import falcon
from falcon.testing import StartResponseMock, create_environ
from gunicorn.util import split_request_uri, unquote_to_wsgi_str

from app.http.access import Access, ByKey, ByMetricsToken, ByProgramToken, ByRole, BySession, Public
from app.models.organizations import Role

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE")
# Neither JSON nor a form: whoever parses it answers 400 or 415.
BODY, BODY_HEADERS = b"%ff{", {"Content-Type": "application/json"}
ANY = frozenset(range(200, 500))
ADMITTED = ANY - {401, 403}
# The answer of /health/ready while this machine is too busy for its workers to be seen.
NOT_READY = frozenset({503})

Statuses = frozenset[int]
# (method, target, headers) to (status, body)
Ask = Callable[[str, str, Mapping[str, str]], tuple[int, bytes]]


@dataclass(frozen=True)
class Caller:
    """`scope` is that of their API key, `role` the one in the project that is walked; both may be missing.

    `operator` is true if that project is of the organization that operates the instance.
    """

    name: str
    headers: Mapping[str, str] = field(default_factory=dict)
    scope: str = ""
    signed_in: bool = False
    role: Role | None = None
    operator: bool = False


@dataclass(frozen=True)
class Wrong:
    """An answer that the declaration does not allow."""

    caller: str
    request: str
    status: int
    allowed: tuple[int, ...]
    body: bytes


def strangers() -> list[Caller]:
    return [
        Caller("nobody"),
        Caller("a made-up key", {"Authorization": f"Bearer rp_{'x' * 43}"}),
        Caller("a made-up cookie", {"Cookie": f"reprise_session={'x' * 43}"}),
    ]


def allowed(access: Access, method: str, caller: Caller) -> Statuses:
    """The statuses that the caller may get on the route itself."""
    declared = ("GET" if method == "HEAD" else method) in access.methods
    match access:
        case Public():
            return ANY | NOT_READY if declared else _undeclared(method)
        case ByProgramToken():
            return frozenset({401})  # no caller is a program
        case ByMetricsToken():
            return frozenset({404})  # no token is set
        case ByKey():
            if not caller.scope:
                return frozenset({401})
            return _admitted(method, declared, access.needed(method) == caller.scope)
        case BySession():
            return _admitted(method, declared, True) if caller.signed_in else frozenset({303})
        case ByRole():
            if not caller.signed_in:
                return frozenset({303})
            if caller.role is None or (access.of_operators and not caller.operator):
                return frozenset({404})
            needed = access.needed(method)
            return _admitted(method, declared, needed is not None and caller.role.covers(needed))


def _admitted(method: str, declared: bool, may: bool) -> Statuses:
    if not declared:
        return _undeclared(method)
    return ADMITTED if may else frozenset({403})


def _undeclared(method: str) -> Statuses:
    if method == "OPTIONS":
        return frozenset({200})
    return frozenset({405 if method in falcon.HTTP_METHODS else 400})


def walk(
    ask: Ask,
    routes: Mapping[str, Access],
    callers: Iterable[Caller],
    *,
    targets: Callable[[str], Mapping[str, str]],
    other: Statuses = frozenset(),
    methods: Iterable[str] = METHODS,
) -> list[Wrong]:
    """Return the wrong answers. `routes` have their access by path, `targets` are the spellings of a path; `other` are
    statuses that any of them may get."""
    wrong = []
    for path, access in routes.items():
        for caller in callers:
            for method in methods:
                may = allowed(access, method, caller) | other
                for target in targets(path).values():
                    status, body = ask(method, target, caller.headers)
                    if status not in may or (method == "HEAD" and body):
                        few = tuple(sorted(may)) if len(may) < 9 else ()
                        wrong.append(Wrong(caller.name, f"{method} {target}", status, few, body[:200]))
    return wrong


def in_process(app: Any, *, script_name: str = "") -> Ask:
    """Asks the app as gunicorn would, without gunicorn's sockets."""

    def ask(method: str, target: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
        parts, response = split_request_uri(target), StartResponseMock()
        environ = create_environ(method=method, headers=BODY_HEADERS | dict(headers), body=BODY)
        environ |= {
            "PATH_INFO": unquote_to_wsgi_str(parts.path),
            "QUERY_STRING": parts.query,
            "SCRIPT_NAME": script_name,
        }
        answer = app(environ, response)
        body = b"".join(answer)
        if hasattr(answer, "close"):
            answer.close()
        return int(str(response.status)[:3]), body

    return ask


class OverSockets:
    """Asks over one connection that is kept; the target goes out unchanged, byte for byte."""

    def __init__(self, url: str, *headers: tuple[str, str]) -> None:
        self.url, self._host = url, urlsplit(url).netloc
        self._connection = http.client.HTTPConnection(self._host, timeout=120)
        self._headers = headers

    def __call__(self, method: str, target: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
        body = b"" if method in ("GET", "HEAD") else BODY
        self._connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        sent = {"Host": self._host, "Content-Length": str(len(body)), **BODY_HEADERS, **headers}
        for name, value in (*sent.items(), *self._headers):
            self._connection.putheader(name, value)
        self._connection.endheaders(body)
        with self._connection.getresponse() as answer:
            return answer.status, answer.read()

    def close(self) -> None:
        self._connection.close()
