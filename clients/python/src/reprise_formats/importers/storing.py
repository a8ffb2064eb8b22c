"""Stores imported test cases and prompts by the API, and reports what could not be stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from reprise_formats.formats import plural
from reprise_formats.importers.datasets import ConvertCase, ImportedCase
from reprise_formats.importers.langfuse_prompts import ImportedVersion, by_name, convert
from reprise_formats.importers.records import ImportedRecord
from reprise_formats.importers.spans import Unreadable

Report = Callable[[str], None]
Refusal = type[Exception]
Store = Callable[[dict[str, Any]], object]
"""Stores a test case in the format of an exported one."""


class Api(Protocol):
    """The requests of `reprise_client.cli.remote.Remote` that are needed here."""

    def get(self, path: str, **query: Any) -> Any: ...
    def post(self, path: str, body: Any = None) -> Any: ...
    def put(self, path: str, body: Any) -> Any: ...
    def draft(self, prompt_id: int) -> Any: ...
    def change_draft(self, prompt_id: int, change: Any, *, if_match: str) -> Any: ...


class CaseImport:
    """Imports test cases into a prompt. A test case of the same name, as of an earlier import, is replaced."""

    def __init__(
        self,
        placeholders: Iterable[Mapping[str, Any]],
        convert: ConvertCase,
        store: Store,
        report: Report,
        refusal: Refusal,
    ) -> None:
        """`placeholders` are those of the prompt's draft, as the API shows them. `store` may raise `refusal`."""
        self._convert, self._store_case, self._report, self._refusal = convert, store, report, refusal
        self._names = {
            definition["key"]: {value["content"]: value["name"] for value in definition["values"]}
            for definition in placeholders
        }
        self.stored = self.failed = 0

    @property
    def summary(self) -> str:
        """What was imported and what was not, as a sentence."""
        failed = [f"{plural(self.failed, 'record')} not imported"] if self.failed else []
        return "Imported " + ", ".join([plural(self.stored, "test case"), *failed]) + "."

    def run(self, records: Iterable[ImportedRecord], *, strict: bool = False) -> None:
        """Store the records, and report unreadable and refused ones; `strict` ends with the first of them."""
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
        self._store_case(case.document(self._placeholders(record.place, case)))
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
    """Makes a prompt of each name, with a version of each version, and its labels.

    An import that was interrupted goes on where it stopped, and one of a later export adds what is new.
    """

    def __init__(self, api: Api, report: Report, refusal: Refusal) -> None:
        self._api, self._report, self._refusal = api, report, refusal
        self.prompts = self.versions = self.labels = self.failed = 0

    def run(self, records: Iterable[ImportedRecord], *, strict: bool = False) -> None:
        """Read all records, then store the prompts; failures are reported, and `strict` ends with the first one."""
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
        prompts = self._api.get("/api/v1/prompts", search=name, limit=100)["prompts"]
        prompt_id: int | None = next((listed["id"] for listed in prompts if listed["name"] == name), None)
        if prompt_id is None:
            new = {"name": name, "value": versions[0].text, "instructionFormat": "RAW", "commit": False}
            prompt_id = self._api.post("/api/v1/prompts", new)["prompt"]["id"]
            self.prompts += 1
            hashes: list[str] = []
        elif (imported := self._imported(prompt_id, versions)) is None:
            self._fail(f"{name}: prompt {prompt_id} has this name already: rename or archive it first")
            return
        else:
            hashes = imported
        for number, version in enumerate(versions):
            if number == len(hashes):
                hashes.append(self._commit(prompt_id, version))
            for label in version.labels:
                self._put_label(prompt_id, label, hashes[number])

    def _imported(self, prompt_id: int, versions: Sequence[ImportedVersion]) -> list[str] | None:
        """Return the commit hash of each version that an earlier import has stored; None for another prompt.

        It may have been interrupted, or the export may have had fewer versions. Each of the prompt's versions must be
        one of these, in their order, and its draft must be the newest of them or one that an import has not committed.
        """
        path = f"/api/v1/prompts/{prompt_id}"
        listed = self._api.get(f"{path}/versions")["versions"][::-1]
        hashes: list[str] = []
        for version in versions:
            place = len(set(hashes))
            stored = listed[place] if place < len(listed) else None
            if stored and (stored["message"], self._text(path, stored)) == (version.message, version.text):
                hashes.append(stored["commitHash"])
            elif hashes and version.text == versions[len(hashes) - 1].text:
                hashes.append(hashes[-1])  # a version with the content of the one before it is not committed
            else:
                break
        draft, _ = self._api.draft(prompt_id)
        begun = [version.text for version in versions[max(len(hashes) - 1, 0) :][:2]]
        return hashes if len(set(hashes)) == len(listed) and draft["value"] in begun else None

    def _text(self, path: str, version: Mapping[str, Any]) -> Any:
        return self._api.get(f"{path}/versions/{version['commitHash']}")["value"]

    def _commit(self, prompt_id: int, version: ImportedVersion) -> str:
        """Make the version the newest one, and return its commit hash."""
        for part in version.left_out:
            self._report(f"{version.name}, version {version.number}: {part} is left out")
        self._change(prompt_id, version)
        path = f"/api/v1/prompts/{prompt_id}"
        draft, _ = self._api.draft(prompt_id)
        if not draft["commited"]:
            self._api.post(f"{path}/commit", {"message": version.message})
            self.versions += 1
        commit_hash: str = self._api.get(f"{path}/versions")["versions"][0]["commitHash"]
        return commit_hash

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

    def _put_label(self, prompt_id: int, label: str, commit_hash: str) -> None:
        """Point a label to a version. One that the prompt has already stays where it points."""
        path = f"/api/v1/prompts/{prompt_id}/labels"
        if label in (listed["label"] for listed in self._api.get(path)["labels"]):
            return
        try:
            self._api.put(f"{path}/{quote(label, safe='')}", {"commitHash": commit_hash})
            self.labels += 1
        except self._refusal as error:
            self._fail(f"label {label}: {error}")
