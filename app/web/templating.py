"""The environment of the templates and their functions. Everything is escaped; a missing name is an error."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.models.organizations import Role
from app.timestamps import Now
from app.web import filters, labels
from app.web.assets import Assets
from app.web.charts import bars, chart
from app.web.presenters.texts import block
from app.web.visit import Visit

FOLDER = Path(__file__).parent / "templates"
# Section, label, path below the project, the role that may see it.
NAVIGATION = (
    ("overview", "Overview", "overview", Role.VIEWER),
    ("sessions", "Sessions", "sessions", Role.VIEWER),
    ("prompts", "Prompts", "prompts", Role.VIEWER),
    ("usage", "Usage", "usage", Role.VIEWER),
    ("rejected", "Rejected spans", "rejected-spans", Role.VIEWER),
    ("operations", "Operations", "operations", Role.ADMIN),
    ("settings", "Settings", "settings/keys", Role.ADMIN),
    ("start", "Getting started", "start", Role.VIEWER),
)

# Path and label of the pages of the settings.
SETTINGS = (
    ("keys", "API keys"),
    ("members", "Members"),
    ("models", "Models"),
    ("credentials", "Credentials"),
    ("webhooks", "Webhooks"),
    ("alerts", "Alerts"),
    ("data", "Data"),
    ("project", "Project"),
    ("audit", "Audit log"),
)

# The keys listed in the dialog of "?", on every page.
KEYS = (
    ("Ctrl K", "Go to a page, a prompt or an action of this page, or search sessions"),
    ("↑ ↓", "Choose one of the results"),
    ("/", "Search the list or the text"),
    ("j", "Next turn of a session, or next finding"),
    ("k", "Previous turn of a session, or previous finding"),
    ("e", "Next turn with an error"),
    ("J", "Next session or run of the list"),
    ("K", "Previous session or run of the list"),
    ("+ -", "Rate the session good or bad"),
    ("1 - 9", "Score the session of a finding"),
    ("a c x", "Annotate, correct or test a finding"),
    ("o w s", "Mark a finding as open, in progress or solved"),
    ("Ctrl S", "Save the draft"),
    ("Ctrl Enter", "Ask the draft a question"),
    ("Enter", "Commit, while you write the commit message"),
    ("Esc", "Close what is open"),
    ("?", "Show these keys"),
)


def environment(*, assets: Assets, now: Now) -> Environment:
    """Return the Jinja environment of the pages, with their filters and functions. Unknown variables are errors."""
    templates = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters.update(filters.FILTERS, relative=filters.relative_to(now), clock=filters.clock_of(now))
    templates.globals.update(asset=assets.url, KEYS=KEYS, bars=bars, draw_chart=chart, share=share, block=block)
    templates.globals.update(labels=labels, navigation=navigation, SETTINGS=SETTINGS)
    return templates


def navigation(visit: Visit) -> list[tuple[str, str, str]]:
    """Return (section, label, address) of each link in the navigation that the viewer's role may use."""
    return [
        (section, label, f"{visit.base}/{path}")
        for section, label, path, role in NAVIGATION
        if visit.may(role) and (section != "operations" or visit.operates)
    ]


def share(start: int, end: int, *, of: tuple[int, int]) -> tuple[float, float]:
    """Return the position of a time span within another as (left, width) in percent; the width is at least 0.5."""
    whole = max(1, of[1] - of[0])
    left = round(min(max(0.0, (start - of[0]) / whole * 100), 99.5), 3)
    return left, round(min(max(0.5, (end - start) / whole * 100), 100 - left), 3)
