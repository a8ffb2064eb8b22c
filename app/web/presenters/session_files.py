"""Images, audio and other files of a user's message, as the page of a session shows and serves them."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

from app.errors import NotFound
from app.otlp.normalise.media import Media
from app.sessions.types import Turn
from app.web.page import FileAnswer

SHOWN_MAX = 20
# Images that browsers show and that hold no scripts, by their first bytes. A recorded media type may be wrong.
_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_ANY_TYPE = "application/octet-stream"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file of a turn by its index. Without `has_content` only an address or an id was recorded."""

    index: int
    label: str
    has_content: bool
    is_image: bool
    bytes: int


def shown_files(turn: Turn) -> list[ShownFile]:
    """Return the first `SHOWN_MAX` files."""
    return [_shown(index, media) for index, media in enumerate(turn.files[:SHOWN_MAX])]


def download_of(turn: Turn, index: int) -> FileAnswer:
    """Return the file with this index; a page may show it only if it is an image.

    Raises `NotFound` if the turn lacks it, or if its content can't be read.
    """
    media = next(iter(turn.files[index : index + 1]), None)
    if media is None or not (content := _decoded(media.data)):
        raise NotFound("The turn has no such file.")
    name = _UNSAFE.sub("_", media.name[:100]) or f"file-{index + 1}"
    media_type = _media_type(content)
    return FileAnswer(content, media_type, name, inline=media_type != _ANY_TYPE)


def _shown(index: int, media: Media) -> ShownFile:
    label = ", ".join(dict.fromkeys(filter(None, (media.name[:100], media.kind, media.media_type[:100]))))
    start = _decoded(media.data[:16])
    return ShownFile(index, label, bool(media.data), _media_type(start) != _ANY_TYPE, len(media.data) * 3 // 4)


def _decoded(data: str) -> bytes:
    """Return the bytes of base64 or base64url; b"" for other texts."""
    try:
        return base64.b64decode(data.encode("ascii").translate(bytes.maketrans(b"-_", b"+/")) + b"==")
    except ValueError:
        return b""


def _media_type(content: bytes) -> str:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((name for mark, name in _IMAGES.items() if content.startswith(mark)), _ANY_TYPE)
