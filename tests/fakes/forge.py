"""The comments of pull request 5 on GitHub and of merge request 5 on GitLab, as their APIs keep them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes import json_server

TOKEN = "a token of the job"
_COMMENTS = re.compile(r"/repos/shop/agent/issues/5/comments|/projects/1/merge_requests/5/notes")
_ONE = re.compile(r"(?:/repos/shop/agent/issues/comments|/projects/1/merge_requests/5/notes)/(\d+)")


class Forge:
    """`comments` maps ids to what people see; `url` is that of the API."""

    def __init__(self) -> None:
        self.url = ""
        self.comments: dict[int, dict[str, Any]] = {}
        self._ids = count(1)

    @property
    def bodies(self) -> list[str]:
        return [comment["body"] for comment in self.comments.values()]

    def add(self, body: str, *, by_job: bool) -> int:
        number = next(self._ids)
        author = {"user": {"type": "Bot" if by_job else "User"}, "author": {"id": 1 if by_job else 2}}
        self.comments[number] = {"id": number, "body": body, **author}
        return number

    def answer(self, method: str, address: str, headers: Mapping[str, str], body: Any) -> tuple[int, Any]:
        if TOKEN not in (headers.get("Authorization", "").removeprefix("Bearer "), headers.get("PRIVATE-TOKEN")):
            return 401, {"message": "401 Unauthorized"}
        path, query = urlsplit(address).path, parse_qs(urlsplit(address).query)
        if path == "/user":
            return 200, {"id": 1}
        if _COMMENTS.fullmatch(path):
            return self._all(method, query, body)
        one = _ONE.fullmatch(path)
        if not one or int(one[1]) not in self.comments:
            return 404, {"message": "404 Not Found"}
        return self._one(method, int(one[1]), "PATCH" if path.startswith("/repos") else "PUT", body)

    def _all(self, method: str, query: Mapping[str, list[str]], body: Any) -> tuple[int, Any]:
        if method == "POST":
            return 201, self.comments[self.add(body["body"], by_job=True)]
        size, page = int(query["per_page"][0]), int(query["page"][0])
        return 200, list(self.comments.values())[size * (page - 1) : size * page]

    def _one(self, method: str, number: int, update: str, body: Any) -> tuple[int, Any]:
        if method == "DELETE":
            del self.comments[number]
            return 204, None
        if method != update:
            return 405, {"message": "405 Method Not Allowed"}
        self.comments[number]["body"] = body["body"]
        return 200, self.comments[number]


@contextmanager
def serving() -> Iterator[Forge]:
    forge = Forge()
    with json_server.serving(forge.answer) as url:
        forge.url = url
        yield forge


def variables(name: str, forge: Forge) -> dict[str, str]:
    """Return what the forge of this name sets in a job for the request; the token is given by the workflow."""
    if name == "GitHub":
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": forge.url,
            "GITHUB_REPOSITORY": "shop/agent",
            "GITHUB_REF": "refs/pull/5/merge",
        }
    return {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": forge.url,
        "CI_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_IID": "5",
    }
