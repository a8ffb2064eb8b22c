"""The requests that read a prompt, and what their answers mean, for clients that wait and that don't.

`read` is a generator: it yields each request, receives its answer, and returns the versions.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

from reprise_client.errors import error_of, retry_after_s
from reprise_client.records import PromptVersions, Record, foreign, parse_answer, parse_object
from reprise_client.wanted import WantedVersion


@dataclass(frozen=True, slots=True)
class Get:
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    etag: str = ""

    @property
    def headers(self) -> dict[str, str]:
        # No header has other characters, whatever a server sent.
        return {"If-None-Match": self.etag} if self.etag and self.etag.isascii() else {}


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An answer that was received as a whole; its headers are found in any case."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def run_id(self) -> int | None:
        value = self.headers.get("X-Run-Id", "")
        return int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None

    def checked(self) -> HttpReply:
        """Return the answer; raise its error, in the server's words."""
        if self.status < 300:
            return self
        raise error_of(self.status, self._message(), self.run_id, retry_after_s(self.headers))

    def _message(self) -> str:
        try:
            message = parse_object(self.body).get("error")
        except ValueError:
            message = None
        return message if isinstance(message, str) else f"{self.url} answered {self.status}."


Reading = Generator[Get, HttpReply, PromptVersions]


def read(wanted: WantedVersion, known: PromptVersions | None) -> Reading:
    """Return what the server has now; `known`, which was remembered, where that is still the same."""
    if wanted.by_key and wanted.label is not None:
        return (yield from _read_label(wanted.prompt_id, wanted.label, known))
    reply = yield Get(_path(wanted.prompt_id), _query(wanted), known.etag if known else "")
    if reply.status == 304 and known is not None:
        return known
    return PromptVersions(_record(reply.checked(), wanted.prompt_id), reply.headers.get("ETag", ""))


def _read_label(prompt_id: int, label: str, known: PromptVersions | None) -> Reading:
    """Read where a label points to, and then those of its versions that are not known: a version never changes."""
    reply = yield Get(f"{_path(prompt_id)}/labels/{label}")
    answer = parse_answer(reply.checked().body, reply.url)
    commit_hash, split = answer.get("commitHash"), answer.get("split")
    if answer.get("label") != label or not isinstance(commit_hash, str) or not isinstance(split, dict | None):
        raise foreign(reply.url)
    record = yield from _read_version(prompt_id, commit_hash, known)
    if split is None:
        return PromptVersions(record)
    split_hash, share = split.get("commitHash"), split.get("share")
    if not isinstance(split_hash, str) or not isinstance(share, int | float):
        raise foreign(reply.url)
    return PromptVersions(record, split=(yield from _read_version(prompt_id, split_hash, known)), share=float(share))


def _read_version(prompt_id: int, commit_hash: str, known: PromptVersions | None) -> Generator[Get, HttpReply, Record]:
    record = known.with_hash(commit_hash) if known else None
    if record is None:
        record = _record((yield Get(_path(prompt_id), {"commitHash": commit_hash})).checked(), prompt_id)
    return record


def _record(reply: HttpReply, prompt_id: int) -> Record:
    try:
        return Record.parse(reply.body.decode(), prompt_id)
    except ValueError:
        raise foreign(reply.url) from None


def _path(prompt_id: int) -> str:
    return f"/api/v1/prompts/{prompt_id}"


def _query(wanted: WantedVersion) -> dict[str, str]:
    if wanted.draft:
        return {"productive": "false"}
    return {"label": wanted.label} if wanted.label else {"commitHash": wanted.version} if wanted.version else {}
