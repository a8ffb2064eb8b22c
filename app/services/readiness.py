"""Whether what a process depends on is there: the database with a schema it knows, and Redis."""

from __future__ import annotations

import redis

from app import schema
from app.db import Database
from app.errors import Unavailable


class Readiness:
    def __init__(self, *, database: Database, client: redis.Redis) -> None:
        self._database = database
        self._client = client

    def problems(self) -> list[str]:
        """A sentence for each thing that is missing; empty when requests can be served."""
        return [problem for problem in (self.database_problem(), self.redis_problem()) if problem]

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
