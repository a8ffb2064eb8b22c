"""Replays with the names of their test cases, as callers see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from app.models import cases as test_cases
from app.models import prompt_versions
from app.models.replays import ReplayRow
from app.services.replays.frozen import shown_name
from app.values.page_urls import page_url


@dataclass(frozen=True, slots=True)
class ReplayView:
    """A replay with its known turns, and the version with the same content as its draft, if any.

    `url` is the address of its page, which is a path without the instance's public base URL.
    """

    row: ReplayRow
    test_case_name: str | None
    commit_hash: str | None
    result: dict[str, Any] | None = None
    base: str = ""

    @property
    def url(self) -> str:
        return page_url(self.base, self.row.project_id, "replays", self.row.id)

    def at(self, base: str) -> ReplayView:
        """Return the view at this public base URL, which may be empty."""
        return replace(self, base=base)

    @property
    def shown_name(self) -> str | None:
        """The name of the test case and of its variant; None if the test case was deleted."""
        return self.test_case_name and shown_name(self.test_case_name, (self.row.faults or {}).get("variant"))


def views_of(
    connection: Connection, prompt_id: int, rows: Sequence[ReplayRow], result: dict[str, Any] | None = None
) -> list[ReplayView]:
    """Return the views of a prompt's replays; `result` is that of a single one."""
    if not rows:
        return []
    names = test_cases.names_of(connection, project_id=rows[0].project_id, ids={row.test_case_id for row in rows})
    versions = prompt_versions.hashes_by_content(
        connection, prompt_id=prompt_id, content_hashes={row.fingerprint for row in rows}
    )
    return [ReplayView(row, names.get(row.test_case_id), versions.get(row.fingerprint), result) for row in rows]
