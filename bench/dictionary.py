"""Trains the dictionaries, and prints what they save: `python -m bench.dictionary [--spans FILE] [--facts FILE]`.

The dictionary of spans is trained on the spans that SDKs exported for the tests, that of facts on the facts of their
turns and the figures of their sessions. What is left of spans to come is measured with dictionaries that were trained
without the exports of the span's SDK and without those of its conversation. By the turn, all spans of a trace are
compressed together; in blocks, 64 spans of an SDK are, without a dictionary.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import zstandard
from sqlalchemy import select
from zstandard import ZstdCompressionParameters

from app.models.compression import PARAMETERS, compress_text
from app.models.sessions import sessions
from app.models.turns import turns
from app.otlp.decode import decode
from bench.spans import batch as benchmark_batch
from tests.support.world import new_world, running, settings_for

DICTIONARY_BYTES, FACTS_DICTIONARY_BYTES = 16 * 1024, 4 * 1024
BLOCK_SPANS = 64
PARAMETERS_BY_NAME = {
    **{f"level {level}": ZstdCompressionParameters.from_level(level, write_dict_id=False) for level in (3, 6, 9)},
    "level 5, small tables": PARAMETERS,
}
"""The ways of compressing that are compared, by the headings of their columns."""
EXPORTS, CONVERSATIONS = Path("tests/data/otlp"), Path("tests/gate/recordings")
# Runs of tests/data/otlp by the SDK that exported them, where several runs are of one; all are of one agent.
TOY = "weather"
SDKS = {
    "openinference": ("noi", "nan", "nlg", "poi", "poia", "poic", "poil"),
    "openllmetry": ("ntl", "ntlr", "ptla", "ptlc", "ptlg", "ptlh", "ptlo"),
    "openai_agents": ("pg", "pga", "pv2"),
    "pydantic_ai": ("pp", "plfa"),
    "google_genai": ("pgg", "pggo"),
    "adk": ("padk", "padko"),
    "vercel": ("ai6", "ai7"),
    "hand": ("nm", "pm"),
}
_SDK_OF = {run: sdk for sdk, runs in SDKS.items() for run in runs}


class Source(NamedTuple):
    """What recorded a span, and of which conversation."""

    sdk: str
    conversation: str


Recorded = dict[Source, list[bytes]]
"""The bodies of spans."""


def recordings() -> list[tuple[Source, str]]:
    """List the recorded batches as compact JSON, in the order in which `dictionaries/1.zstd` was trained on them."""
    batches = []
    for path in [*sorted(EXPORTS.glob("*.json")), *sorted(CONVERSATIONS.glob("*.json"), key=_by_sdk)]:
        first, second, *_ = path.name.split(".")
        source = Source(second, first) if path.parent == CONVERSATIONS else Source(_SDK_OF.get(first, first), TOY)
        batch = json.loads(path.read_bytes())
        if "resourceSpans" in batch:
            batches.append((source, json.dumps(batch, separators=(",", ":"), ensure_ascii=False)))
    return batches


def _by_sdk(path: Path) -> list[str]:
    return path.name.split(".")[1::-1]


def recorded_spans() -> Recorded:
    bodies: Recorded = defaultdict(list)
    for source, batch in recordings():
        bodies[source] += bodies_of(batch.encode())
    return bodies


def bodies_of(batch: bytes) -> list[bytes]:
    return [bytes(span.raw) for span in decode(batch).spans]


def recorded_facts() -> tuple[list[bytes], list[bytes]]:
    """Store the recorded batches; returns the facts of their turns, and the figures and calls of their sessions."""
    with tempfile.TemporaryDirectory() as folder, running(settings_for(Path(folder))) as container:
        world = new_world(container)
        prompt_id = world.prompt()

        def of_prompt(value: dict[str, Any]) -> dict[str, Any]:
            is_prompt = value.get("key") == "service.prompt.id"
            return {"key": value["key"], "value": {"intValue": prompt_id}} if is_prompt else value

        for _, batch in recordings():
            container.services.ingest.store(
                world.project_id, json.dumps(json.loads(batch, object_hook=of_prompt)).encode()
            )
        while container.services.insight_counter.count(world.project_id):
            pass
        with container.database.read() as connection:
            facts = list(connection.scalars(select(turns.c.facts).order_by(turns.c.id)))
            rows = connection.execute(select(sessions.c.counted, sessions.c.calls).order_by(sessions.c.id)).all()
    return facts, [text for row in rows for text in row if text]


def bodies_to_train_for(recorded: Recorded, source: Source) -> list[bytes]:
    """Return the bodies to train the dictionary with that `source` is measured with: other SDKs and conversations."""
    others = (o for o in recorded if o.sdk != source.sdk and o.conversation != source.conversation)
    return [body for other in others for body in recorded[other]]


def train(bodies: Iterable[bytes], size: int = DICTIONARY_BYTES) -> bytes:
    """Return a dictionary of what the bodies share."""
    return zstandard.train_dictionary(size, [*bodies]).as_bytes()


def compressed_size(
    bodies: Iterable[bytes], dictionary: bytes = b"", how: ZstdCompressionParameters = PARAMETERS
) -> int:
    """Return the size of bodies in bytes, after each was compressed separately."""
    dict_data = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
    compressor = zstandard.ZstdCompressor(dict_data=dict_data, compression_params=how)
    return sum(len(compressor.compress(body)) for body in bodies)


def blocks(bodies: Sequence[bytes]) -> list[bytes]:
    """Return the bodies, `BLOCK_SPANS` of them joined to each block."""
    return [b"".join(bodies[start : start + BLOCK_SPANS]) for start in range(0, len(bodies), BLOCK_SPANS)]


def by_turn(bodies: Sequence[bytes]) -> list[bytes]:
    """Return the bodies of each trace together."""
    joined: dict[str, bytes] = defaultdict(bytes)
    for body in bodies:
        joined[json.loads(body)["traceId"]] += body
    return list(joined.values())


def main(target: Path | None, target_of_facts: Path | None) -> None:
    recorded = recorded_spans()
    bodies = [body for _, batch in recordings() for body in bodies_of(batch.encode())]
    total = sum(map(len, bodies))
    made = bodies_of(benchmark_batch(1, 512, start_ns=10**18))
    known = len({source.sdk for source in recorded})
    print(f"{len(bodies)} spans of {known} SDKs, {total // len(bodies)} bytes each; what is left of them:")
    print(f"{'':40}" + "".join(f"{name:>11}" for name in PARAMETERS_BY_NAME))
    _print("without a dictionary", lambda how: compressed_size(bodies, how=how) / total)
    for size in (DICTIONARY_BYTES // 4, DICTIONARY_BYTES, 4 * DICTIONARY_BYTES):
        trained = train(bodies, size)
        others = {source: train(bodies_to_train_for(recorded, source), size) for source in recorded}
        if target and size == DICTIONARY_BYTES:
            target.write_bytes(trained)
        print(f"by a dictionary of {size} bytes")
        _print("  that was trained on them", lambda how: compressed_size(bodies, trained, how) / total)  # noqa: B023
        _print("  of other SDKs and conversations", lambda how: _sum(recorded, others, how) / total)  # noqa: B023
        _print("  the same, by the turn", lambda how: _sum(recorded, others, how, by_turn) / total)  # noqa: B023
        _print("  spans of bench/spans.py", lambda how: compressed_size(made, trained, how) / sum(map(len, made)))  # noqa: B023
    _print_facts(target_of_facts)
    sdks = {
        source.sdk: [body for other in recorded if other.sdk == source.sdk for body in recorded[other]]
        for source in recorded
    }
    _print(
        f"blocks of {BLOCK_SPANS}, no dictionary",
        lambda how: compressed_size(chain(*map(blocks, sdks.values())), how=how) / total,
    )
    texts = [batch for source, batch in recordings() if source.conversation != TOY]
    size = sum(len(text.encode()) for text in texts)
    print(
        f"{size} bytes of whole conversations, as texts: {sum(len(compress_text(text)) for text in texts) / size:.3f}"
    )


def _print_facts(target: Path | None) -> None:
    """Print what a dictionary, trained on every second turn and session, leaves of the others."""
    facts, figures = recorded_facts()
    if target:
        target.write_bytes(train(facts + figures, FACTS_DICTIONARY_BYTES))
    trained = train(facts[::2] + figures[::2], FACTS_DICTIONARY_BYTES)
    for name, texts in (("facts of other turns", facts[1::2]), ("figures and calls of other sessions", figures[1::2])):
        _print(name, lambda how: compressed_size(texts, trained, how) / sum(map(len, texts)))  # noqa: B023


def _sum(
    recorded: Recorded,
    dictionaries: dict[Source, bytes],
    how: ZstdCompressionParameters,
    joined: Callable[[list[bytes]], list[bytes]] = list,
) -> int:
    return sum(compressed_size(joined(bodies), dictionaries[source], how) for source, bodies in recorded.items())


def _print(name: str, ratio: Callable[[ZstdCompressionParameters], float]) -> None:
    print(f"{name:40}" + "".join(f"{ratio(how):11.3f}" for how in PARAMETERS_BY_NAME.values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=Path)
    parser.add_argument("--facts", type=Path)
    arguments = parser.parse_args()
    main(arguments.spans, arguments.facts)
