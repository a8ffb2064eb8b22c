"""Plays replays in a worker: claims the row, plays outside any transaction, stores what was found."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from secrets import token_hex
from typing import Any
from uuid import uuid4

import structlog
from sqlalchemy import Connection

from app.db import UNSTORABLE, Database
from app.errors import Invalid, NotFound, ProviderError, Unavailable
from app.metrics import Metrics
from app.metrics.registry import REPLAYS
from app.models import cases as test_cases
from app.models import draft_snapshots, replay_claims
from app.models.language_models import LanguageModel
from app.models.replays import ReplayRow
from app.providers.types import Credential, ModelPort
from app.replay import result_codec, results
from app.replay.codec import load_case
from app.replay.engine import replay
from app.replay.judge import ModelJudge
from app.replay.ports import Judgement, JudgePort, Ports
from app.replay.types import ReplayResult, TestCase
from app.services.data.masked_words import MaskedWords
from app.services.data.masking import MaskingRules
from app.services.language_models.credentials import CredentialService
from app.services.language_models.service import ModelService
from app.services.prompts.content import PromptContent, parse_placeholders
from app.services.prompts.reader import PromptReader
from app.services.replays.masking import masked_replay
from app.services.replays.ports import Meter, MeteredModel, SnapshotDraft
from app.services.replays.pulse import BEAT_S, Pulse
from app.timestamps import Now

log = structlog.get_logger(__name__)

ATTEMPTS_MAX = 3
INTERRUPTED = f"The replay was interrupted {ATTEMPTS_MAX} times: its worker died or was stopped."
NOT_STORED = "The replay was played, but its result can't be stored."
# Turns with a recorded history that are played at once.
SIDE_BY_SIDE = 8
# How often, a second apart, a result waits for a database that is away: what it cost is too dear to drop.
STORE_TRIES = 60


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that a replay is made of, read in one transaction."""

    row: ReplayRow
    case: TestCase
    draft: PromptContent
    judge: LanguageModel | None


