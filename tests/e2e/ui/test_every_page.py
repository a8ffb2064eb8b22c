"""Every page, light and dark, wide and narrow: no error, no policy violation, no foreign request, no barrier."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from app.web.presenters import manual
from app.web.routes import ROUTES
from app.web.views import home, session, sign_in
from tests.e2e.ui.conftest import HOSTILE, Look, Site
from tests.support.browser import RULES_OF_COLORS, Visit

PAGES = {
    "getting started": "{base}/start",
    "overview": "{base}/overview",
    "prompts": "{base}/prompts",
    "prompts, nothing found": "{base}/prompts?search=nothing+like+it",
    "archived prompts": "{base}/prompts/archived",
    "new prompt": "{base}/prompts/new",
    "sessions": "{base}/sessions?minTurns=1",
    "sessions, nothing found": "{base}/sessions?tool=nothing+like+it",
    "deleting a saved filter": "{base}/session-filters/1/delete",
    "editor": "{base}/prompts/{prompt}/edit",
    "instruction in traces": "{base}/prompts/{prompt}/instruction",
    "archiving a prompt": "{base}/prompts/{prompt}/archive",
    "versions": "{base}/prompts/{prompt}/versions",
    "insight": "{base}/prompts/{prompt}/insight",
    "insight by day": "{base}/prompts/{prompt}/insight?by=day&days=7",
    "version": "{base}/prompts/{prompt}/versions/{version}",
    "restoring a version": "{base}/prompts/{prompt}/versions/{version}/restore",
    "moving a label": "{base}/prompts/{prompt}/labels?label=production&version={version}",
    "deleting a label": "{base}/prompts/{prompt}/labels/production/delete",
    "two versions": "{base}/prompts/{prompt}/compare?from={version}",
    "test cases": "{base}/prompts/{prompt}/test-cases",
    "test case": "{base}/test-cases/{case}",
    "test case by hand": "{base}/prompts/{prompt}/test-cases/new",
    "test case of a session": "{base}/sessions/{session}/test-case",
    "letting calls of a test case fail": "{base}/test-cases/{failing_case}/replay",
    "deleting a test case": "{base}/test-cases/{case}/delete",
    "replay": "{base}/replays/{replay}",
    "replays started together": "{base}/replays/{replay}/batch",
    "accepting what a batch did": "{base}/replays/{replay}/batch/accept",
    "replay of a program": "{base}/replays/{program}",
    "replay with violations": "{base}/replays/{failing}",
    "test case with rules of tools": "{base}/test-cases/{failing_case}",
    "calibration": "{base}/calibrations/{calibration}",
    "online checks": "{base}/prompts/{prompt}/online-checks",
    "online check": "{base}/online-checks/1",
    "removing an online check": "{base}/online-checks/1/remove",
    "experiments": "{base}/prompts/{prompt}/experiments",
    "experiments, none of the verdict": "{base}/prompts/{prompt}/experiments?verdict=inconclusive",
    "experiments, none yet": "{base}/prompts/{prompt_of_finding}/experiments",
    "new experiment": "{base}/prompts/{prompt}/experiments/new",
    "experiment": "{base}/experiments/{experiment}",
    "schedules": "{base}/prompts/{prompt}/schedules",
    "schedule": "{base}/schedules/{schedule}",
    "reference to begin": "{base}/schedules/{schedule}/reference",
    "schedule to delete": "{base}/schedules/{schedule}/delete",
    "guard maps": "{base}/prompts/{prompt}/guard-maps",
    "guard map": "{base}/guard-maps/{map}",
    "findings": "{base}/prompts/{prompt}/findings",
    "finding": "{base}/prompts/{prompt_of_finding}/findings/{finding}",
    "suites": "{base}/prompts/{prompt}/suites",
    "proposed suite": "{base}/prompts/{prompt}/suites/proposal?days=90",
    "suite": "{base}/suites/{suite}",
    "suite to delete": "{base}/suites/{suite}/delete",
    "audits of the judge": "{base}/prompts/{prompt}/judge-audits",
    "audit of the judge": "{base}/judge-audits/{audit}",
    "experiment that failed": "{base}/experiments/{failing_experiment}",
    "run": "{base}/runs/{run}",
    "usage": "{base}/usage",
    "usage by version": "{base}/usage?by=version&days=7",
    "operations": "{base}/operations",
    "logs": "{base}/prompts/{prompt}/logs",
    "import": "{base}/prompts/{prompt}/import",
    "session": "{base}/sessions/{session}",
    "span": "{base}/sessions/{session}/spans/bbbbbbbbbbbbbbbb",
    "text of a session": "{base}/sessions/{session}/turns/1/texts/user",
    "attribute of a span": "{base}/sessions/{session}/spans/bbbbbbbbbbbbbbbb/attributes/0",
    "rejected spans": "{base}/rejected-spans",
    "rejected spans of a cause": "{base}/rejected-spans?code=bad_prompt_id",
    "accepting a step": "{base}/replays/{failing}/steps/1/accept",
    "API keys": "{base}/settings/keys",
    "revoking an API key": "{base}/settings/keys/1/revoke",
    "withdrawing an invitation": "{base}/settings/invitations/1/withdraw",
    "members": "{base}/settings/members",
    "removing a member": "{base}/settings/members/1/remove",
    "models": "{base}/settings/models",
    "removing a model": "{base}/settings/models/{model}/remove",
    "removing a price": "{base}/settings/models/prices/1/remove",
    "prices of models": "{base}/settings/models/prices",
    "credentials": "{base}/settings/credentials",
    "removing a credential": "{base}/settings/credentials/OPENAI/clear",
    "alerts": "{base}/settings/alerts",
    "alert": "{base}/settings/alerts/1",
    "removing an alert": "{base}/settings/alerts/1/remove",
    "webhooks": "{base}/settings/webhooks",
    "webhook": "{base}/settings/webhooks/1",
    "a new secret of a webhook": "{base}/settings/webhooks/1/secret",
    "removing a webhook": "{base}/settings/webhooks/1/remove",
    "data policy": "{base}/settings/data",
    "project": "{base}/settings/project",
    "audit log": "{base}/settings/audit",
    "account": "/account",
    "design": "/design",
    "documents": "/docs",
    "documents with a word": "/docs?q=webhook",
    "documents, nothing found": "/docs?q=nothing+like+it",
    "document": "/docs/connect",
}
# Where only the width of a page matters: 320 is a small phone, and 640 half a screen, as at a zoom of 200 %.
WIDTHS = (320, 640)
# All rules hold each width in light colors. Dark ones change only colors, so that only rules about these look at them
# again: tests/unit/web/test_colors.py holds the style sheets to it.
SCREENS: list[tuple[str, int, tuple[str, ...]]] = [
    ("light", 1280, ()),
    ("dark", 1280, RULES_OF_COLORS),
    ("dark", 360, RULES_OF_COLORS),
    ("light", 360, ()),
]


SAY_IT = frozenset(
    {
        "overview",
        "prompts",
        "logs",
        "session",
        "span",
        "text of a session",
        "rejected spans",
        "rejected spans of a cause",
        "getting started",
        "editor",
        "versions",
        "version",
        "two versions",
        "test cases",
        "test case",
        "test case of a session",
        "deleting a test case",
        "replay",
        "replay with violations",
        "test case with rules of tools",
        "calibration",
        "experiments",
        "new experiment",
        "experiment",
        "experiment that failed",
        "run",
        "usage",
        "API keys",
        "models",
        "audit log",
    }
)


# Controls that do nothing without scripts: each form needs a button that sends it.
LOST_WITHOUT_SCRIPTS = """() => {
  const shown = (element) => element.checkVisibility();
  const forms = [...document.forms].filter((form) => form.method !== "dialog" && shown(form) &&
    ![...form.elements].some((control) => control.type === "submit"));
  const buttons = [...document.querySelectorAll("main button")].filter((button) =>
    shown(button) && (button.type === "button" || !button.form));
  return [...forms, ...buttons].map((element) => element.outerHTML.slice(0, 200));
}"""
# A dialog and the page have one primary action each.
PRIMARY_ACTIONS = """() => [...document.querySelectorAll("main .primary")].filter((element) =>
  element.checkVisibility() && !element.closest("dialog")).map((element) => element.textContent.trim())"""
WIDE_TABLES = """() => [...document.querySelectorAll(".manual table")].filter((table) =>
  table.scrollWidth > table.clientWidth).map((table) => table.textContent.slice(0, 60))"""
# Answers that are no pages of somebody who is signed in: redirects, downloads, and the pages of the sign-in.
NO_PAGES = (home.Home, home.PromptLink, home.ProjectHome, session.TurnFile, sign_in.Join)
NO_PAGES += (sign_in.SignIn, sign_in.SignInLink, sign_in.OpenIdSignIn, sign_in.OpenIdReturn)


@pytest.fixture(scope="module")
def window(shared_look: Look) -> Iterator[Visit]:
    with shared_look() as visit:
        yield visit


@pytest.fixture(scope="module")
def window_without_scripts(shared_look: Look) -> Iterator[Visit]:
    with shared_look(java_script_enabled=False) as visit:
        yield visit


def address(site: Site, page: str) -> str:
    return PAGES[page].format(base=site.base, prompt=site.prompt_id, session=site.session_id, **site.work)


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_and_open_to_everyone_and_markup_from_outside_is_text(
    site: Site, window: Visit, page: str
) -> None:
    if page == "getting started":
        # It shows the newest prompt, which may be another test's.
        site.client.post("/api/v1/prompts", {"name": HOSTILE, "value": "Help."})
    with window.alone():
        window.open(address(site, page))

        assert window.says("<script>document.title='owned'</script>") or page not in SAY_IT
        assert "owned" not in window.page.title().replace("document.title='owned'", "")
        assert window.page.locator("main img, main script").count() == 0
        assert page == "design" or len(window.page.evaluate(PRIMARY_ACTIONS)) <= 1
        assert problems(window) == {}


@pytest.mark.browser
def test_the_sign_in_is_whole_and_open_to_everyone(site: Site, look: Look) -> None:
    with look(storage_state=None) as visit:
        visit.open("/sign-in")

        assert problems(visit) == {}


def problems(visit: Visit) -> dict[tuple[str, int], list[str]]:
    """Return the faults of the page by color scheme and width."""
    found = {}
    for scheme, width, rules in SCREENS:
        visit.screen(scheme, width)
        found[scheme, width] = visit.accessibility_problems(rules) + ["too wide"] * visit.wider_than_the_screen()
    for width in WIDTHS:
        visit.screen("light", width)
        found["light", width] = ["too wide"] * visit.wider_than_the_screen()
    return {screen: messages for screen, messages in found.items() if messages}


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_pages_work_without_scripts(site: Site, window_without_scripts: Visit, page: str) -> None:
    with window_without_scripts.alone():
        window_without_scripts.open(address(site, page))

        assert window_without_scripts.page.locator("h1").count() == 1
        # The page of components shows them without what they are for.
        assert page == "design" or window_without_scripts.page.evaluate(LOST_WITHOUT_SCRIPTS) == []


@pytest.mark.browser
def test_no_table_of_the_documentation_scrolls_sideways(window: Visit) -> None:
    wide = {}
    for name in manual.names():
        with window.alone():
            window.open(f"/docs/{name}")
            wide[name] = window.page.evaluate(WIDE_TABLES)

    assert {name: tables for name, tables in wide.items() if tables} == {}


def test_every_page_is_walked() -> None:
    patterns = {
        re.compile(re.sub(r"\\{.*?\\}", "[^/]+", re.escape(path))): path
        for path, page in ROUTES
        if "get" in vars(page) and page not in NO_PAGES
    }
    shown = [address.format_map(defaultdict(lambda: "1", base="/projects/1")) for address in PAGES.values()]
    paths = [path.partition("?")[0] for path in shown]
    assert {path for pattern, path in patterns.items() if not any(map(pattern.fullmatch, paths))} == set()
