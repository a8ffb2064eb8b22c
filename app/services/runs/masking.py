"""Masks the stored texts of runs in projects with masking rules.

Texts that are kept for people are masked. Texts that are still needed are stored encrypted until the run ends: the
model needs the original question, and the waiting caller needs the original answer. The question is stored with the
run's files and deleted with them when the run ends. The answer stays in Redis for a while after that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec
import redis
import structlog
from msgspec import UNSET, structs

from app.chat import File
from app.database.transactions import Database
from app.errors import ServiceError
from app.models import runs
from app.models.runs import RunRow, StoredMessage, StoredOutcome, StoredRequest, StoredToolCall
from app.otlp.masking import MASK
from app.redis_store import keys
from app.redis_store.kept_bytes import KeptBytes
from app.redis_store.runs import TTL_ENDED_S
from app.services.masking.rules import MaskingRules, MessageMasking
from app.services.runs.outcome import RunEnd
from app.services.runs.request import Requested
from app.values.structs import decode

log = structlog.get_logger(__name__)

R = TypeVar("R", bound=RunRow)


class _ModelOutput(msgspec.Struct, frozen=True):
    """The columns of a run that hold the output of its model."""

    answer: str | None
    nok: str | None
    outcome: StoredOutcome | None

    @classmethod
    def of(cls, end: RunEnd) -> _ModelOutput:
        return cls(end.answer, end.nok, end.outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMasking:
    database: Database
    rules: MaskingRules
    client: redis.Redis
    kept: KeptBytes

    def accepted(self, project_id: int, requested: Requested, files: Sequence[File]) -> tuple[Requested, list[bytes]]:
        """Return the request to store, and the contents to keep until the end; both unchanged without rules.

        Raises `Unavailable` if the rules can't be read.
        """
        contents = [file.content for file in files]
        masking = self.rules.of(project_id)
        if not masking:
            return requested, contents
        messages = MessageMasking(masking)
        request = structs.replace(_request(requested.request, messages), sealed=True)
        sealed = [self.rules.cipher.encrypt(content) for content in (*contents, msgspec.json.encode(requested))]
        return Requested(messages.question(requested.question), request), sealed

    def requested(self, row: R) -> R:
        """Return the run with its original request; raises `Invalid` if the encryption key has changed."""
        if not row.request.sealed:
            return row
        with self.database.read() as connection:
            sealed = runs.read_file(connection, run_id=row.id, position=len(row.request.files))
        requested = decode(self.rules.cipher.decrypt(sealed), Requested)
        return replace(row, question=requested.question, request=structs.replace(requested.request, sealed=True))

    def contents(self, row: RunRow) -> list[bytes]:
        """Return the contents of the run's files."""
        if not row.request.files:
            return []
        with self.database.read() as connection:
            kept = runs.read_files(connection, run_id=row.id, count=len(row.request.files))
        return [self.rules.cipher.decrypt(content) for content in kept] if row.request.sealed else kept

    def piece_encryption(self, row: RunRow) -> Callable[[bytes], bytes] | None:
        """Return the function that encrypts pieces of a stream in Redis; None if the run is not masked."""
        return self.rules.cipher.encrypt if row.request.sealed or self.rules.of(row.project_id) else None

    def ended(self, row: RunRow, end: RunEnd) -> RunEnd:
        """Return the run's end as it may be stored; the original answer is kept for the waiting caller."""
        masking = self.rules.of(row.project_id)
        if not masking and row.request.sealed:
            # The project had rules when the run was accepted, so the rules cached here are some seconds old.
            self.rules.forget(row.project_id)
            masking = self.rules.of(row.project_id)
        if not masking:
            return end
        whole = end if row.request.sealed else replace(end, question=row.question, request=end.request or row.request)
        kept = _masked(whole, MessageMasking(masking))
        output = _ModelOutput.of(end)
        if kept.outcome is None or output == _ModelOutput.of(kept):
            return kept
        self._keep(row, output)
        return replace(kept, outcome=structs.replace(kept.outcome, masked=True))

    def with_original_answer(self, row: RunRow) -> RunRow:
        """Return an ended run with the model's original answer while Redis has it, else the stored row."""
        if row.outcome is None or not row.outcome.masked:
            return row
        try:
            sealed: bytes | None = self.client.get(keys.run_unmasked(row.id))  # type: ignore[assignment]
            if not sealed:
                return row
            output = decode(self.rules.cipher.decrypt(sealed), _ModelOutput)
            return replace(row, answer=output.answer, nok=output.nok, outcome=output.outcome)
        except (redis.RedisError, ServiceError) as error:
            log.warning("run_words_unreadable", run_id=row.id, error=str(error))
            return row

    def _keep(self, row: RunRow, output: _ModelOutput) -> None:
        if row.api_key_id is None:
            return  # no caller could read it
        try:
            key, sealed = keys.run_unmasked(row.id), self.rules.cipher.encrypt(msgspec.json.encode(output))
            with self.client.pipeline(transaction=False) as pipe:
                if over := self.kept.add(key, len(sealed)):
                    pipe.delete(*over)
                pipe.set(key, sealed, ex=TTL_ENDED_S)
                pipe.execute()
        except redis.RedisError as error:
            log.warning("run_words_not_kept", run_id=row.id, error=str(error))


