"""Skills for coding agents: packages of a `SKILL.md` each, which `reprise skills install` copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

FILE = "SKILL.md"


@dataclass(frozen=True)
class Skill:
    """A skill; `text` is its file, with the front matter."""

    name: str
    text: str

    @property
    def description(self) -> str:
        return next(line.partition(": ")[2] for line in self.text.splitlines() if line.startswith("description: "))

    @property
    def instructions(self) -> str:
        """The text below the front matter."""
        return self.text.split("\n---\n", 1)[1].lstrip()


def skills() -> Iterator[Skill]:
    """Yield the skills in the order of their names."""
    for folder in sorted(files(__name__).iterdir(), key=lambda folder: folder.name):
        if folder.is_dir() and folder.joinpath(FILE).is_file():
            yield Skill(folder.name, folder.joinpath(FILE).read_text(encoding="utf-8"))
