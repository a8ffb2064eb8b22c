"""Trains the dictionary that compresses spans, and prints what it saves: `python -m bench.dictionary [FILE]`.

It is trained on the spans that SDKs exported for the tests. Each vendor's share of the figures is measured with a
dictionary that was trained without that vendor's exports, as spans of other SDKs are to come.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import zstandard

from app.models.compression import LEVEL
from app.otlp.decode import decode
from bench.spans import batch as benchmark_batch

DICTIONARY_BYTES = 16 * 1024
EXPORTS, CONVERSATIONS = Path("tests/data/otlp"), Path("tests/gate/recordings")


def recorded_spans() -> dict[str, list[bytes]]:
    """Return the bodies of the spans by vendor, without the white space of files that people read."""
    found: dict[str, list[bytes]] = defaultdict(list)
    for path in sorted([*EXPORTS.glob("*.json"), *CONVERSATIONS.glob("*.json")]):
        vendor = path.name.split(".")[1] if path.parent == CONVERSATIONS else path.name[:2]
        batch = json.loads(path.read_bytes())
        if "resourceSpans" in batch:
            body = json.dumps(batch, separators=(",", ":"), ensure_ascii=False).encode()
            found[vendor] += [bytes(span.raw) for span in decode(body).spans]
    return found


def ratio(bodies: list[bytes], dictionary: zstandard.ZstdCompressionDict | None = None) -> float:
    """Return the compressed size of the bodies, each on its own, in parts of what they measure."""
    compressor = zstandard.ZstdCompressor(LEVEL, dict_data=dictionary)
    return sum(len(compressor.compress(body)) for body in bodies) / sum(map(len, bodies))


def unseen(recorded: dict[str, list[bytes]], size: int) -> float:
    """Return the ratio with dictionaries that know nothing of the vendor whose spans they compress."""
    total = sum(len(body) for bodies in recorded.values() for body in bodies)
    compressed = 0.0
    for vendor, bodies in recorded.items():
        others = [body for other, found in recorded.items() if other != vendor for body in found]
        compressed += ratio(bodies, zstandard.train_dictionary(size, others)) * sum(map(len, bodies))
    return compressed / total


def main(target: Path | None) -> None:
    recorded = recorded_spans()
    bodies = [body for found in recorded.values() for body in found]
    made = [bytes(span.raw) for span in decode(benchmark_batch(1, 512, start_ns=10**18)).spans]
    print(f"{len(bodies)} recorded spans of {len(recorded)} vendors, {sum(map(len, bodies)) // len(bodies)} bytes each")
    print(f"{'dictionary':>12} {'recorded':>9} {'unseen':>7} {'benchmark':>10}")
    print(f"{'none':>12} {ratio(bodies):9.3f} {ratio(bodies):7.3f} {ratio(made):10.3f}")
    for size in (DICTIONARY_BYTES // 4, DICTIONARY_BYTES, 4 * DICTIONARY_BYTES):
        trained = zstandard.train_dictionary(size, bodies)
        print(f"{size:12} {ratio(bodies, trained):9.3f} {unseen(recorded, size):7.3f} {ratio(made, trained):10.3f}")
        if target and size == DICTIONARY_BYTES:
            target.write_bytes(trained.as_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
