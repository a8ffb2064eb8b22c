"""Chromium on a page of ours: it keeps what goes wrong on the page, and resolves no other host than this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page, Request, expect, sync_playwright

from tests.support.waiting import LOOPBACK, PATIENCE_S

# The first has Chromium's engine without its windows, and needs half the processor time.
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {LOOPBACK}",
)
# Far longer than a page needs on a slow machine.
TIMEOUT_MS = 1000 * PATIENCE_S
expect.set_options(timeout=TIMEOUT_MS)

GRAVE = {"serious", "critical"}
# Milder rules of axe-core that pages keep, too.
KEPT_TOO = {"landmark-unique", "empty-table-header"}
# All of axe-core's that look at colors.
RULES_OF_COLORS = ("color-contrast", "link-in-text-block")


def missing() -> str | None:
    """Return the program that browser tests lack on this machine, or None."""
    return None if CHROMIUM else "Chromium is not installed (apt-get install chromium-headless-shell, or chromium)"


@cache
def _axe() -> str:
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text()


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS), timeout=TIMEOUT_MS)
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page with what went wrong on it so far: console errors, policy violations, foreign requests."""

    page: Page
    url: str
    wrong: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(self.url + path)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """For tests that share a window: nothing goes wrong in the block, which begins on a wide screen in light."""
        self.wrong.clear()
        self.screen("light", 1280)
        yield
        assert self.wrong == []

    def says(self, words: str) -> bool:
        return words in self.page.inner_text("body")

    def screen(self, scheme: str, width: int) -> None:
        """Show the page in a color scheme, "light" or "dark", and `width` pixels wide, without loading it again."""
        self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        self.page.set_viewport_size({"width": width, "height": 800})

    def wider_than_the_screen(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))

    def accessibility_problems(self, rules: Sequence[str] = ()) -> list[str]:
        """Return axe-core's findings that are serious or of `KEPT_TOO`, with the element; of some rules or of all."""
        if self.page.evaluate("typeof axe") == "undefined":
            self.page.evaluate(f"() => {{ {_axe()} }}")
        only = {"runOnly": {"type": "rule", "values": rules}} if rules else {}
        results: Any = self.page.evaluate("options => axe.run(options)", {"resultTypes": ["violations"], **only})
        return [
            f"{rule['id']}: {node['html'][:200]}"
            for rule in results["violations"]
            if rule["impact"] in GRAVE or rule["id"] in KEPT_TOO
            for node in rule["nodes"]
        ]


@contextmanager
def visit(browser: Browser, url: str, **options: Any) -> Iterator[Visit]:
    """A new window; fails at the end if anything went wrong in it."""
    context = browser.new_context(**options)
    context.set_default_timeout(TIMEOUT_MS)
    visited = Visit(context.new_page(), url)
    # Handling each request here, with `route`, would cost it the browser's cache.
    context.on("request", lambda request: _note_foreign(request, visited.wrong))
    # Violations that stop nothing visible are reported to the document, not always to the console.
    context.add_init_script(
        "addEventListener('securitypolicyviolation', e => console.error('CSP', e.violatedDirective, e.blockedURI))"
    )
    visited.page.on("console", lambda message: visited.wrong.append(message.text) if message.type == "error" else None)
    visited.page.on("pageerror", lambda error: visited.wrong.append(str(error)))
    yield visited
    assert visited.wrong == []
    context.close()


def look_again_until(page: Page, shown: Locator) -> None:
    """Press "Look again", by which pages without scripts follow work, until this is shown."""
    again = page.get_by_role("link", name="Look again")
    expect(again.or_(shown).first).to_be_visible()
    while again.count():
        with page.expect_navigation():
            again.click()
    expect(shown).to_be_visible()


def _note_foreign(request: Request, wrong: list[str]) -> None:
    address = urlsplit(request.url)
    if address.hostname not in (LOOPBACK, None) or address.scheme not in ("http", "data", "blob"):
        wrong.append(f"a request to {request.url}")
