"""Puts the parts of the run service together."""

from __future__ import annotations

import redis

from app.db import Database
from app.metrics import Metrics
from app.providers.router import Providers
from app.redis_store.completions import RunEnds
from app.redis_store.events import LiveRuns
from app.services.accounts.owners import Owners
from app.services.data.masking import MaskingRules
from app.services.language_models.credentials import CredentialService
from app.services.language_models.service import ModelService
from app.services.prompts.service import PromptService
from app.services.runs.calling import Caller
from app.services.runs.claiming import Claiming
from app.services.runs.execution import Executor
from app.services.runs.heartbeat import BEAT_S, Heartbeat
from app.services.runs.masking import RunMasking
from app.services.runs.service import RunService
from app.services.runs.sweeper import Sweeper
from app.services.runs.telling import Telling
from app.timestamps import Now


def build_runs(
    *,
    database: Database,
    now: Now,
    prompts: PromptService,
    models: ModelService,
    credentials: CredentialService,
    providers: Providers,
    client: redis.Redis,
    call_timeout_s: float,
    metrics: Metrics,
    rules: MaskingRules,
    owners: Owners,
    organization_share: int,
    beat_s: float = BEAT_S,
) -> RunService:
    masking = RunMasking(database=database, rules=rules, client=client)
    ends, live = RunEnds(client), LiveRuns(client)
    telling = Telling(metrics, live, ends)
    executor = Executor(
        database=database,
        now=now,
        claiming=Claiming(database, now),
        models=models,
        credentials=credentials,
        caller=Caller(providers=providers, timeout_s=call_timeout_s),
        heartbeat=Heartbeat(database=database, now=now, every_s=beat_s),
        live=live,
        masking=masking,
        telling=telling,
    )
    sweeper = Sweeper(database=database, now=now, telling=telling)
    return RunService(
        database=database,
        now=now,
        prompts=prompts,
        providers=providers,
        executor=executor,
        masking=masking,
        sweeper=sweeper,
        ends=ends,
        owners=owners,
        organization_share=organization_share,
    )
