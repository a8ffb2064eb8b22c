"""Checks what a process depends on: the database with a schema that it knows, Redis, and the workers."""

from __future__ import annotations

from dataclasses import dataclass

import redis

from app.db import Database
from app.errors import Unavailable
from app.models import schema
from app.redis_store.broker import WakingBroker, workers_seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    database: Database
    client: redis.Redis
    broker: WakingBroker

    def problems(self) -> list[str]:
        """A sentence for each missing dependency; empty if requests can be served."""
        redis_problem = self.redis_problem()
        found = [self.database_problem(), redis_problem, None if redis_problem else self.workers_problem()]
        return [problem for problem in found if problem]

    def database_problem(self) -> str | None:
        """A schema newer than this release is no problem: older processes go on while a release is rolled out."""
        try:
            current = schema.current_revision(self.database)
        except Unavailable as error:
            return str(error)
        if current == schema.newest_revision() or current not in schema.revisions():
            return None
        return f"The database's schema is at {current or 'no revision'}: run `reprise db upgrade`."

    def redis_problem(self) -> str | None:
        try:
            self.client.ping()
        except redis.RedisError as error:
            return f"Redis does not answer: {error}."
        return None

    def workers_problem(self) -> str | None:
        """Every queue needs a process that fetched its messages lately."""
        try:
            idle = [queue for queue in sorted(self.broker.queues) if not workers_seen(self.client, queue)]
        except redis.RedisError as error:
            return f"Redis does not answer: {error}."
        return f"No worker was seen on: {', '.join(idle)}." if idle else None
