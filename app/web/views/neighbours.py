"""Pages of a list's entry, with links to the entries before and after it in the list that led here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.models.prompts import PromptHead
from app.models.run_log import RunEntry
from app.web.list_queries import log_query, session_query
from app.web.lists import ListOrigin, Pages, pages_of
from app.web.page import PAGE_SIZE, PromptPage, Redirect
from app.web.visit import Visit


class EntryPage(PromptPage):
    """A session or a run. The list that led here is the project's sessions or the prompt's log, with its filters."""

    def crumbs(self, visit: Visit, head: PromptHead) -> list[tuple[str, str]]:
        """Return the (label, address) pairs that lead back to the list."""
        if visit.came_from.of_sessions:
            return [("Sessions", f"{visit.base}/sessions{visit.came_from.address}")]
        prompt = f"{visit.base}/prompts/{head.id}"
        of_prompt = [("Prompts", f"{visit.base}/prompts"), (head.name, prompt)]
        if finding := visit.came_from.finding:
            back = f"{prompt}/findings/{finding}{visit.came_from.address}"
            return [*of_prompt, ("Findings", f"{prompt}/findings"), ("Finding", back)]
        return [
            *of_prompt,
            ("Logs", f"{prompt}/logs{visit.came_from.address}"),
        ]

    def neighbour(self, visit: Visit, prompt_id: int, entry_id: int | str) -> Redirect:
        """Redirect to the next or previous entry, as the query's `go` names it; back with a message if there is none.

        The new address has the query of the list's page that contains the entry. Entries that are newer than the list
        may have moved this one to the next page, so it is looked for there, too.
        """
        step = -1 if visit.query.get("go") == "previous" else 1
        origin = visit.came_from
        entries, pages = self._listed(visit, prompt_id, origin)
        if entry_id not in _ids(entries) and pages.next_href:
            origin = origin.at(pages.next_href)
            entries, pages = self._listed(visit, prompt_id, origin)
        if entry_id not in _ids(entries):
            return _stay(visit, "This entry is no longer in the list that you came from.")
        index = _ids(entries).index(entry_id) + step
        if 0 <= index < len(entries):
            return _to_entry(visit, origin, entries[index])
        if href := pages.previous_href if step < 0 else pages.next_href:
            origin = origin.at(href)
            entries, _ = self._listed(visit, prompt_id, origin)
            if entries:
                return _to_entry(visit, origin, entries[min(step, 0)])
        return _stay(visit, f"This is the {'first' if step < 0 else 'last'} entry of the list.")

    def in_finding(self, visit: Visit, prompt_id: int, session: tuple[int, str]) -> Redirect:
        """Redirect to the session of the finding after or before this one, or back to the finding if there is none."""
        origin, step = visit.came_from, -1 if visit.query.get("go") == "previous" else 1
        prompt = f"{visit.base}/prompts/{prompt_id}"
        found = self.services.findings.after(
            project_id=visit.project_id, prompt_id=prompt_id, finding_id=origin.finding, session=session, step=step
        )
        if found is None:
            return Redirect(f"{prompt}/findings/{origin.finding}{origin.address}", "The finding has no more sessions.")
        return Redirect(f"{visit.base}/sessions/{found}{origin.to_entry}")

    def _listed(self, visit: Visit, prompt_id: int, origin: ListOrigin) -> tuple[Sequence[Any], Pages]:
        query, now = origin.parameters, self.container.now()
        shared: dict[str, Any] = {"project_id": visit.project_id, "limit": PAGE_SIZE, "cursor": query.get("cursor")}
        if origin.of_sessions:
            page: Any = self.services.session_list.page(**shared, **session_query(query, now, visit.zone))
        else:
            page = self.services.logs.page(**shared, prompt_id=prompt_id, **log_query(query, now, visit.zone))
        return page.entries, pages_of(query, page.next_cursor)


def _ids(entries: Sequence[Any]) -> list[int | str]:
    return [entry.id for entry in entries]


def _to_entry(visit: Visit, origin: ListOrigin, entry: Any) -> Redirect:
    kind = "runs" if isinstance(entry, RunEntry) else "sessions"
    return Redirect(f"{visit.base}/{kind}/{entry.id}{origin.to_entry}{_review(visit)}")


def _stay(visit: Visit, message: str) -> Redirect:
    return Redirect(visit.path + visit.came_from.to_entry + _review(visit), message)


def _review(visit: Visit) -> str:
    """Return the end of the address by which the next session is rated like this one, and the next shown again."""
    return "&review=yes" if visit.query.get("review") and visit.query.get("list") else ""
