"""Texts that use the elements of Markdown, most of them in unusual ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from hypothesis import strategies as st

# fmt: off
BLOCKS = [
    "> ", ">", "- ", "-", "* ", "1. ", "2. ", "10) ", "+", "  ", " ", "\t", "    ", "# ", "## a", "#", "# b #", "a",
    "```", "~~~", "````", "```x", "text", "<div>", "<b>", "<!--", "-->", "</div>", "<?", "?>", "<pre>", "</pre>",
    "<a b='c'>", "<a b=c\t>", "---", "***", "===", "_ _ _", "[a]: b", "[a]:", "'t'", '"', "(t)", "[c\\]", "]: <x>",
    "\\", "<", "[", "]", "]:", "\r", "é", "\n", "\n\n", "x\n", "-\n",
]
INLINES = [
    "*", "**", "_", "__", "***", "[", "]", "(", ")", "![", "](", "](b)", "<", ">", "`", "``", "&amp;", "&eacute;",
    "&#233;", "&#x41;", "&#xD800;", "&", "&nosuch;", "&colon;", "\\", "\\*", "a", "b", "é", "1", "|", ".", "!", " ",
    "\t", "\u00a0", "\u3000", "\x85", "😀", "€", "[a]", "[b]", "[c]", "<b>", "</b>", "<a b='c'>", "<!--", "-->", "<?",
    "?>", "<![CDATA[", "]]>", "<a:b>", "<http://x.y/%41%D0%B0%2F>", "<x@y.z>", '"t"', "'", "(t)", "<u>", "javascript:",
]
CHARACTERS = "#-*_=`~>+<>![]()&;:\\\"'/.0123456789abxyAZ \t\n\r\0é😀\u3000\x85\ufeff\ufffe\ud800"
# fmt: on

blocks = st.lists(st.lists(st.sampled_from(BLOCKS), max_size=6).map("".join), max_size=12).map("\n".join)
titles = st.lists(st.lists(st.sampled_from(INLINES), max_size=16).map("".join), max_size=4).map(
    lambda titles: "".join(f"# {title}\n" for title in titles) + "\n[a]: x\n[B]: y"
)


def random_texts(count: int, seed: int) -> list[str]:
    """Return as many texts of lines and of titles, the same for the same seed."""
    random = Random(seed)
    kinds = [(BLOCKS, "\n"), (INLINES, "\n\n# "), ([*BLOCKS, *INLINES], "\n"), (CHARACTERS, "\n")]
    return [_random_text(random, *random.choice(kinds)) for _ in range(count)]


def _random_text(random: Random, parts: Sequence[str], between: str) -> str:
    lines = ["".join(random.choices(parts, k=random.randrange(9))) for _ in range(random.randrange(14))]
    return between.join([*lines, "\n[a]: x", "[B]: y"])


texts = st.one_of(
    blocks,
    titles,
    st.text(st.sampled_from(CHARACTERS), max_size=80),
    st.lists(st.sampled_from([*BLOCKS, *INLINES, "\n", "\n\n", "\r\n", "# "]), max_size=60).map("".join),
)

# Each gets how often its part is there.
HOSTILE: dict[str, Callable[[int], str]] = {
    "one title of brackets": lambda n: "# " + "[" * n,
    "titles of brackets": lambda n: ("# " + "[" * 298 + "\n") * n,
    "titles of images": lambda n: ("# " + "![" * 20 + "\n") * n,
    "titles of closed brackets": lambda n: "[a]: x\n\n" + ("# " + "[" * 20 + "a" + "]" * 20 + "\n") * n,
    "titles of links": lambda n: ("# " + "[a](" * 20 + "\n") * n,
    "titles of stars": lambda n: ("# " + "*_" * 20 + "\n") * n,
    "titles of stars and letters": lambda n: ("# " + "*a_" * 13 + "\n") * n,
    "titles of backticks": lambda n: ("# " + "` `` ``` " * 4 + "\n") * n,
    "titles of entities": lambda n: ("# " + "&amp;" * 40 + "\n") * n,
    "titles of comments": lambda n: ("# " + "<!--" * 40 + "\n") * n,
    "titles of addresses": lambda n: ("# " + "<a:" * 40 + "\n") * n,
    "titles of escapes": lambda n: ("# " + "\\[" * 20 + "\n") * n,
    "short titles": lambda n: "# *\n" * n,
    "quotes in a line": lambda n: "> " * n,
    "lists in a line": lambda n: "- " * n,
    "lines in a deep quote": lambda n: (">" * 30 + "\n") * n,
    "lines in a deep list": lambda n: "- " * 30 + "a\n" + ("  " * 30 + "a\n") * n,
    "a deep list and blank lines": lambda n: "- " * n + "a" + "\n" * n,
    "dashes": lambda n: "-" * n + "x",
    "spaced dashes": lambda n: "- " * n + "x",
    "lines of dashes": lambda n: "-\n" * n,
    "definitions": lambda n: "".join(f"[a{i:05}]: x\n" for i in range(n)),
    "definitions and titles": lambda n: "".join(f"[a{i:05}]: x\n\n# [a{i:05}]\n\n" for i in range(n)),
    "open definitions": lambda n: "[" * n,
    "open tags": lambda n: "<a\n" * n,
    "a tag of attributes": lambda n: "<a" + " b='c'" * n,
    "open comments": lambda n: "<!--\n" * n,
    "entities": lambda n: "&amp;" * n,
    "fences": lambda n: "~~~\n```\n" * n,
    "a long fence": lambda n: "`" * n,
    "white space": lambda n: " \t" * n + "x",
}
