"""Reads images, audio and files from parts of messages of every shape in wide use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from app.otlp.normalise.kinds import kind_of

MediaKind = Literal["image", "audio", "file", "unknown_part"]

_KINDS: dict[str, MediaKind] = {
    **dict.fromkeys(("image", "image_url", "image-url", "input_image"), "image"),
    **dict.fromkeys(("audio", "audio-url", "audio_url", "input_audio", "output_audio"), "audio"),
    **dict.fromkeys(
        (
            *("file", "input_file", "document", "document-url", "document_url", "video", "video-url", "video_url"),
            *("input_video", "media", "binary", "blob", "uri"),
        ),
        "file",
    ),
}
# Gemini, Bedrock and ADK name the kind by a key.
_KEYS: dict[str, MediaKind] = {
    **dict.fromkeys(("inlineData", "inline_data", "fileData", "file_data", "document", "video"), "file"),
    "image": "image",
    "audio": "audio",
}
MEDIA_KEYS = frozenset(_KEYS)
_WRAPPERS = (
    *("source", "image_url", "input_audio", "output_audio", "file", "image", "audio", "document", "video"),
    *("inlineData", "inline_data", "fileData", "file_data"),
)
_CONTENTS = ("data", "content", "bytes", "base64", "file_data", "image", "audio")
_ADDRESSES = ("url", "uri", "image_url", "file_url", "fileUri", "file_uri", "image")
_TYPES = ("mime_type", "mimeType", "media_type", "mediaType")
_TRANSCRIPTS = frozenset(
    {
        *("transcript", "transcription", "inputTranscription", "outputTranscription"),
        *("input_transcription", "output_transcription", "audio.transcript"),
    }
)
_NAMES = ("filename", "name", "title", "file_name")
_LEVELS = 3


@dataclass(frozen=True, slots=True)
class Media:
    """A part of a message that is no text. `data` is base64, "" where only an address or an id was recorded.

    A part of the kind `unknown_part` has its type as the name.
    """

    kind: MediaKind
    media_type: str = ""
    name: str = ""
    data: str = ""


def read_media(part: dict[str, Any]) -> Media | None:
    """Return the image, audio or file in a part of a message; None where it is something else."""
    kind = _KINDS.get(kind_of(part) or "") or next(
        (kind for key, kind in _KEYS.items() if isinstance(part.get(key), dict)), None
    )
    if kind is None:
        return None
    levels = list(_levels(part))
    media_type, data = next(filter(None, map(_content, levels)), ("", ""))
    media_type = media_type or _text(levels, _TYPES) or _of_format(kind, levels)
    return Media(_of_type(kind, media_type, part), media_type, _text(levels, _NAMES), data)


def transcript_of(part: dict[str, Any]) -> str | None:
    """Return the words that were spoken in a part or a message; None without a transcript."""
    for level in _levels(part):
        for key in _TRANSCRIPTS & level.keys():
            words = level.get(key)
            words = words.get("text") if isinstance(words, dict) else words
            if isinstance(words, str) and words:
                return words
    return None


def unknown_part(part: dict[str, Any]) -> Media | None:
    """Return a part with a type as one of an unknown kind; None for a part without a type."""
    named = part.get("generic_type")
    kind = named if isinstance(named, str) and named else kind_of(part)
    return Media("unknown_part", name=kind[:64]) if kind else None


def _levels(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the part, and the objects within it that wrap its content."""
    waiting = [part]
    for _ in range(_LEVELS):
        yield from waiting
        waiting = [value for level in waiting for key in _WRAPPERS if isinstance(value := level.get(key), dict)]


def _content(level: dict[str, Any]) -> tuple[str, str] | None:
    """Return the media type, if a data URL has it, and the base64 of the content; None without a content."""
    for key in dict.fromkeys((*_CONTENTS, *_ADDRESSES)):
        text = level.get(key)
        if not isinstance(text, str) or not text:
            continue
        if text.startswith("data:"):
            head, _, data = text.partition(",")
            return head.removeprefix("data:").partition(";")[0], data if head.endswith(";base64") else ""
        if key in _CONTENTS and "://" not in text[:64]:
            return "", text
    return None


def _text(levels: list[dict[str, Any]], keys: tuple[str, ...]) -> str:
    values = (level.get(key) for level in levels for key in keys)
    return next((value for value in values if isinstance(value, str) and value), "")


def _of_format(kind: MediaKind, levels: list[dict[str, Any]]) -> str:
    """Return the media type of a format such as `png` or `wav`."""
    named = _text(levels, ("format",))
    return f"{kind}/{named}" if named and kind in ("image", "audio") else ""


def _of_type(kind: MediaKind, media_type: str, part: dict[str, Any]) -> MediaKind:
    """Return the kind by the media type or the modality of a part, where these are more precise."""
    names = (media_type.partition("/")[0], part.get("modality"))
    return next((_KINDS[name] for name in names if name in ("image", "audio")), kind)
