"""The share of the callers that get another version from a label, decided alike by the server and its clients."""

from __future__ import annotations

from hashlib import blake2b


def position(label: str, key: str) -> float:
    """Return the place of a key among all keys of the labels with this name, from 0 to below 1, evenly distributed.

    A split of the share `s` gives its version to the keys below `s`.
    """
    digest = blake2b(f"{label}\0{key}".encode(errors="surrogatepass"), digest_size=8).digest()
    # The 53 bits that a float has: with more, the highest would be rounded to 1.
    return (int.from_bytes(digest, "big") >> 11) / 2**53