class NoJudge:
    """The judge where there is no model to ask."""

    def judge(self, assertion: str, expected: str, actual: str, question: str) -> Judgement:
        raise ProviderError("there is no default model to ask; name one as judgeModelName")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlayer:
    database: Database
    now: Now
    models: ModelService
    reader: PromptReader
    credentials: CredentialService
    providers: ModelPort
    call_timeout_s: float
    metrics: Metrics
    rules: MaskingRules
    stopping: Callable[[], bool]
    beat_s: float = BEAT_S
    sleep: Callable[[float], None] = time.sleep

    def play(self, replay_id: int) -> None:
        """Nothing happens to a replay that another worker has, or that has ended: a message may come twice.

        `Unavailable` when this process ends before the replay does. It is asked between two calls of a model: an
        exception thrown into the thread could leave any lock of the process locked for good.
        """
        token = str(uuid4())
        row = self.database.retrying(
            lambda connection: replay_claims.claim_replay(connection, replay_id=replay_id, token=token, now=self.now())
        )
        if row is None:
            return
        ended = False
        try:
            self._play(row, token)
            ended = True
        finally:
            # A bug, a time limit or the end of this process: the next worker need not wait for a sign of life.
            if not ended:
                self.database.retrying(
                    lambda connection: replay_claims.release_replay(connection, replay_id=row.id, token=token)
                )

    def _play(self, row: ReplayRow, token: str) -> None:
        if row.attempts > ATTEMPTS_MAX:
            self._store(row, token, {"status": "error", "error": INTERRUPTED})
            return
        try:
            with self.database.read() as connection:
                prepared = self._prepare(connection, row)
        except (NotFound, Invalid) as gone:
            self._store(row, token, {"status": "error", "error": str(gone)})
            return
        meter = Meter(row)
        with (
            Pulse(
                database=self.database,
                now=self.now,
                replay_id=row.id,
                token=token,
                spent=meter.spent,
                every_s=self.beat_s,
            ) as pulse,
            ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix=f"replay-{row.id}") as pool,
        ):
            result = replay(prepared.case, self._ports(prepared, meter, pulse), pool.map)
            if result.status == "cancelled" and self.stopping() and not pulse.lost():
                raise Unavailable("This process ends; another one plays the replay again.")
            self._end(row, token, result, {"done": pulse.done} | meter.spent())

    def _prepare(self, connection: Connection, row: ReplayRow) -> Prepared:
        found = test_cases.find_test_case(connection, project_id=row.project_id, test_case_id=row.test_case_id)
        if found is None:
            raise NotFound("The test case was deleted before it was replayed.")
        head = self.reader.head(connection, project_id=row.project_id, prompt_id=row.prompt_id)
        case = load_case(found.document)
        if case.assertion_value is None:
            case = replace(case, assertion_value=head.assertion_value)
        kept = draft_snapshots.get_snapshot(connection, snapshot_id=row.draft_snapshot_id)
        draft = PromptContent(
            row.prompt_id,
            head.name,
            None,
            kept.value,
            kept.instruction_format,
            self.models.read(connection, organization_id=row.organization_id, model_id=kept.language_model_id),
            kept.config,
            parse_placeholders(kept.placeholders),
        )
        return Prepared(row, case, draft, self._judge_model(connection, row, case))

    def _judge_model(self, connection: Connection, row: ReplayRow, case: TestCase) -> LanguageModel | None:
        """None where nothing is to be judged, and where there is no model to ask."""
        if not any(step.checked and step.check.answer == "ai" for turn in case.turns for step in turn.steps):
            return None
        try:
            if row.judge_model_id is None:
                return self.models.named(connection, organization_id=row.organization_id, name=None)
            return self.models.read(connection, organization_id=row.organization_id, model_id=row.judge_model_id)
        except Invalid:
            return None

    def _ports(self, prepared: Prepared, meter: Meter, pulse: Pulse) -> Ports:
        organization_id, draft = prepared.row.organization_id, prepared.draft
        return Ports(
            model=self._metered(organization_id, draft.model, draft.config, meter),
            draft=SnapshotDraft(draft),
            judge=self._judge(organization_id, prepared.judge, meter),
            progress=pulse.progress,
            cancelled=lambda: pulse.lost() or self.stopping(),
        )

    def _judge(self, organization_id: int, model: LanguageModel | None, meter: Meter) -> JudgePort:
        if model is None:
            return NoJudge()
        return ModelJudge(self._metered(organization_id, model, {"temperature": 0}, meter), lambda: token_hex(16))

    def _metered(
        self, organization_id: int, model: LanguageModel, config: dict[str, Any], meter: Meter
    ) -> MeteredModel:
        @cache
        def credential() -> Credential | None:
            return self.credentials.find(organization_id, model.vendor, base_url=model.base_url)

        return MeteredModel(model, config, self.providers, credential, meter, self.call_timeout_s, organization_id)

    def _end(self, row: ReplayRow, token: str, result: ReplayResult, counted: dict[str, Any]) -> None:
        """Store what was found or, where the database does not take it, that failure; `counted` in any case."""
        try:
            self._store(row, token, _columns(result) | counted)
        except (*UNSTORABLE, Unavailable) as error:
            # A result that is larger than one packet of MySQL's looks like a connection that was lost.
            log.error("replay_not_stored", replay_id=row.id, error=type(error).__name__)
            self._store_once(row, token, {"status": "error", "error": NOT_STORED} | counted)

    def _store(self, row: ReplayRow, token: str, values: dict[str, Any]) -> None:
        for _ in range(STORE_TRIES - 1):
            try:
                self._store_once(row, token, values)
                return
            except Unavailable:
                self.sleep(1)
        self._store_once(row, token, values)

    def _store_once(self, row: ReplayRow, token: str, values: dict[str, Any]) -> None:
        """End the replay, unless it was cancelled meanwhile: then what was found is kept with it."""
        masking = self.rules.of(row.project_id)
        kept = masked_replay(values, MaskedWords(masking)) if masking else values

        def work(connection: Connection) -> bool:
            if replay_claims.finish_replay(connection, replay_id=row.id, token=token, values=kept, now=self.now()):
                return True
            settled = {name: value for name, value in kept.items() if name != "status"}
            return replay_claims.settle_cancelled(connection, replay_id=row.id, token=token, values=settled)

        stored = self.database.retrying(work)
        log.info("replay", replay_id=row.id, status=values["status"], attempt=row.attempts, stored=stored)
        self.metrics.count(REPLAYS, values["status"])


def _columns(result: ReplayResult) -> dict[str, Any]:
    """What a replay found, as the columns of its row."""
    return {
        "status": result.status,
        "counts": results.counts(result.turns),
        "result": result_codec.dump_result(result),
        "error": result.error,
    }
