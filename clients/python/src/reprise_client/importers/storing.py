"""Stores imported test cases and prompts by the API, and reports what could not be stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from reprise_client.importers.datasets import ConvertCase, ImportedCase
from reprise_client.importers.langfuse_prompts import ImportedVersion, by_name, convert
from reprise_client.importers.records import ImportedRecord
from reprise_client.importers.spans import Unreadable

Report = Callable[[str], None]
Refusal = type[Exception]


class Api(Protocol):
    """The requests of `reprise_client.cli.remote.Remote` that are needed here."""

    def get(self, path: str, **query: Any) -> Any: ...
    def post(self, path: str, body: Any = None) -> Any: ...
    def put(self, path: str, body: Any) -> Any: ...
    def draft(self, prompt_id: int) -> Any: ...
    def change_draft(self, prompt_id: int, change: Any, *, if_match: str) -> Any: ...


class CaseImport:
    """Imports test cases into a prompt. A test case of the same name, as of an earlier import, is replaced."""

    def __init__(self, api: Api, prompt_id: int, convert: ConvertCase, report: Report, refusal: Refusal) -> None:
        self._api, self._convert, self._report, self._refusal = api, convert, report, refusal
        self._path = f"/api/v1/prompts/{prompt_id}/test-cases/import"
        definitions = api.draft(prompt_id)[0]["placeholderDefinitions"]
        self._names = {
            definition["key"]: {value["content"]: value["name"] for value in definition["values"]}
            for definition in definitions
        }
        self.stored = self.failed = 0

    def run(self, records: Iterable[ImportedRecord], *, strict: bool = False) -> None:
        for record in records:
            try:
                self._store(record)
                self.stored += 1
            except (Unreadable, self._refusal) as error:
                self.failed += 1
                self._report(f"{record.place}: {error}")
                if strict:
                    return

    def _store(self, record: ImportedRecord) -> None:
        if record.problem:
            raise Unreadable(record.problem)
        case = self._convert(record.value)
        self._api.post(self._path, case.document(self._placeholders(record.place, case)))
        for part in case.left_out:
            self._report(f"{record.place}: {part} is left out")

    def _placeholders(self, place: str, case: ImportedCase) -> dict[str, str]:
        chosen: dict[str, str] = {}
        for key, content in case.variables.items():
            name = self._names.get(key, {}).get(content)
            if name is not None:
                chosen[key] = name
            elif key in self._names:
                self._report(f"{place}: the placeholder {key} has no value {content[:60]!r}, so its default counts")
            else:
                self._report(f"{place}: the prompt has no placeholder {key}")
        return chosen


class PromptImport:
    """Makes a prompt of each name, with a version of each version, and its labels."""

    def __init__(self, api: Api, report: Report, refusal: Refusal) -> None:
        self._api, self._report, self._refusal = api, report, refusal
        self.prompts = self.versions = self.labels = self.failed = 0

    def run(self, records: Iterable[ImportedRecord], *, strict: bool = False) -> None:
        versions: list[ImportedVersion] = []
        for record in records:
            try:
                if record.problem:
                    raise Unreadable(record.problem)
                versions.append(convert(record.value))
            except Unreadable as error:
                self._fail(f"{record.place}: {error}")
                if strict:
                    return
        for name, numbered in by_name(versions).items():
            try:
                self._store(name, numbered)
            except self._refusal as error:
                self._fail(f"{name}: {error}")
                if strict:
                    return

    def _fail(self, message: str) -> None:
        self.failed += 1
        self._report(message)

    def _store(self, name: str, versions: Sequence[ImportedVersion]) -> None:
        for listed in self._api.get("/api/v1/prompts", search=name, limit=100)["prompts"]:
            if listed["name"] == name:
                self._fail(f"{name}: prompt {listed['id']} has this name already: rename or archive it first")
                return
        new = {"name": name, "value": versions[0].text, "instructionFormat": "RAW", "commit": False}
        prompt_id: int = self._api.post("/api/v1/prompts", new)["prompt"]["id"]
        self.prompts += 1
        for version in versions:
            self._commit(prompt_id, version)

    def _commit(self, prompt_id: int, version: ImportedVersion) -> None:
        for part in version.left_out:
            self._report(f"{version.name}, version {version.number}: {part} is left out")
        self._change(prompt_id, version)
        path = f"/api/v1/prompts/{prompt_id}"
        draft, _ = self._api.draft(prompt_id)
        if not draft["commited"]:
            self._api.post(f"{path}/commit", {"message": version.message})
            self.versions += 1
        commit_hash = self._api.get(f"{path}/versions")["versions"][0]["commitHash"]
        for label in version.labels:
            self._put_label(f"{path}/labels/{quote(label, safe='')}", label, commit_hash)

    def _change(self, prompt_id: int, version: ImportedVersion) -> None:
        """Make the draft the version, without model and parameters if the API does not accept them."""
        changes: Sequence[Mapping[str, Any]] = (version.change(), version.change(with_config=False))
        for number, change in enumerate(changes):
            _, etag = self._api.draft(prompt_id)
            try:
                self._api.change_draft(prompt_id, change, if_match=etag)
                return
            except self._refusal as error:
                if number:
                    raise
                self._report(f"{version.name}, version {version.number}: without model and parameters: {error}")

    def _put_label(self, path: str, label: str, commit_hash: str) -> None:
        try:
            self._api.put(path, {"commitHash": commit_hash})
            self.labels += 1
        except self._refusal as error:
            self._fail(f"label {label}: {error}")
