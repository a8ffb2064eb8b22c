"""Runs of projects that mask: what is kept for people is masked, and what is in work is sealed until it is done.

The model needs what was really asked, and whoever waits what was really answered. The first waits, sealed, beside the
run's files and goes with them when the run ends; the second waits in Redis for a while after the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
import redis
import structlog
from sqlalchemy import Connection

from app.chat import File
from app.db import Database
from app.errors import RepriseError
from app.models import run_file_chunks
from app.models.runs import RunRow
from app.otlp.masking import MASK
from app.redis_store import keys
from app.redis_store.events import TTL_ENDED_S
from app.services.data.masked_words import MaskedWords
from app.services.data.masking import MaskingRules

log = structlog.get_logger(__name__)

# What a model said, of the columns of its run.
WORDS = ("answer", "nok", "outcome")
Columns = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMasking:
    database: Database
    rules: MaskingRules
    client: redis.Redis

    def accepted(self, project_id: int, asked: Columns, files: Sequence[File]) -> tuple[Columns, list[bytes]]:
        """`question` and `request` as they may be stored, and the contents to keep until the end; both as they came
        where there are no rules. `Unavailable` when that can't be known.
        """
        contents = [file.content for file in files]
        masking = self.rules.of(project_id)
        if not masking:
            return asked, contents
        words = MaskedWords(masking)
        kept = {
            "question": words.asked(asked["question"]),
            "request": _request(asked["request"], words) | {"sealed": True},
        }
        return kept, [self.rules.cipher.encrypt(content) for content in (*contents, orjson.dumps(asked))]

    def asked(self, row: RunRow) -> RunRow:
        """The run as it was really asked for; `Invalid` when the key has changed."""
        if not is_sealed(row):
            return row
        with self.database.read() as connection:
            sealed = run_file_chunks.read_file(connection, run_id=row.id, position=len(row.request["files"]))
        asked = orjson.loads(self.rules.cipher.decrypt(sealed))
        return replace(row, question=asked["question"], request=asked["request"] | {"sealed": True})

    def contents(self, connection: Connection, row: RunRow) -> list[bytes]:
        """The run's files."""
        kept = run_file_chunks.read_files(connection, run_id=row.id, count=len(row.request["files"]))
        return [self.rules.cipher.decrypt(content) for content in kept] if is_sealed(row) else kept

    def piece_encryption(self, row: RunRow) -> Callable[[bytes], bytes] | None:
        """The function that encrypts pieces of a stream in Redis; None if the run is not masked."""
        return self.rules.cipher.encrypt if is_sealed(row) or self.rules.of(row.project_id) else None

    def ended(self, row: RunRow, values: Columns) -> Columns:
        """The columns of a run's end as they may be stored. What the model really said is kept for whoever waits."""
        masking = self.rules.of(row.project_id)
        if not masking and is_sealed(row):
            # Where the run was accepted there were rules: what is known here may be some seconds old.
            self.rules.forget(row.project_id)
            masking = self.rules.of(row.project_id)
        if not masking:
            return values
        stored = {} if is_sealed(row) else {"question": row.question, "request": row.request}
        kept = _masked(stored | values, MaskedWords(masking))
        if any(kept.get(name) != values.get(name) for name in WORDS):
            kept["outcome"] = kept["outcome"] | {"masked": True}
            self._keep(row, {name: values[name] for name in WORDS})
        return kept

    def as_said(self, row: RunRow) -> RunRow:
        """An ended run with what its model really said, while that is kept; as it is stored after that."""
        if not (row.outcome or {}).get("masked"):
            return row
        try:
            sealed: bytes | None = self.client.get(keys.run_unmasked(row.id))  # type: ignore[assignment]
            return replace(row, **orjson.loads(self.rules.cipher.decrypt(sealed))) if sealed else row
        except (redis.RedisError, RepriseError) as error:
            log.warning("run_words_unreadable", run_id=row.id, error=str(error))
            return row

    def _keep(self, row: RunRow, words: Columns) -> None:
        if row.api_key_id is None:
            return  # nobody waits who could ask for them
        try:
            self.client.set(keys.run_unmasked(row.id), self.rules.cipher.encrypt(orjson.dumps(words)), ex=TTL_ENDED_S)
        except redis.RedisError as error:
            log.warning("run_words_not_kept", run_id=row.id, error=str(error))


def is_sealed(row: RunRow) -> bool:
    return bool(row.request.get("sealed"))


def has_contents(row: RunRow) -> bool:
    """Whether something is kept beside the run until it ends."""
    return bool(row.request["files"]) or is_sealed(row)


def _request(request: Columns, words: MaskedWords) -> Columns:
    """What the caller brought is masked; the configuration is the prompt's, as in its versions, and so is the text,
    which is kept as the instruction.
    """
    return {name: value for name, value in request.items() if name != "text"} | {
        "resolved": words.other(request["resolved"]),
        "ignored": words.other(request["ignored"]),
        "files": [file | {"fileName": words.other(file["fileName"])} for file in request["files"]],
    }


def _masked(values: Columns, words: MaskedWords) -> Columns:
    masks: dict[str, Callable[[Any], Any]] = {
        "question": words.asked,
        "request": lambda request: _request(request, words),
        "instruction": words.instruction,
        "answer": words.answered,
        "outcome": lambda outcome: _outcome(outcome, words),
        "error": words.other,
    }
    kept = {name: masks[name](value) if name in masks and value else value for name, value in values.items()}
    if values.get("nok"):
        changed = kept["answer"] != values["answer"]
        kept["nok"] = _nok(values["nok"], words, changed)
    return kept


def _outcome(outcome: Columns, words: MaskedWords) -> Columns:
    masks: dict[str, Callable[[Any], Any]] = {
        "chainOfThoughts": words.answered,
        "firstError": words.other,
        "toolCalls": lambda calls: _calls(calls, words),
    }
    return {name: masks[name](value) if name in masks else value for name, value in outcome.items()}


def _calls(calls: list[Columns], words: MaskedWords) -> list[Columns]:
    return [
        words.other({**call, "arguments": None}) | {"arguments": words.arguments(call["arguments"])} for call in calls
    ]


def _nok(nok: str, words: MaskedWords, changed: bool) -> str:
    """`NOK: <reason>`, or `NOK: <reason>: <details>`, which may be the model's words."""
    kind, reason, *details = nok.split(": ", 2)
    return ": ".join([kind, reason, *(MASK if changed else words.answered(detail) for detail in details)])
