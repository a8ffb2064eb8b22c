"""What is sealed can be read with the key alone, and can't be changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Invalid, Unavailable
from app.services.data.seal import Seal

SEAL = Seal("a key")


@given(st.binary())
def test_what_is_closed_is_opened_with_the_same_key(content: bytes) -> None:
    sealed = SEAL.close(content)
    assert Seal("a key").open(sealed) == content
    assert len(sealed) == len(content) + 44


def test_the_same_content_is_never_sealed_to_the_same_bytes() -> None:
    sealed = {SEAL.close(b"the same") for _ in range(100)}
    assert len(sealed) == len({one[:28] for one in sealed}) == 100
    assert not any(b"same" in one for one in sealed)


@given(st.binary(min_size=1), st.data())
def test_what_was_changed_cut_or_sealed_with_another_key_is_refused(content: bytes, data: st.DataObject) -> None:
    sealed = SEAL.close(content)
    place = data.draw(st.integers(0, len(sealed) - 1))
    changed = sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :]
    for wrong in (changed, sealed[:place], Seal("another").close(content)):
        with pytest.raises(Invalid, match="REPRISE_SECRET_KEY"):
            SEAL.open(wrong)


def test_without_a_key_nothing_is_sealed_with_an_empty_one() -> None:
    keyless = Seal("")
    assert (bool(keyless), bool(SEAL)) == (False, True)
    for use in (keyless.close, keyless.open):
        with pytest.raises(Unavailable, match="Set REPRISE_SECRET_KEY"):
            use(SEAL.close(b"x"))
