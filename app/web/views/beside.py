"""The way from an entry of a prompt's log to the one before or after it, in the log as it was filtered."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl

from app.cursors import Page as PageOf
from app.models.run_log import RunEntry
from app.services.traces.log_query import Entry
from app.web.lists import Query, list_query, pages_of
from app.web.page import Redirect
from app.web.visit import Visit

ReadLog = Callable[[Query], PageOf[Entry]]


def go_beside(visit: Visit, prompt_id: int, entry_id: int | str, read: ReadLog) -> Redirect:
    """Return the way to the entry that the query's `go`, "next" or "previous", asks for; to the list without one.

    `read` returns the page of the log that a query asks for; the address has the query of the page with this entry.
    """
    query = dict(parse_qsl(visit.query.get("list", "")))
    step = -1 if visit.query.get("go") == "previous" else 1
    found = read(query)
    ids = [entry.id for entry in found.entries]
    index = ids.index(entry_id) + step if entry_id in ids else -1
    if 0 <= index < len(ids):
        return _to_entry(visit, query, found.entries[index])
    pages = pages_of(query, found.next_cursor)
    href = (pages.previous_href if step < 0 else pages.next_href) if entry_id in ids else None
    if href is not None:
        query = dict(parse_qsl(href[1:]))
        if beyond := read(query).entries:
            return _to_entry(visit, query, beyond[min(step, 0)])
    return Redirect(f"{visit.base}/prompts/{prompt_id}/logs{visit.to_list}", "There is no further entry in this list.")


def _to_entry(visit: Visit, query: Query, entry: Entry) -> Redirect:
    kind = "runs" if isinstance(entry, RunEntry) else "sessions"
    chosen = list_query(query)
    return Redirect(f"{visit.base}/{kind}/{entry.id}{'?' + chosen if chosen else ''}")
