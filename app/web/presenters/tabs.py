"""The sub-pages of a prompt and of the settings, each in the order that people need them."""

from __future__ import annotations

Tab = tuple[str, str, bool]
"""Words, address, whether it is the page that is shown."""

PROMPT = (("edit", "Edit"), ("versions", "Versions"), ("test-cases", "Test cases"), ("logs", "Logs"))
SETTINGS = (
    ("keys", "API keys"),
    ("members", "Members"),
    ("models", "Models"),
    ("credentials", "Credentials"),
    ("data", "Data"),
    ("project", "Project"),
    ("audit", "Audit log"),
)


def prompt_tabs(base: str, prompt_id: int, current: str) -> list[Tab]:
    """`base` is the project's path."""
    return [(words, f"{base}/prompts/{prompt_id}/{name}", name == current) for name, words in PROMPT]


def settings_tabs(base: str, current: str) -> list[Tab]:
    return [(words, f"{base}/settings/{name}", name == current) for name, words in SETTINGS]
