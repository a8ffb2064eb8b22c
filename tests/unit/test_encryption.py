"""Encrypted content can be read only with its key, and can't be changed."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.encryption import ContentCipher, CredentialCipher, Undecryptable
from app.errors import Invalid, Unavailable

CIPHER = ContentCipher("a key")


@given(st.binary())
def test_encrypted_content_is_decrypted_with_the_same_key(content: bytes) -> None:
    encrypted = CIPHER.encrypt(content)
    assert ContentCipher("a key").decrypt(encrypted) == content
    assert len(encrypted) == len(content) + 44


def test_the_same_content_is_never_encrypted_to_the_same_bytes() -> None:
    encrypted = {CIPHER.encrypt(b"the same") for _ in range(100)}
    assert len(encrypted) == len({one[:28] for one in encrypted}) == 100
    assert not any(b"same" in one for one in encrypted)


@given(st.binary(min_size=1), st.data())
def test_changed_or_cut_content_and_that_of_another_key_are_refused(content: bytes, data: st.DataObject) -> None:
    encrypted = CIPHER.encrypt(content)
    index = data.draw(st.integers(0, len(encrypted) - 1))
    changed = encrypted[:index] + bytes([encrypted[index] ^ 1]) + encrypted[index + 1 :]
    for wrong in (changed, encrypted[:index], ContentCipher("another").encrypt(content)):
        with pytest.raises(Undecryptable, match="REPRISE_SECRET_KEY"):
            CIPHER.decrypt(wrong)


def test_without_a_key_nothing_is_encrypted_with_an_empty_one() -> None:
    keyless = ContentCipher("")
    assert (bool(keyless), bool(CIPHER)) == (False, True)
    for use in (keyless.encrypt, keyless.decrypt):
        with pytest.raises(Unavailable, match="Set REPRISE_SECRET_KEY"):
            use(CIPHER.encrypt(b"x"))


def test_content_that_an_earlier_release_encrypted_is_decrypted() -> None:
    content = "bIhVuT1Q+lnutQpO/i2s3ZGzjGIJIENRTTXlsjfnYTYwLJurlJm91MuH3wg9JSq0qh0uxfQ="
    credential = "gAAAAABrAkqfgs2LnbYDhbobMay5ZOTbk20ID8RUNHEsECInGuraaowLuy-6Bmmvx5ON_hIIA7lApWGuOhRvtmU2wV-Au-OS6Q=="
    assert CIPHER.decrypt(base64.b64decode(content)) == b"as before"
    assert CredentialCipher("a key").decrypt(credential) == "sk-before"


def test_a_credential_of_another_key_is_refused() -> None:
    encrypted = CredentialCipher("another").encrypt("sk-1")
    with pytest.raises(Undecryptable, match="REPRISE_SECRET_KEY"):
        CredentialCipher("a key").decrypt(encrypted)
    with pytest.raises(Invalid, match="Set REPRISE_SECRET_KEY"):
        CredentialCipher("").decrypt(encrypted)
