"""Whether what a process depends on is there: the database with a schema it knows, Redis, and the workers."""

from __future__ import annotations

import redis

from app.db import Database
from app.errors import Unavailable
from app.models import schema
from app.redis_store.broker import WakingBroker, workers_seen


class Readiness:
    def __init__(self, *, database: Database, client: redis.Redis, broker: WakingBroker) -> None:
        self._database = database
        self._client = client
        self._broker = broker

    def problems(self) -> list[str]:
        """A sentence for each thing that is missing; empty when requests can be served."""
        redis_problem = self.redis_problem()
        found = [self.database_problem(), redis_problem, None if redis_problem else self.workers_problem()]
        return [problem for problem in found if problem]

    def database_problem(self) -> str | None:
        """A schema newer than ours is fine: while a release is rolled out, older processes go on."""
        try:
            current = schema.current_revision(self._database)
        except Unavailable as error:
            return str(error)
        if current == schema.newest_revision() or current not in schema.revisions():
            return None
        return f"The database's schema is at {current or 'no revision'}: run `reprise db upgrade`."

    def redis_problem(self) -> str | None:
        try:
            self._client.ping()
        except redis.RedisError as error:
            return f"Redis does not answer: {error}."
        return None

    def workers_problem(self) -> str | None:
        """Every queue that an actor listens to needs a process that asked for its messages lately."""
        try:
            idle = [queue for queue in sorted(self._broker.queues) if not workers_seen(self._client, queue)]
        except redis.RedisError as error:
            return f"Redis does not answer: {error}."
        return f"No worker was seen on: {', '.join(idle)}." if idle else None
