"""A public class name exists once, so that a search for it finds one definition."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("app", "config", "bench", "clients/python/src")
# Names of the Python client's public interface, which the server also uses for its own nouns.
TWICE = {"File", "ToolCall"}


def _names(folder: Path) -> list[str]:
    return [
        node.name
        for path in folder.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


def test_each_public_class_name_exists_once() -> None:
    counts = Counter(name for folder in FOLDERS for name in _names(ROOT / folder))

    assert {name for name, count in counts.items() if count > 1} == TWICE
