"""Import of sessions and test cases from files that other tools wrote, as by the command `reprise import`."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from reprise_formats.importers import CASE_CONVERTERS, CONVERTERS
from reprise_formats.importers.files import UnreadableFile, records_of
from reprise_formats.importers.records import ImportedRecord
from reprise_formats.importers.sending import Import
from reprise_formats.importers.storing import CaseImport
from reprise_formats.importers.text_limits import TextLimits

from app.chat import File
from app.errors import BY_CODE, Invalid, ServiceError, TooLarge, Unavailable
from app.http.access import ByRole
from app.http.bodies import BODY_ELEMENTS_MAX, has_more_elements
from app.models.organizations import Role
from app.otlp.inflate import inflate
from app.schemas.base import load
from app.schemas.cases import ImportSchema
from app.services.ingest.batch import BatchForm
from app.timestamps import ns_of
from app.web.page import PromptPage, Reply, show
from app.web.visit import Visit

MIB = 1024 * 1024
BYTES_MAX = 8 * MIB
"""The bytes of all files of an import, decompressed."""
RECORDS_MAX, CASES_MAX = 1000, 200
"""The records of sessions, and of test cases, that one request imports."""
MESSAGES_MAX = 100
TEXT_LIMITS = TextLimits(yaml_bytes=MIB // 2, csv_bytes=BYTES_MAX, values=10_000, expanded=1_000_000)
"""The limits of all files in YAML, of which PyYAML reads half a MiB in a second, and of a file in CSV."""
RECORD_BYTES, SPANS_BYTES = 16 * MIB, 32 * MIB
"""The bytes of the spans of a record, which are in memory together, and of all spans of an import."""
MESSAGE_MAX = 500
"""The characters of a message: some quote what is in a file."""
BY_COMMAND = "Import larger files with the command reprise import."
# Each tool with what its file contains.
SESSIONS = [
    ("otlp", "OpenTelemetry Collector: spans of its file exporter"),
    ("langfuse", "Langfuse: observations or traces"),
    ("langsmith", "LangSmith: runs"),
    ("phoenix", "Phoenix: spans"),
    ("openai-chat", "OpenAI: fine-tuning files with messages"),
]
CASES = [
    ("promptfoo", "promptfoo: a configuration with tests, YAML or CSV"),
    ("langsmith-dataset", "LangSmith: examples of a dataset"),
    ("braintrust-dataset", "Braintrust: rows of a dataset"),
]
GROUPS = [("Sessions", SESSIONS), ("Test cases", CASES)]


@dataclass(slots=True)
class ImportReport:
    """What an import did: `summary` is a sentence, `messages` what was not imported and why; `more` are not listed."""

    kind: str
    summary: str = ""
    messages: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, message: str) -> None:
        """Add a message, cut after `MESSAGE_MAX` characters; those after the first `MESSAGES_MAX` are only counted."""
        if len(self.messages) < MESSAGES_MAX:
            self.messages.append(message if len(message) <= MESSAGE_MAX else f"{message[:MESSAGE_MAX]}…")
        else:
            self.more += 1


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """What the trace endpoint would answer for a batch."""

    status_code: int
    text: str


class ImportPage(PromptPage):
    """Imports files into a prompt, and shows what was imported and what was not."""

    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})
    multipart = True
    refusals = (Invalid, TooLarge)

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        return self._shown(visit, prompt_id, visit.query.get("tool", ""))

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        tool = visit.form.choice("tool", {*CONVERTERS, *CASE_CONVERTERS})
        files = _opened(visit.form.files)
        if tool in CONVERTERS:
            report = self._import_sessions(visit, prompt_id, tool, files)
        else:
            report = self._import_cases(visit, prompt_id, tool, files)
        return self._shown(visit, prompt_id, tool, report)

    def _shown(self, visit: Visit, prompt_id: int, tool: str, report: ImportReport | None = None) -> Reply:
        chosen = visit.sent.text("tool") or tool
        return show("import.html", head=self.head(visit, prompt_id), groups=GROUPS, tool=chosen, report=report)

    def _import_sessions(self, visit: Visit, prompt_id: int, tool: str, files: list[tuple[str, bytes]]) -> ImportReport:
        self.services.ingest.known_prompts.check(visit.project_id, prompt_id)
        report = ImportReport("sessions")
        form = BatchForm("gzip", prompt_id=prompt_id)

        def send(body: bytes, _headers: dict[str, str]) -> StoredBatch:
            receipt = self.container.batch_delivery.deliver(visit.project_id, body, form)
            error = BY_CODE.get(receipt.outcome)
            if error is not None and issubclass(error, Unavailable):
                raise error(receipt.message)
            if error is not None:
                return _answer(error.status, {"message": receipt.message})
            partial = {"rejectedSpans": receipt.rejected, "errorMessage": receipt.message}
            return _answer(200, {"partialSuccess": partial})

        # The scope is the command's, so that a file which both import is stored once.
        run = Import(
            CONVERTERS[tool],
            f"{tool}/{prompt_id}",
            send,
            report.add,
            record_bytes=RECORD_BYTES,
            total_bytes=SPANS_BYTES,
        )
        run.run(_records(tool, files, RECORDS_MAX, report), ns_of(self.container.now()))
        report.summary = run.summary
        return report

    def _import_cases(self, visit: Visit, prompt_id: int, tool: str, files: list[tuple[str, bytes]]) -> ImportReport:
        report = ImportReport("test cases")
        content = self.services.prompts.content(project_id=visit.project_id, prompt_id=prompt_id, productive=False)
        placeholders = [
            {"key": one.key, "values": [{"name": value.name, "content": value.content} for value in one.values]}
            for one in content.placeholders
        ]

        def store(document: dict[str, Any]) -> None:
            command = load(ImportSchema(), document)
            imported = self.services.test_cases.import_case(
                project_id=visit.project_id,
                prompt_id=prompt_id,
                name=command["name"],
                document=command["test_case"],
                actor=visit.actor,
            )
            if imported.created:
                self.container.effects_delivery.send(imported.row)

        run = CaseImport(placeholders, CASE_CONVERTERS[tool], store, report.add, ServiceError)
        run.run(_records(tool, files, CASES_MAX, report))
        report.summary = run.summary
        return report


def _opened(files: tuple[File, ...]) -> list[tuple[str, bytes]]:
    """Return the names and the decompressed bytes of the files; raises `Invalid` or `TooLarge` for too much."""
    if not files:
        raise Invalid("Choose the file to import.")
    opened, left = [], BYTES_MAX
    for file in files:
        try:
            content = inflate(file.content, "gzip" if file.content.startswith(b"\x1f\x8b") else "", limit=left)
        except TooLarge as error:
            raise TooLarge(f"The files are over {BYTES_MAX // MIB} MiB. {BY_COMMAND}") from error
        left -= len(content)
        opened.append((file.name, bytes(content)))
    if any(has_more_elements(content, BODY_ELEMENTS_MAX) for _, content in opened):
        raise TooLarge(f"A file has more than {BODY_ELEMENTS_MAX} lists, objects and members. {BY_COMMAND}")
    return opened


def _records(tool: str, files: list[tuple[str, bytes]], at_most: int, report: ImportReport) -> Iterator[ImportedRecord]:
    """Yield the records of all files; report what is beyond `at_most` and what can't be read."""
    count, limits = 0, _share(len(files))
    for name, content in files:
        try:
            for record in records_of(tool, io.BufferedReader(io.BytesIO(content)), name, limits):
                if count == at_most:
                    report.add(f"Only the first {at_most} records are imported. {BY_COMMAND}")
                    return
                count += 1
                yield record
        except UnreadableFile as error:
            raise Invalid(str(error)) from error


def _share(files: int) -> TextLimits:
    """Return the limits of each of so many files, which may all be in YAML."""
    parts = {name: getattr(TEXT_LIMITS, name) // files for name in ("yaml_bytes", "values", "expanded")}
    return replace(TEXT_LIMITS, **parts)


def _answer(status_code: int, content: dict[str, Any]) -> StoredBatch:
    return StoredBatch(status_code, orjson.dumps(content).decode())
