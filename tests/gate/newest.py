"""The rows of docs/reference/measurements.md that have the newest figures: those named "now".

`python -m tests.gate.newest SET…` measures these sets again and writes their rows into the page. A set without such
rows is as it was measured blind, so its blind rows are the newest.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from tests.gate.strangers import PROPOSED, line
from tests.support.deployment import ROOT

PAGE = ROOT / "docs" / "reference" / "measurements.md"
# The name of a row after "now", and its `confirmed` as for `strangers.drafts`.
CONFIRMED = {
    "": "",
    ", nothing confirmed": "",
    ", `reads` confirmed": "reads",
    ", `blind` confirmed": "blind",
    ", `writer` confirmed": "writer",
    ", `blind` proposed, not confirmed": f"{PROPOSED}blind",
}
_ROW = re.compile(r"^\| (now|blind)([^|]*) (\| (right|none|errs \d+ %) \|.*)$", re.MULTILINE)


def section_of(page: str, of: str) -> str:
    """Return the section of a set; `of` is its name, as `eleventh`."""
    return page[page.index(f"\n### {of.capitalize()} set") :].split("\n### ")[1]


def newest_rows(section: str) -> Iterator[tuple[str, str, str]]:
    """Yield what is confirmed, the judge and the figures of the newest rows of a set."""
    rows = _ROW.findall(section)
    newest = "now" if any(when == "now" for when, *_ in rows) else "blind"
    yield from ((confirmed, judge, figures) for when, confirmed, figures, judge in rows if when == newest)


def summary(section: str) -> str:
    """Return the last three cells of a set in the table of all sets: its newest figures with a judge that is right."""
    right = {
        confirmed: figures.split(" | ")[1:3] for confirmed, judge, figures in newest_rows(section) if judge == "right"
    }
    confirmed = right.get(", `reads` confirmed") or right.get(", `blind` confirmed")
    nothing = right.get("") or right[", nothing confirmed"]
    harmful, harmless = confirmed or nothing
    return f"| {harmful} | {harmless if confirmed else ''} | {nothing[1]} |".replace("|  |", "| |")


def measured_rows(of: str) -> dict[str, str]:
    """Measure a set again; return its newest rows as they are in the page, each with the row as it should be."""
    rows = newest_rows(section_of(PAGE.read_text(), of))
    return {
        f"| now{confirmed} {figures}": f"| now{confirmed} {line(of, judge, confirmed=CONFIRMED[confirmed])}"
        for confirmed, judge, figures in rows
    }


def rewrite(of: str) -> None:
    """Measure a set again and write its newest rows into the page."""
    measured = measured_rows(of)
    page = PAGE.read_text()
    section = section_of(page, of)
    rewritten = section
    for old, new in measured.items():
        rewritten = rewritten.replace(f"{old}\n", f"{new}\n")
    page = page.replace(section, rewritten)
    row = re.compile(rf"^(\| \[{of}\].*?)(?: \|[^|]*){{3}} \|$", re.MULTILINE)
    PAGE.write_text(row.sub(lambda found: f"{found[1]} {summary(rewritten)}", page))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(name)
