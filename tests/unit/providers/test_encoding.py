"""Files as vendors get them."""

import pytest

from app.chat import File
from app.errors import Invalid
from app.providers.encoding import decoded, media_type_of, usual_media_type
from app.providers.vendors import VENDORS


def file(media_type, content=b"x"):
    return File("f", media_type, content)


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    ("named", "sent"),
    [
        ("image/jpg", "image/jpeg"),
        ("IMAGE/PJPEG", "image/jpeg"),
        ("image/x-png; q=1", "image/png"),
        ("application/jsonl", "text/plain"),
        ("application/x-ndjson", "text/plain"),
        ("application/ld+json", "text/plain"),
        ("application/xhtml+xml", "text/plain"),
        ("image/svg+xml", "text/plain"),
        ("application/toml", "text/plain"),
        ("application/x-python", "text/plain"),
        ("text/csv; charset=iso-8859-1", "text/plain"),
    ],
)
def test_other_names_of_media_types_are_known(vendor, named, sent):
    assert media_type_of(vendor, file(named)) == sent


@pytest.mark.parametrize(
    ("named", "sent"),
    [("audio/mpeg", "audio/mp3"), ("AUDIO/X-WAV", "audio/wav"), ("audio/wave; rate=8000", "audio/wav")],
)
@pytest.mark.parametrize("vendor", ["GOOGLE", "CUSTOM_OPENAI_COMPATIBLE"])
def test_other_names_of_audio_are_known_where_a_model_may_hear_it(vendor, named, sent):
    assert media_type_of(vendor, file(named)) == sent


@pytest.mark.parametrize("named", ["application/x-pdf", "application/acrobat", "text/pdf", "application/pdf; v=1"])
def test_other_names_of_pdf_are_known(named):
    assert usual_media_type(file(named)) == "application/pdf"


@pytest.mark.parametrize("named", ["audio/mpeg", "application/octet-stream", "", "image/tiff"])
def test_what_no_model_reads_is_refused(named):
    with pytest.raises(Invalid, match="can't read"):
        media_type_of("OPENAI", file(named))


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        ("iso-8859-1", "latin-1"),
        ("ISO-8859-1; header=present", "latin-1"),
        ('"windows-1252"', "cp1252"),
        ("'utf-8'", "utf-8"),
        ("utf-8", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-16le", "utf-16-le"),
    ],
)
def test_the_charset_that_is_named_is_used(charset, codec):
    assert decoded(file(f"text/csv; charset={charset}", "é,1".encode(codec))) == "é,1"


@pytest.mark.parametrize("charset", ["shift_jis", "gb18030", "koi8-r"])
def test_charsets_of_other_scripts_are_used(charset):
    text = "привет"
    assert decoded(file(f"text/plain;charset={charset}", text.encode(charset))) == text


@pytest.mark.parametrize(
    "charset", ["no-such", "rot13", "base64", "zip", "punycode", "idna", "unicode_escape", "undefined", "a\0b"]
)
def test_what_is_no_charset_is_refused(charset):
    with pytest.raises(Invalid, match="is sent as text, but it is not"):
        decoded(file(f"text/plain; charset={charset}"))


@pytest.mark.parametrize("media_type", ["text/csv", "text/csv; charset=utf-8", "text/csv; charset=iso-8859-1"])
@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_names_the_encoding(media_type, codec):
    assert decoded(file(media_type, "é,1\r\n\f".encode(codec))) == "é,1\r\n\f"
    assert decoded(file(media_type, "\ufeffé".encode("utf-16-be"))) == "é"


@pytest.mark.parametrize("content", ["a,b".encode("utf-16-le"), b"\0", "\ufeffa\0".encode()])
def test_a_nul_is_refused_because_it_is_a_sign_of_another_encoding(content):
    with pytest.raises(Invalid, match="f is sent as text, but it has a NUL character"):
        decoded(file("text/csv", content))


def test_bytes_that_are_not_in_their_charset_are_refused():
    for media_type in ("text/plain", "text/plain; charset=utf-8", "text/plain; charset=ascii"):
        with pytest.raises(Invalid, match="it is not"):
            decoded(file(media_type, b"\xff\xfe\xfd"))