def has_contents(row: RunRow) -> bool:
    """Return whether files or an encrypted request are stored with the run until it ends."""
    return bool(row.request.files or row.request.sealed)


def _request(request: StoredRequest, masking: MessageMasking) -> StoredRequest:
    """Mask what the caller sent.

    The configuration is the prompt's, as in its versions. So is the text, which is stored as the instruction.
    """
    history = [_message(message, masking) for message in request.history or ()]
    return structs.replace(
        request,
        text=UNSET,
        resolved=masking.other(request.resolved),
        ignored=masking.other(request.ignored),
        files=[structs.replace(file, file_name=masking.other(file.file_name)) for file in request.files],
        history=history or UNSET,
    )


def _message(message: StoredMessage, masking: MessageMasking) -> StoredMessage:
    masks: dict[str, Callable[[str], Any]] = {
        "user": masking.question,
        "assistant": masking.answer,
        "tool": masking.result,
    }
    calls = [_call(call, masking) for call in message.tool_calls]
    text, call_id = masks[message.role](message.text), masking.other(message.tool_call_id)
    return structs.replace(message, text=text, tool_calls=calls, tool_call_id=call_id)


def _masked(end: RunEnd, masking: MessageMasking) -> RunEnd:
    answer = masking.answer(end.answer)
    return replace(
        end,
        question=masking.question(end.question),
        request=end.request and _request(end.request, masking),
        instruction=masking.instruction(end.instruction),
        answer=answer,
        outcome=end.outcome and _outcome(end.outcome, masking),
        error=masking.error(end.error),
        nok=end.nok and _nok(end.nok, masking, answer != end.answer),
    )


def _outcome(outcome: StoredOutcome, masking: MessageMasking) -> StoredOutcome:
    return structs.replace(
        outcome,
        chain_of_thoughts=masking.answer(outcome.chain_of_thoughts),
        first_error=masking.error(outcome.first_error),
        tool_calls=[_call(call, masking) for call in outcome.tool_calls],
    )


def _call(call: StoredToolCall, masking: MessageMasking) -> StoredToolCall:
    return StoredToolCall(masking.other(call.id), masking.other(call.name), masking.arguments(call.arguments))


def _nok(nok: str, masking: MessageMasking, changed: bool) -> str:
    """Mask `NOK: <reason>` or `NOK: <reason>: <details>`; the details may quote the model."""
    kind, reason, *details = nok.split(": ", 2)
    return ": ".join([kind, reason, *(MASK if changed else masking.answer(detail) for detail in details)])
