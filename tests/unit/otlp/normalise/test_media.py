"""Images, audio and files in messages of each library's shape."""

from __future__ import annotations

from typing import Any

import pytest

from app.otlp.normalise.media import Media, read_media
from app.otlp.normalise.messages import read_messages

PNG = "iVBORw0KGgo="
URL = f"data:image/png;base64,{PNG}"
IMAGE = Media("image", "image/png", "", PNG)


@pytest.mark.parametrize(
    ("part", "media"),
    [
        ({"type": "blob", "modality": "image", "mime_type": "image/png", "content": PNG}, IMAGE),
        ({"type": "uri", "modality": "image", "mime_type": "image/png", "uri": URL}, IMAGE),
        ({"type": "uri", "modality": "image", "uri": "https://x.test/a.png"}, Media("image")),
        ({"type": "image_url", "image_url": {"url": URL, "detail": "low"}}, IMAGE),
        ({"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}, Media("image")),
        ({"type": "input_image", "image_url": URL}, IMAGE),
        (
            {"type": "input_audio", "input_audio": {"data": "Uk", "format": "wav"}},
            Media("audio", "audio/wav", "", "Uk"),
        ),
        (
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"},
            Media("file", "application/pdf", "a.pdf", "JVBE"),
        ),
        ({"type": "file", "file": {"file_id": "file-1"}}, Media("file")),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}, IMAGE),
        (
            {"type": "document", "title": "a", "source": {"media_type": "application/pdf", "data": "JVBE"}},
            Media("file", "application/pdf", "a", "JVBE"),
        ),
        ({"inlineData": {"mimeType": "image/png", "data": PNG}}, IMAGE),
        ({"file_data": {"file_uri": "gs://b/a.wav", "mime_type": "audio/wav"}}, Media("audio", "audio/wav")),
        ({"type": "image", "image": URL}, IMAGE),
        ({"type": "file", "mediaType": "image/png", "data": PNG}, IMAGE),
        ({"type": "image", "image": {"image": {"url": URL}}}, IMAGE),
        ({"image": {"format": "png", "source": {"bytes": PNG}}}, IMAGE),
        ({"kind": "binary", "media_type": "image/png", "data": PNG}, IMAGE),
        ({"type": "text", "text": "Hi"}, None),
        ({"type": "tool_call", "name": "f"}, None),
        ({}, None),
    ],
)
def test_a_part_is_read_in_each_library_s_shape(part: dict[str, Any], media: Media | None) -> None:
    assert read_media(part) == media


def test_messages_keep_their_media_and_those_of_tools_and_name_unknown_parts() -> None:
    shot = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "image", "source": {"data": PNG}}]}
    messages = read_messages(
        [
            {"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "input_image", "image_url": URL}]},
            {"role": "user", "content": [shot]},
            {"role": "user", "content": [{"type": "hologram", "bits": 1}]},
        ]
    )

    assert messages is not None
    assert [message.media for message in messages] == [
        (IMAGE,),
        (Media("image", "", "", PNG),),
        (Media("unknown_part", name="hologram"),),
    ]
    assert messages[0].text == "See"
