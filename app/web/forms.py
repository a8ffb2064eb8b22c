"""Form bodies: read with a limit, decode strictly, and check that they come from a page of this site."""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
from collections import defaultdict
from collections.abc import Container, Mapping
from dataclasses import dataclass
from io import BytesIO
from urllib.parse import parse_qs

import falcon
from falcon.media import MultipartFormHandler

from app.chat import File
from app.errors import Forbidden, Invalid, UnsupportedMediaType
from app.http.bodies import read_capped

FIELD = "csrf"
PROOF_BYTES = 32
FORM_FIELDS_MAX = 1000
# Room for a hundred placeholders with a hundred values each, and two fields per value.
PARTS_MAX = 25_000
SEMICOLONS_MAX = 50
"""Semicolons of the head of a part: Falcon reads one with quotes in time that is quadratic in them."""


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form with all their values, and its files. Texts have `\\n` line ends and no NUL."""

    fields: Mapping[str, list[str]]
    files: tuple[File, ...] = ()

    def text(self, name: str, default: str = "") -> str:
        """Return the last value of a field, or `default` if the form lacks the field."""
        return self.fields.get(name, [default])[-1]

    def texts(self, name: str) -> list[str]:
        """Return all values of a field that may occur several times."""
        return self.fields.get(name, [])

    def choice(self, name: str, choices: Container[str]) -> str:
        """Return the value; raises `Invalid` unless it is one of the choices."""
        return checked_choice(name, self.text(name), choices)

    def flag(self, name: str) -> bool:
        """Return whether a checkbox was ticked."""
        return name in self.fields

    def selections(self) -> dict[str, str]:
        """Return the values chosen for placeholders, by key. Keys left at their default are omitted."""
        chosen = {name.removeprefix("use."): self.text(name) for name in self.fields if name.startswith("use.")}
        return {key: name for key, name in chosen.items() if name}

    def number(self, name: str, label: str) -> float:
        """Return the value of a field, also if written as 32,768. `Invalid` names the field by its label."""
        try:
            number = float(self.text(name).replace(",", ""))
        except ValueError as error:
            raise Invalid(f"{label}: Must be a number.") from error
        return int(number) if number.is_integer() else number

    def number_if_given(self, name: str, label: str) -> float | None:
        """Return the value of a field, None for an empty field; raises `Invalid` like `number`."""
        return self.number(name, label) if self.text(name).strip() else None

    def integer(self, name: str) -> int:
        """Return the whole number of at most 18 digits in a field; raises `Invalid` for anything else."""
        number = integer_in(name, self.text(name))
        if number is None:
            raise Invalid(f"{name}: Must be a whole number.")
        return number


def checked_choice(name: str, value: str, choices: Container[str]) -> str:
    """Return the value; raises `Invalid` unless it is one of the choices."""
    if value not in choices:
        raise Invalid(f"{name}: There is no such choice.")
    return value


def number_in(path: str, text: str, *, of: float = 1) -> float | None:
    """Return the number in a text, divided by `of`; None for an empty text. Raises `Invalid` for anything else."""
    try:
        value = float(text) / of if text else None
    except ValueError:
        value = math.nan
    if value is not None and not math.isfinite(value):
        raise Invalid(f"{path}: Must be a number.")
    return value


def integer_in(path: str, text: str) -> int | None:
    """Return the whole number in a text, None for an empty text; raises `Invalid` for anything else."""
    if text and not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Invalid(f"{path}: Must be a whole number.")
    return int(text) if text else None


def read_form(req: falcon.Request, limit: int, *, with_files: bool = False) -> Form:
    """Return the fields of a body of at most `limit` bytes, and its files if it is multipart.

    Raises `UnsupportedMediaType` unless the form is URL-encoded, or multipart `with_files`. Raises `Invalid` if it
    can't be decoded.
    """
    media_type = (req.content_type or "").partition(";")[0].strip().lower()
    if with_files and media_type == falcon.MEDIA_MULTIPART:
        return _read_parts(req, limit)
    if media_type != falcon.MEDIA_URLENCODED:
        raise UnsupportedMediaType("Pages accept only URL-encoded forms.")
    try:
        body = read_capped(req, limit).decode()
        fields = parse_qs(body, keep_blank_values=True, errors="strict", max_num_fields=FORM_FIELDS_MAX)
    except ValueError as error:
        raise Invalid("The form can't be read.") from error
    return Form(_texts(fields))


def _read_parts(req: falcon.Request, limit: int) -> Form:
    """Read a multipart form. Parts with a file name are files; empty files are ignored."""
    handler = MultipartFormHandler()
    handler.parse_options.max_body_part_count = PARTS_MAX
    body = read_capped(req, limit)
    fields: dict[str, list[str]] = defaultdict(list)
    files: list[File] = []
    try:
        for part in handler.deserialize(BytesIO(body), req.content_type, len(body)):
            if part._headers.get(b"content-disposition", b"").count(b";") > SEMICOLONS_MAX:
                raise ValueError("Too many semicolons")
            content = part.stream.read()
            if part.filename is None:
                fields[part.name or ""].append(content.decode())
            elif content:
                files.append(File(part.filename or "file", part.content_type, content))
    except (ValueError, falcon.HTTPError) as error:
        raise Invalid("The form can't be read.") from error
    return Form(_texts(fields), tuple(files))


def _texts(fields: Mapping[str, list[str]]) -> dict[str, list[str]]:
    if any("\0" in value for values in fields.values() for value in values):
        raise Invalid("Text must not contain a NUL character.")
    return {name: [value.replace("\r\n", "\n") for value in values] for name, values in fields.items()}


def csrf_token(cookie: str) -> str:
    """Return a token for forms. Making it requires the cookie's token, which it does not reveal.

    Each call returns a different token, masked by random bytes that it contains. So the length of a compressed page
    reveals nothing about the token.
    """
    proof, mask = _proof(cookie), secrets.token_bytes(PROOF_BYTES)
    return (mask + _xor(mask, proof)).hex()


def check_csrf(form: Form, cookie: str) -> None:
    """Raise `Forbidden` unless the form comes from a page that was made for the same browser."""
    try:
        sent = bytes.fromhex(form.text(FIELD))
    except ValueError:
        sent = b""
    proof = _xor(sent[:PROOF_BYTES], sent[PROOF_BYTES:]) if len(sent) == 2 * PROOF_BYTES else b""
    if not cookie or not hmac.compare_digest(proof, _proof(cookie)):
        raise Forbidden(
            "This form is older than your sign-in or comes from elsewhere. Go back, check it, and send it again."
        )


def _proof(cookie: str) -> bytes:
    return hmac.new(cookie.encode(errors="surrogatepass"), b"csrf", hashlib.sha256).digest()


def _xor(mask: bytes, masked: bytes) -> bytes:
    return bytes(left ^ right for left, right in zip(mask, masked, strict=True))
