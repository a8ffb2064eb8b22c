"""The first four steps, which of them are taken, and what to paste for them."""

from __future__ import annotations

from dataclasses import dataclass

from app.models.prompts import PromptListing
from app.services.operations.overview import Progress
from app.web.presenters.snippets import Snippet, snippets


@dataclass(frozen=True, slots=True)
class StartStep:
    """`next` marks the first step that is not done."""

    key: str
    title: str
    words: str
    done: bool
    next: bool
    href: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class StartPage:
    """`waiting` while a step is missing that this page can see happen; `secret` is a key made just now."""

    steps: list[StartStep]
    waiting: bool
    prompt_name: str | None
    snippets: list[Snippet]
    secret: str | None = None


def start_page(
    progress: Progress, prompt: PromptListing | None, *, base: str, base_url: str, secret: str | None = None
) -> StartPage:
    logs = f"{base}/prompts/{prompt.id}/logs" if prompt else ""
    steps = [
        ("key", "Make an API key", "Your application sends it with every call.", progress.has_key, "", ""),
        (
            "run",
            "Run a prompt",
            "Paste one of the snippets below. The built-in model echo answers without any account at a vendor.",
            progress.has_run,
            *((logs, "See the log") if progress.has_run else ("", "")),
        ),
        (
            "trace",
            "See the first trace",
            "Point your application's OpenTelemetry exporter here; its conversations become sessions.",
            progress.has_trace,
            *((logs, "See the sessions") if progress.has_trace else ("", "")),
        ),
        (
            "replay",
            "Pass a replay",
            "Make a test case of a session, change the draft, and replay: every step is compared with the recording.",
            progress.has_passed_replay,
            "",
            "",
        ),
    ]
    missing = next((key for key, *_, done, _, _ in steps if not done), None)
    return StartPage(
        steps=[
            StartStep(k, title, words, done, k == missing, href, link) for k, title, words, done, href, link in steps
        ],
        waiting=missing is not None,
        prompt_name=prompt.name if prompt else None,
        snippets=snippets(base_url, prompt.id if prompt else 1),
        secret=secret,
    )
