"""Freezes the content of a candidate and the test cases at the time when their replays are requested."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
import orjson
from sqlalchemy import Connection

from app.errors import Invalid, NotFound
from app.experiments.drift import Watched
from app.models import case_snapshots, prompt_versions
from app.models import cases as test_cases
from app.models.case_snapshots import case_snapshots as snapshots
from app.models.case_snapshots import snapshot_fingerprint
from app.models.cases import CaseEntry
from app.models.experiment_replays import SnapshotFaults
from app.models.prompts import PromptHead
from app.models.queries import put_rows, update_rows
from app.replay.fault_types import Fault, Variant
from app.services.prompts import drafts
from app.services.replays.candidates import CandidateContent
from app.values.structs import convert, decode

TEST_CASES_PER_START = 1000
# Bytes of the test cases that one request may have to read.
DOCUMENTS_BYTES = 32 * 1024 * 1024


class FrozenFaults(msgspec.Struct, frozen=True):
    """The faults of a replay, and the name of the variant that has them; None for faults of a request."""

    variant: str | None
    faults: tuple[Fault, ...]


class FrozenCase(msgspec.Struct, frozen=True, rename="camel"):
    """A test case, or a variant of one, with its snapshot for replays, and the number of its steps.

    `variant` counts the variants from 1; 0 is the recording. `name` is the test case's. `watched` is its state before a
    run of the watch; None in other experiments.
    """

    test_case_id: int
    name: str
    snapshot_id: int
    steps: int
    variant: int = 0
    faults: FrozenFaults | None = None
    watched: Watched | None = None

    @property
    def variant_name(self) -> str | None:
        return self.faults.variant if self.faults else None

    @property
    def shown_name(self) -> str:
        """The name of the test case and of its variant."""
        return shown_name(self.name, self.variant_name)

    @property
    def snapshot_faults(self) -> SnapshotFaults:
        """The snapshot and the faults that a replay of it plays, by which earlier replays are found."""
        return self.snapshot_id, faults_text(self.faults)

    @property
    def columns(self) -> dict[str, Any]:
        """Return the columns of a replay that name the test case."""
        return {
            "test_case_id": self.test_case_id,
            "case_snapshot_id": self.snapshot_id,
            "total": self.steps,
            "faults": self.faults,
        }


def faults_text(faults: FrozenFaults | Mapping[str, Any] | None) -> str | None:
    """Return faults as the table of replays has them."""
    return None if faults is None else orjson.dumps(msgspec.to_builtins(faults)).decode()


def shown_name(name: str, variant: str | None) -> str:
    """Return the name of a test case and of its variant, if there is one."""
    return name if variant is None else f"{name} · {variant}"


def freeze_content(connection: Connection, candidate: CandidateContent) -> int:
    """Return the id of the snapshot with the candidate's content."""
    columns = drafts.columns(candidate.content)
    del columns["fallback_model_id"]  # a replay judges the prompt's own model
    values = columns | {
        "prompt_id": candidate.head.id,
        "instruction_format": candidate.content.instruction_format,
        "fingerprint": candidate.fingerprint,
        "external": candidate.external,
    }
    return prompt_versions.put_snapshot(connection, values=values)


def freeze_cases(
    connection: Connection, head: PromptHead, test_case_ids: Sequence[int] | None, *, now: datetime
) -> list[FrozenCase]:
    """Return the requested test cases of a prompt in the requested order, each once; by default all of them.

    Each is followed by its variants. Only documents that have changed since their last snapshot are read. Raises
    `NotFound` for test cases that the prompt does not have, and `Invalid` for more than `TEST_CASES_PER_START`.
    """
    entries = case_entries(connection, head, test_case_ids, lock=True)
    known = case_snapshots.lock_snapshots(connection, snapshot_fingerprints(entries, head))
    if missing := [entry for entry in entries if entry.id not in known]:
        stored = _put_snapshots(connection, head, missing, now)
        known |= case_snapshots.lock_snapshots(connection, stored)
    return [
        FrozenCase(entry.id, entry.name, known[entry.id], entry.steps, number, faults)
        for entry in entries
        for number, faults in enumerate(played_faults(entry))
    ]


def snapshots_played(
    connection: Connection, head: PromptHead, test_case_ids: Sequence[int] | None
) -> list[SnapshotFaults]:
    """Return what `freeze_cases` would play, with the snapshot 0 for a test case that has changed since its last."""
    entries = case_entries(connection, head, test_case_ids)
    known = case_snapshots.find_snapshots(connection, snapshot_fingerprints(entries, head))
    return [(known.get(entry.id, 0), faults_text(faults)) for entry in entries for faults in played_faults(entry)]


