"""The comments of a pull request on GitHub or of a merge request on GitLab, as a job of theirs may write them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from reprise_client import tls
from reprise_client.cli.failures import CouldNotRun

# The first line of the comment, by which it is found again; no reader sees it.
MARKER = "<!-- reprise gate -->"
_NAMED_MARKER = "<!-- reprise gate: {} -->"
# GitHub accepts 65,536 characters.
COMMENT_MAX = 65_000
_PER_PAGE = 100
_PAGES_MAX = 50
_PULL = re.compile(r"refs/pull/(\d+)/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """Addresses are below `api`. `is_own` is true for comments of this job's account: anybody can write the marker."""

    client: httpx.Client
    comments: str
    one_comment: str
    update: str
    is_own: Callable[[Mapping[str, Any]], bool]

    def request(self, method: str, path: str, **parts: Any) -> Any:
        """Return the JSON of the answer, None for an empty one; `CouldNotRun` for an error status or no connection."""
        try:
            response = self.client.request(method, path, **parts)
            response.raise_for_status()
            return response.json() if response.content else None
        except httpx.HTTPStatusError as error:
            raise CouldNotRun(f"{method} {error.request.url} answered {error.response.status_code}.") from error
        except (httpx.HTTPError, ValueError) as error:
            raise CouldNotRun(f"{self.client.base_url}: {str(error) or type(error).__name__}") from error


def publish(forge: Forge, text: str, name: str = "") -> str:
    """Write, change or delete the comment of this name, and return what was done."""
    marker = _NAMED_MARKER.format(name) if name else MARKER
    comment_id = next((comment["id"] for comment in _comments(forge) if _is_ours(forge, comment, marker)), None)
    if not text.strip():
        if comment_id is None:
            return "There is no comment to delete, and none is written of an empty file."
        forge.request("DELETE", forge.one_comment.format(comment_id))
        return "The comment is deleted."
    body = {"body": f"{marker}\n{text}"[:COMMENT_MAX]}
    if comment_id is None:
        forge.request("POST", forge.comments, json=body)
        return "The comment is written."
    forge.request(forge.update, forge.one_comment.format(comment_id), json=body)
    return "The comment is changed."


def _is_ours(forge: Forge, comment: Mapping[str, Any], marker: str) -> bool:
    return str(comment.get("body")).startswith(marker) and forge.is_own(comment)


def _within(comment: Mapping[str, Any], key: str, field: str) -> Any:
    """Return a field of the object under a key; None without either, as for a comment of a deleted account."""
    holder = comment.get(key)
    return holder.get(field) if isinstance(holder, dict) else None


def _comments(forge: Forge) -> Iterator[Mapping[str, Any]]:
    for page in range(1, _PAGES_MAX + 1):
        comments = forge.request("GET", forge.comments, params={"per_page": _PER_PAGE, "page": page})
        if not isinstance(comments, list) or not all(isinstance(comment, dict) for comment in comments):
            raise CouldNotRun(f"{forge.comments} did not answer with a list of comments.")
        yield from comments
        if len(comments) < _PER_PAGE:
            return


def from_environment() -> Forge:
    """Return the forge that runs this job, by the variables that it sets."""
    if os.environ.get("GITHUB_ACTIONS"):
        return _github()
    if os.environ.get("GITLAB_CI"):
        return _gitlab()
    raise CouldNotRun("This is no job of GitHub Actions or of GitLab CI: run the command in a pipeline of theirs.")


def _github() -> Forge:
    reference = os.environ.get("GITHUB_REF", "")
    if not (pull := _PULL.match(reference)):
        raise CouldNotRun(f"GITHUB_REF: {reference!r} is no pull request.")
    issues = f"/repos/{_variable('GITHUB_REPOSITORY')}/issues"
    return Forge(
        client=_client(_variable("GITHUB_API_URL"), {"Authorization": f"Bearer {_variable('GITHUB_TOKEN')}"}),
        comments=f"{issues}/{pull[1]}/comments",
        one_comment=f"{issues}/comments/{{}}",
        update="PATCH",
        # The token of a job can't ask for its account; its comments are those of a bot, which people can't be.
        is_own=lambda comment: _within(comment, "user", "type") == "Bot",
    )


def _gitlab() -> Forge:
    client = _client(_variable("CI_API_V4_URL"), {"PRIVATE-TOKEN": _variable("GITLAB_TOKEN")})
    request = f"/projects/{_variable('CI_PROJECT_ID')}/merge_requests/{_variable('CI_MERGE_REQUEST_IID')}"
    forge = Forge(
        client=client,
        comments=f"{request}/notes",
        one_comment=f"{request}/notes/{{}}",
        update="PUT",
        is_own=lambda comment: _within(comment, "author", "id") == me,
    )
    user = forge.request("GET", "/user")
    if not isinstance(user, dict) or "id" not in user:
        raise CouldNotRun(f"{client.base_url}/user did not answer as GitLab does.")
    me = user["id"]
    return forge


def _client(api: str, headers: Mapping[str, str]) -> httpx.Client:
    return httpx.Client(base_url=api.rstrip("/"), headers=headers, timeout=30, verify=tls.default())


def _variable(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise CouldNotRun(f"Set {name}.")
    return value
