"""The pages of docs/ as HTML. Links between them work without the internet."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

# A link to docs/ in the repository; packages include the files.
FOLDER = Path(__file__).parents[1] / "docs"
FIRST = "start"
# Decisions are only for people who change the code.
_LEFT_OUT = "adr"
# The groups of pages. The pages of a folder are a group.
_GROUPS = {
    "First": [FIRST, "agents", "import"],
    "Prompts": ["prompts", "labels", "runs", "prompts-in-git", "mcp"],
    "Tests": ["replays", "program", "experiments", "suites", "guard-maps", "findings"],
    "Traces": ["search", "insight", "webhooks"],
    "Run Reprise": ["deploy", "configuration", "capacity", "operations", "metrics", "reliability", "performance"],
    "Data and access": ["organization", "sign-in", "data", "data-flows", "security"],
    "How it is made": ["overview", "design"],
}
_FOLDERS = {"Connect": "connect", "The contract": "reference"}
HITS_MAX, WORDS_MAX, EXCERPT = 30, 8, 200
"""Of a search: the sections and the words at most, and the characters of an excerpt."""
_FILE = re.compile(r"[\w/.-]+\.md")
_NO_WORD = re.compile(r"[^\w\- ]")
_ELSEWHERE = ("https://", "http://")
# Where the lines of a long word of code may end, so that its table fits the page.
_LONG_WORD = re.compile(r"\S{40,}")
_LINE_ENDS = re.compile(r"(?<=[/,=.:?_])(?=\w)")


@dataclass(frozen=True, slots=True)
class ManualSection:
    """The part of a page below a heading, until the next heading; without id and heading above the first one."""

    id: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class ManualDocument:
    """A page of the documentation. `html` is the content below the title, `parts` the headings of its parts by id."""

    title: str
    html: Markup
    parts: Mapping[str, str]
    sections: Sequence[ManualSection]


@dataclass(frozen=True, slots=True)
class ManualHit:
    """A section that has all words of a search. `excerpt` is the text around the first word in it."""

    title: str
    heading: str
    href: str
    excerpt: str


@cache
def names() -> Mapping[str, Path]:
    """Return the pages by their names in addresses, such as `reference-gate`. Pages for beginners come first."""
    paths = {_name(path.relative_to(FOLDER)): path for path in sorted(FOLDER.rglob("*.md"))}
    shown = {name: path for name, path in paths.items() if not name.startswith(_LEFT_OUT)}
    return MappingProxyType({FIRST: shown[FIRST]} | shown)


def contents() -> dict[str, dict[str, str]]:
    """Return the titles of pages by name, by group."""
    of_folders = {
        group: [name for name in names() if name.partition("-")[0] == folder] for group, folder in _FOLDERS.items()
    }
    return {group: {name: document(name).title for name in pages} for group, pages in (_GROUPS | of_folders).items()}


@cache
def document(name: str) -> ManualDocument:
    """Render the page `name`, which must be in `names`. Its first line is the title."""
    path = names()[name]
    tokens = _parser().parse(path.read_text(encoding="utf-8"))
    title, body = tokens[1].content, tokens[3:]
    for token in body:
        # Tables align their cells by `style` attributes, which the Content-Security-Policy forbids.
        token.attrs.pop("style", None)
        token.children = _linked(token.children or [], path.parent)
    parts: dict[str, str] = {}
    for opening, text in pairwise(body):
        if opening.type == "heading_open":
            opening.attrSet("id", _slug(text.content))
            if opening.tag == "h2":
                parts[_slug(text.content)] = "".join(piece.content for piece in text.children or [])
    html = Markup(_parser().renderer.render(body, _parser().options, {}))  # noqa: S704 - it escapes
    return ManualDocument(title, html, MappingProxyType(parts), tuple(_sections(body)))


def find(words: str) -> list[ManualHit]:
    """Return the sections with all words, at most `HITS_MAX`: those with words in their title and heading come first.

    A word also fits the beginning of a longer one, in upper and lower case.
    """
    patterns = [re.compile(rf"(?<!\w){re.escape(word)}", re.IGNORECASE) for word in words.split()[:WORDS_MAX]]
    if not patterns:
        return []
    ranked: list[tuple[int, ManualHit]] = []
    for name in names():
        page = document(name)
        for section in page.sections:
            head = f"{page.title} {section.heading}"
            if all(pattern.search(head) or pattern.search(section.text) for pattern in patterns):
                # A heading names what its section is about, and a title only what the page is about.
                in_heading = sum(bool(pattern.search(section.heading or page.title)) for pattern in patterns)
                in_title = sum(bool(pattern.search(page.title)) for pattern in patterns)
                href = f"/docs/{name}" + (f"#{section.id}" if section.id else "")
                hit = ManualHit(page.title, section.heading, href, _excerpt(section.text, patterns))
                ranked.append((-2 * in_heading - in_title, hit))
    return [hit for _, hit in sorted(ranked, key=lambda pair: pair[0])[:HITS_MAX]]


def _excerpt(text: str, patterns: Sequence[re.Pattern[str]]) -> str:
    match = next(filter(None, (pattern.search(text) for pattern in patterns)), None)
    start = max(0, match.start() - EXCERPT // 3) if match else 0
    start = text.rfind(" ", 0, start) + 1 if start else 0
    end = start + EXCERPT
    return ("… " if start else "") + text[start:end].strip() + (" …" if end < len(text) else "")


def _sections(body: Sequence[Token]) -> Iterator[ManualSection]:
    """Yield the sections of a page, each with its text on one line."""
    id_, heading, texts = "", "", list[str]()
    is_heading = False
    for token in body:
        if token.type == "heading_open":
            yield ManualSection(id_, heading, " ".join(" ".join(texts).split()))
            id_, texts, is_heading = str(token.attrs["id"]), [], True
        elif token.type == "heading_close":
            is_heading = False
        elif token.type in ("inline", "fence"):
            # A line's end is a token without content.
            pieces = [piece.content or " " for piece in token.children or [] if not piece.type.startswith("link_")]
            content = token.content if token.type == "fence" else "".join(pieces)
            if is_heading:
                heading = content
            else:
                texts.append(content)
    yield ManualSection(id_, heading, " ".join(" ".join(texts).split()))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_inline", _code)
    parser.add_render_rule("table_open", _table)
    return parser


def _fence(_: object, tokens: Sequence[Token], index: int, *__: Any) -> str:
    return f'<pre tabindex="0"><code>{escape(tokens[index].content)}</code></pre>\n'


def _code(_: object, tokens: Sequence[Token], index: int, *__: Any) -> str:
    return f"<code>{_LONG_WORD.sub(_breakable, str(escape(tokens[index].content)))}</code>"


def _breakable(word: re.Match[str]) -> str:
    return _LINE_ENDS.sub("<wbr>", word[0])


def _table(*_: Any) -> str:
    return '<table tabindex="0">'


def _name(path: Path) -> str:
    return "-".join(part for part in path.with_suffix("").parts if part != "README")


def _slug(heading: str) -> str:
    return _NO_WORD.sub("", heading.lower()).replace(" ", "-")


def _linked(tokens: Sequence[Token], folder: Path) -> list[Token]:
    """Return the tokens of a line without pictures, and without links to files that are not pages.

    A link that has only the name of a page's file gets the page's title.
    """
    kept: list[Token] = []
    shown, title = True, ""
    for token in tokens:
        if token.type == "link_open":
            address = _address(str(token.attrs["href"]), folder)
            shown = address is not None
            token.attrSet("href", address or "")
            title = _title(address) if address else ""
        elif title and token.type in ("text", "code_inline") and _FILE.fullmatch(token.content):
            token.type, token.content = "text", title
        elif token.type == "link_close":
            title = ""
        if token.type != "image" and (shown or not token.type.startswith("link_")):
            kept.append(token)
    return kept


def _title(address: str) -> str:
    """Return the title of the page at an address, "" for an address that is no page of the documentation."""
    path = names().get(address.removeprefix("/docs/").partition("#")[0])
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") if path else ""


def _address(href: str, folder: Path) -> str | None:
    """Return the address for a link in a page of the folder; None for a file that is not served."""
    target, _, anchor = href.partition("#")
    if not target or href.startswith(_ELSEWHERE):
        return href
    path = Path(os.path.normpath(folder / target))
    name = next((name for name, file in names().items() if file in (path, path / "README.md")), None)
    return name and f"/docs/{name}" + (f"#{anchor}" if anchor else "")