def played_faults(entry: CaseEntry) -> list[FrozenFaults | None]:
    """Return the faults with which a test case is played: none, and those of each variant."""
    variants = convert(entry.variants or [], list[Variant])
    return [None, *(FrozenFaults(variant.name, variant.faults) for variant in variants)]


def fingerprint_of(document: bytes) -> str:
    """Return the fingerprint of a test case with this document, given as JSON."""
    return hashlib.sha256(document).hexdigest()


def resolved(document: dict[str, Any], head: PromptHead) -> dict[str, Any]:
    """Return a test case's document; a missing assertion value is replaced by the prompt's."""
    value = document.get("assertionValue")
    return document if value is not None else document | {"assertionValue": head.assertion_value}


def _resolved_text(document: str, head: PromptHead) -> orjson.Fragment:
    """Do the same as `resolved` on JSON, without parsing the values of the fields."""
    fields = decode(document, dict[str, msgspec.Raw])
    if bytes(fields.get("assertionValue", b"null")) == b"null":
        fields["assertionValue"] = msgspec.Raw(orjson.dumps(head.assertion_value))
    return orjson.Fragment(msgspec.json.encode(fields))


def read_documents(connection: Connection, test_case_ids: Sequence[int]) -> Iterator[dict[int, str]]:
    """Yield the documents of test cases as JSON, by id; raises `Invalid` beyond `DOCUMENTS_BYTES` in total."""
    left = DOCUMENTS_BYTES
    for documents in test_cases.documents_of(connection, ids=test_case_ids):
        left -= sum(map(len, documents.values()))
        if left < 0:
            raise Invalid(
                "testCaseIds: The test cases that have to be read have more than "
                f"{DOCUMENTS_BYTES // 2**20} MiB together; name fewer at once."
            )
        yield documents


def case_entries(
    connection: Connection, head: PromptHead, test_case_ids: Sequence[int] | None, *, lock: bool = False
) -> list[CaseEntry]:
    """Return the requested test cases like `freeze_cases`, and locked until the commit if asked for."""
    requested = None if test_case_ids is None else list(dict.fromkeys(test_case_ids))
    _check_number(requested or ())
    entries = test_cases.entries_of(connection, prompt_id=head.id, ids=requested, lock=lock)
    for index, test_case_id in enumerate(requested or ()):
        if test_case_id not in entries:
            raise NotFound(f"testCaseIds.{index}: The prompt has no such test case.")
    _check_number(entries)
    chosen = [entries[id_] for id_ in (entries if requested is None else requested)]
    if (number := sum(1 + len(entry.variants or ()) for entry in chosen)) > TEST_CASES_PER_START:
        raise Invalid(
            f"testCaseIds: {number} test cases with their variants; name at most {TEST_CASES_PER_START} of them."
        )
    return chosen


def _check_number(test_case_ids: Iterable[int]) -> None:
    if (number := len(list(test_case_ids))) > TEST_CASES_PER_START:
        raise Invalid(f"testCaseIds: {number} test cases; name at most {TEST_CASES_PER_START} of them.")


def snapshot_fingerprints(entries: Iterable[CaseEntry], head: PromptHead) -> dict[int, str]:
    """Return the fingerprints of the snapshots with the test cases' present documents, by test case."""
    return {entry.id: snapshot_fingerprint(entry.fingerprint, head.assertion_value) for entry in entries}


def _put_snapshots(
    connection: Connection, head: PromptHead, entries: Sequence[CaseEntry], now: datetime
) -> dict[int, str]:
    """Store snapshots of test cases, which are locked; returns the snapshots' fingerprints by test case.

    Test cases of older releases get a fingerprint of their document first.
    """
    known, stored = {entry.id: entry.fingerprint for entry in entries}, {}
    for documents in read_documents(connection, list(known)):
        for id_, document in documents.items():
            if not known[id_]:
                known[id_] = fingerprint_of(document.encode())
                update_rows(connection, test_cases.test_cases, {"id": id_}, fingerprint=known[id_])
            stored[id_] = snapshot_fingerprint(known[id_], head.assertion_value)
        shared = {"prompt_id": head.id, "created_at": now}
        rows = [
            shared | {"test_case_id": id_, "fingerprint": stored[id_], "document": _resolved_text(document, head)}
            for id_, document in documents.items()
        ]
        put_rows(connection, snapshots, rows, key=("test_case_id", "fingerprint"))
    return stored
