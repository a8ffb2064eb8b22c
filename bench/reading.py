"""Compares the reading of spans with the parsing of the same bytes: `python -m bench.reading`.

SDKs exported the batches for the tests; one more is of `bench.spans`. For each SDK it prints the processor time of
four works in relation to that of `json.loads` on the same batches, and of decoding protobuf in relation to protobuf's
classes. The rounds of all works alternate, and the least time of each counts, so that other load on the machine changes
the ratios little.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from app.otlp.decode import decode
from app.otlp.decode_protobuf import decode_protobuf
from app.otlp.span import Span
from app.services.ingest.turns import parts_of
from app.sessions.build import build_session
from app.sessions.facts import dump
from bench.dictionary import recordings
from bench.spans import batch
from tests.support.protobuf import traces

PROMPT_ID = 4242
BENCHMARK = "bench.spans"
ALL = "all SDKs"
GOALS = {"decode": 0.85, "decode protobuf": 9.0, "facts": 3.0, "session": 8.2}
"""The most that each work may need, of all SDKs together: a tenth more than it needed when the goals were set."""

Work = Callable[[], object]


class Batches:
    """The batches of one SDK in both encodings, with their spans."""

    def __init__(self, bodies: Sequence[bytes]) -> None:
        self.bodies = bodies
        self.messages = [traces(body) for body in bodies]
        decoded = (decode(body, PROMPT_ID).spans for body in bodies)
        self.spans = [sorted(spans, key=lambda span: (span.prompt_id, span.trace_id)) for spans in decoded]
        self.turns = [turns_of(spans) for spans in self.spans]

    def works(self) -> dict[str, Work]:
        """Return the two kinds of parsing, and the works that are compared with them."""
        return {
            "json.loads": lambda: [json.loads(body) for body in self.bodies],
            "protobuf": lambda: [ExportTraceServiceRequest.FromString(message) for message in self.messages],
            "decode": lambda: [decode(body, PROMPT_ID) for body in self.bodies],
            "decode protobuf": lambda: [decode_protobuf(message, PROMPT_ID) for message in self.messages],
            "facts": lambda: [[dump(part.facts) for part in parts_of(spans)] for spans in self.spans],
            "session": lambda: [build_session(turns) for turns in self.turns],
        }


def turns_of(spans: Sequence[Span]) -> list[list[Span]]:
    turns: dict[tuple[int, bytes], list[Span]] = defaultdict(list)
    for span in spans:
        turns[span.prompt_id, span.trace_id].append(span)
    return list(turns.values())


def batches_of_sdks() -> dict[str, Batches]:
    bodies: dict[str, list[bytes]] = defaultdict(list)
    for source, exported in recordings():
        bodies[source.sdk].append(exported.encode())
    bodies[BENCHMARK] = [batch(PROMPT_ID, 512, start_ns=time.time_ns())]
    return {sdk: Batches(of_sdk) for sdk, of_sdk in bodies.items()}


def measure(batches: Mapping[str, Batches], rounds: int) -> dict[str, dict[str, float]]:
    """Return the least processor seconds of each work by SDK."""
    least: dict[str, dict[str, float]] = {sdk: {} for sdk in batches}
    for _ in range(rounds):
        for sdk, of_sdk in batches.items():
            for name, work in of_sdk.works().items():
                started = time.process_time()
                work()
                took = time.process_time() - started
                least[sdk][name] = min(took, least[sdk].get(name, took))
    return least


def ratios(seconds: Mapping[str, float]) -> dict[str, float]:
    """Return each work's time in relation to the parsing of the same bytes."""
    return {name: seconds[name] / seconds["protobuf" if "protobuf" in name else "json.loads"] for name in GOALS}


def together(seconds: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the sums of the SDKs' times."""
    sums: dict[str, float] = defaultdict(float)
    for sdk, times in seconds.items():
        for name, took in times.items() if sdk != BENCHMARK else ():
            sums[name] += took
    return sums


def report(seconds: Mapping[str, Mapping[str, float]]) -> None:
    """Print the ratios with goals and verdicts."""
    print("Processor time, in relation to json.loads and to protobuf's classes on the same batches")
    print(f"  {'':<15}{'json.loads':>12}{''.join(f'{name:>17}' for name in GOALS)}")
    reached = ratios(together(seconds))
    for sdk, times in {**seconds, ALL: together(seconds)}.items():
        cells = "".join(f"{ratio:17.2f}" for ratio in ratios(times).values())
        print(f"  {sdk:<15}{times['json.loads'] * 1000:9.2f} ms{cells}")
    print(f"  {'goal at most':<15}{'':>12}{''.join(f'{goal:17.2f}' for goal in GOALS.values())}")
    missed = [name for name, goal in GOALS.items() if reached[name] > goal]
    print(f"  {'missed: ' + ', '.join(missed) if missed else 'all goals are met'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    report(measure(batches_of_sdks(), parser.parse_args().rounds))


if __name__ == "__main__":
    main()
