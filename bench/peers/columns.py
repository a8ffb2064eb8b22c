"""Measures the bytes of a span in ClickHouse's columns (chdb): `python -m bench.peers.columns`.

It stores the same conversations as `bench.storage`. A row has what a list of spans filters by, and the span as JSON.
All columns use zstd of level 19 in blocks of 4 MiB: the smallest form that this store has for them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.peers.gateways import PEERS
from bench.varied import LONGER, conversations

BLOCK_BYTES = 4 * 1024 * 1024
_TABLE = f"""
CREATE TABLE spans (
    prompt_id UInt32 CODEC(DoubleDelta, ZSTD(19)),
    start_ns UInt64 CODEC(DoubleDelta, ZSTD(19)),
    end_ns UInt64 CODEC(DoubleDelta, ZSTD(19)),
    trace_id FixedString(16) CODEC(ZSTD(19)),
    span_id FixedString(8) CODEC(ZSTD(19)),
    name LowCardinality(String) CODEC(ZSTD(19)),
    body String CODEC(ZSTD(19))
) ENGINE = MergeTree ORDER BY (prompt_id, start_ns)
SETTINGS max_compress_block_size = {BLOCK_BYTES}, min_compress_block_size = {BLOCK_BYTES}
"""
_INSERT = """
INSERT INTO spans
SELECT prompt_id, start_ns, end_ns, unhex(trace_id), unhex(span_id), name, body FROM file('{path}', 'JSONEachRow')
"""
_SIZES = "SELECT name, data_compressed_bytes FROM system.columns WHERE database = currentDatabase() AND table = 'spans'"
_DISK = "SELECT sum(rows), sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'spans'"
# Runs in the environment of the peers, where chdb is.
_STORE = """
import json, sys
from chdb.session import Session
session = Session(sys.argv[1])
session.query("CREATE DATABASE bench")
session.query("USE bench")
for statement in json.loads(sys.stdin.readline()):
    session.query(statement)
print(json.dumps([str(session.query(query, "JSONCompact")) for query in json.loads(sys.stdin.readline())]))
"""


def rows(spans: int, longer: float) -> Iterator[dict[str, Any]]:
    """Yield a row for each span, at least so many."""
    count = 0
    for batch in conversations(1, seed=1, start_ns=time.time_ns() - 10**15, longer=longer):
        for resource in json.loads(batch)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    body = {**span, "resource": resource.get("resource"), "scope": scope.get("scope")}
                    yield {
                        "prompt_id": 1,
                        "start_ns": int(span["startTimeUnixNano"]),
                        "end_ns": int(span["endTimeUnixNano"]),
                        "trace_id": span["traceId"],
                        "span_id": span["spanId"],
                        "name": span["name"],
                        "body": json.dumps(body, separators=(",", ":"), ensure_ascii=False),
                    }
                    count += 1
        if count >= spans:
            return


def main(spans: int, longer: float) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "rows.jsonl")
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(spans, longer))
        statements = [_TABLE, _INSERT.format(path=path), "OPTIMIZE TABLE spans FINAL"]
        script = [str(PEERS / "bin" / "python"), "-c", _STORE, str(Path(name, "store"))]
        orders = f"{json.dumps(statements)}\n{json.dumps([_DISK, _SIZES])}\n"
        done = subprocess.run(script, input=orders, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        disk, sizes = (json.loads(answer)["data"] for answer in json.loads(done.stdout.splitlines()[-1]))
    count, size = map(int, disk[0])
    print(f"chdb: {size / count:.0f} bytes a span, {count:,} spans")
    for column, compressed in sizes:
        print(f"  {int(compressed) / count:6.0f} {column}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=20_000)
    parser.add_argument("--longer", type=float, default=LONGER)
    main(**vars(parser.parse_args()))
