"""Destinations and titles of links in a line, addresses in angle brackets, and characters written as entities.

It reads links as the parser markdown-it does. `link_definitions.py` reads them as pulldown-cmark does, which has other
limits and other ends of a destination: the server uses both parsers.
"""

from __future__ import annotations

import re
from html.entities import html5

_NESTED_PARENTHESES = 32
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^<>\x00-\x20]*")
_HOST = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_EMAIL = re.compile(rf"[a-zA-Z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_HOST}(?:\.{_HOST})*")
_PERCENT_ENCODED = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_STAYS_ENCODED = re.compile(r"[;/?:@&=+$,#%]")
_REFUSED = re.compile(r"(?:vbscript|javascript|file|data):(?<!data:)|data:(?!image/(?:gif|png|jpeg|webp);)")
_ENTITY = re.compile(r"&(?:#(?:[xX]([0-9a-fA-F]{1,8})|([0-9]{1,8}))|([a-zA-Z][a-zA-Z0-9]{1,31}));")
_ESCAPE_OR_ENTITY = re.compile(rf"\\([!-/:-@\[-`{{-~])|{_ENTITY.pattern}")
_LABEL_SPACE = re.compile("[\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")


def normalized_label(label: str) -> str:
    """Return a label in the form that is compared: without regard to case, and to how much white space is where."""
    return _LABEL_SPACE.sub(" ", label).strip(" ").lower().upper()


def inline_link_end(text: str, at: int, end: int) -> int:
    """Return where `)` has to be for a link with its `(` at `at`; -1 if nothing is between that and `end`."""
    at = _after_blanks(text, at + 1, end)
    if at >= end:
        return -1
    destination_end = _destination_end(text, at, end)
    if destination_end < 0 or not is_allowed(_destination(text[at:destination_end])):
        return at
    title = _after_blanks(text, destination_end, end)
    title_end = _title_end(text, title, end) if title > destination_end else -1
    return title if title_end < 0 else _after_blanks(text, title_end, end)


def _after_blanks(text: str, at: int, end: int) -> int:
    while at < end and text[at] in " \t":
        at += 1
    return at


def _destination_end(text: str, start: int, end: int) -> int:
    """-1 if no destination is there."""
    return _angles_end(text, start + 1, end) if text[start] == "<" else _bare_end(text, start, end)


def _angles_end(text: str, at: int, end: int) -> int:
    while at < end and text[at] != "<":
        if text[at] == ">":
            return at + 1
        at += 2 if text[at] == "\\" and at + 1 < end else 1
    return -1


def _bare_end(text: str, start: int, end: int) -> int:
    at, depth = start, 0
    while at < end and text[at] > " " and text[at] != "\x7f":
        if text[at] == "\\" and at + 1 < end:
            if text[at + 1] == " ":
                break
            at += 1
        elif text[at] == "(":
            depth += 1
            if depth > _NESTED_PARENTHESES:
                return -1
        elif text[at] == ")":
            if depth == 0:
                break
            depth -= 1
        at += 1
    return at if at > start and depth == 0 else -1


def _destination(written: str) -> str:
    return unescaped(written[1:-1] if written.startswith("<") else written)


def _title_end(text: str, at: int, end: int) -> int:
    """-1 if no title is there."""
    closer = {'"': '"', "'": "'", "(": ")"}.get(text[at]) if at < end else None
    at += 1
    while closer and at < end:
        if text[at] == closer:
            return at + 1
        if text[at] == "(" and closer == ")":
            return -1
        at += 2 if text[at] == "\\" and at + 1 < end else 1
    return -1


def is_allowed(address: str) -> bool:
    """Return whether the server's parser makes a link of this address; it makes none of a script, for example."""
    return not _REFUSED.match(address.strip().lower())


def address_text(address: str) -> str | None:
    """Return the text of `<address>`, a resource or a mailbox, with letters in place of `%…`; None if it is neither."""
    if not (_ADDRESS.fullmatch(address) and is_allowed(address)) and not _EMAIL.fullmatch(address):
        return None
    return _PERCENT_ENCODED.sub(_decoded, address)


def _decoded(match: re.Match[str]) -> str:
    text = bytes.fromhex(match[0].replace("%", "")).decode(errors="replace")
    return _STAYS_ENCODED.sub(lambda char: f"%{ord(char[0]):X}", text)


def unescaped(text: str) -> str:
    """Return the text with characters in place of backslash escapes and entities."""
    return _ESCAPE_OR_ENTITY.sub(lambda match: match[1] or _character(*match.group(2, 3, 4)) or match[0], text)


def entity_at(text: str, at: int) -> tuple[str, int] | None:
    """Return the characters that an entity means, and where it ends; None if none is there."""
    match = _ENTITY.match(text, at)
    if not match or len(match[1] or "") > 6 or len(match[2] or "") > 7:
        return None
    character = _character(*match.group(1, 2, 3)) or ("" if match[3] else "\N{REPLACEMENT CHARACTER}")
    return (character, match.end()) if character else None


def _character(hexadecimal: str | None, decimal: str | None, name: str | None) -> str:
    """None of a code without a character, and of a name that is not HTML's."""
    if name:
        return html5.get(f"{name};", "")
    code = int(hexadecimal, 16) if hexadecimal else int(decimal or "0")
    return chr(code) if _is_character(code) else ""


def _is_character(code: int) -> bool:
    if code < 0xA0:
        return code in (0x9, 0xA, 0xC, 0xD) or 0x20 <= code < 0x7F
    return code <= 0x10FFFF and not 0xD800 <= code < 0xE000 and not 0xFDD0 <= code < 0xFDF0 and code & 0xFFFE != 0xFFFE
