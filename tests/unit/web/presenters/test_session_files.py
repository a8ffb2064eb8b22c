"""Files of a user's message are served by what they are, not by what their recording names."""

from __future__ import annotations

import base64

import pytest

from app.errors import NotFound
from app.otlp.normalise.media import Media
from app.sessions.types import Turn
from app.web.presenters.session_files import SHOWN_MAX, download_of, shown_files

PNG, JPEG, GIF, WEBP = b"\x89PNG\r\n\x1a\n1", b"\xff\xd8\xff1", b"GIF89a1", b"RIFF1234WEBP1"
SVG, PAGE = b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<script>alert(1)</script>"


def turn(*files: Media) -> Turn:
    return Turn("ab", 0, 1, "Look.", (), files=files)


def image(content: bytes, media_type: str = "image/png", name: str = "") -> Media:
    return Media("image", media_type, name, base64.b64encode(content).decode())


@pytest.mark.parametrize(
    ("content", "media_type"),
    [(PNG, "image/png"), (JPEG, "image/jpeg"), (GIF, "image/gif"), (WEBP, "image/webp")],
)
def test_an_image_is_shown_by_its_first_bytes(content: bytes, media_type: str) -> None:
    made = turn(image(content, "text/html"))

    assert shown_files(made)[0].is_image
    download = download_of(made, 0)
    assert (download.content, download.media_type, download.inline) == (content, media_type, True)


@pytest.mark.parametrize("content", [SVG, PAGE, b"%PDF-1.7", b"RIFF1234WAVE"])
def test_other_content_is_saved_whatever_its_media_type(content: bytes) -> None:
    made = turn(image(content, "image/png"))

    assert not shown_files(made)[0].is_image
    assert not download_of(made, 0).inline


def test_base64_of_addresses_is_read_too() -> None:
    content = PNG + bytes(range(256))
    encoded = base64.urlsafe_b64encode(content).decode().rstrip("=")

    assert download_of(turn(Media("image", data=encoded)), 0).content == content


@pytest.mark.parametrize("media", [Media("image"), Media("image", data="ä"), Media("image", data="A")])
def test_a_file_without_readable_content_is_not_found(media: Media) -> None:
    with pytest.raises(NotFound):
        download_of(turn(media), 0)


def test_a_file_that_the_turn_lacks_is_not_found() -> None:
    with pytest.raises(NotFound):
        download_of(turn(image(PNG)), 1)


def test_a_file_is_saved_by_a_name_without_special_characters() -> None:
    name = download_of(turn(image(b"%PDF", name='a"\r\nb/../c.pdf')), 0).name

    assert name == "a_b_.._c.pdf"


def test_only_the_first_files_are_shown() -> None:
    assert len(shown_files(turn(*(image(PNG, name=str(number)) for number in range(SHOWN_MAX + 5))))) == SHOWN_MAX
