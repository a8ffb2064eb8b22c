"""Compares what a run and calls of two gateways add to the model call: `python -m bench.peers.gateways`.

All call the same fake upstream on the same machine, in turns. A run of Reprise does more than a gateway's call: it
renders a versioned prompt, and commits its row before and after the call. LiteLLM has one worker and no database.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from bench.load import Request, Took, cpu_s, memory_mb, one_by_one, percentile_ms, rate, statuses
from bench.runs import INSTRUCTION, MODEL, QUESTION, Served, new_prompt, run_request, served
from tests.support.deployment import environment
from tests.support.process import ChildProcess
from tests.support.waiting import accepts, free_port

PEERS = Path("build/peers")
AT_ONCE = 16
CALL = orjson.dumps(
    {
        "model": MODEL,
        "messages": [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": QUESTION}],
    }
)
PATH = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Gateway:
    """`groups` are the process groups that work for a call."""

    name: str
    url: str
    request: Request
    groups: Sequence[int]


@contextmanager
def gateways(bench: Served, folder: Path) -> Iterator[list[Gateway]]:
    """Serve the gateways, each with its upstream; the first one is the upstream itself."""
    client = bench.deployment.client()
    run = run_request(client, new_prompt(client))
    ours = [bench.groups[name] for name in ("web", "worker", "database", "redis")]
    with ExitStack() as stack:
        lite_key = f"sk-{secrets.token_hex(16)}"
        lite = stack.enter_context(_litellm(bench.base_url, folder, lite_key))
        portkey = stack.enter_context(_portkey(folder))
        chosen = (("x-portkey-provider", "openai"), ("x-portkey-custom-host", bench.base_url))
        yield [
            Gateway("no gateway", bench.base_url, Request("POST", "/openai" + PATH, "sk-bench", CALL), []),
            Gateway("Reprise", bench.deployment.url, run, ours),
            Gateway("LiteLLM", lite[0], Request("POST", PATH, lite_key, CALL), [lite[1]]),
            Gateway("Portkey", portkey[0], Request("POST", PATH, "sk-bench", CALL, more=chosen), [portkey[1]]),
        ]


@contextmanager
def _litellm(base_url: str, folder: Path, key: str) -> Iterator[tuple[str, int]]:
    config = folder / "litellm.json"  # JSON is YAML
    parameters = {"model": f"openai/{MODEL}", "api_base": base_url, "api_key": "sk-bench"}
    config.write_text(json.dumps({"model_list": [{"model_name": MODEL, "litellm_params": parameters}]}))
    port = free_port()
    argv = [str(PEERS / "bin" / "litellm"), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    more = {"LITELLM_MASTER_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}
    yield from _serve("litellm", [*argv, "--num_workers", "1"], port, folder, more)


@contextmanager
def _portkey(folder: Path) -> Iterator[tuple[str, int]]:
    port = free_port()
    script = PEERS / "node_modules" / "@portkey-ai" / "gateway" / "build" / "start-server.js"
    yield from _serve("portkey", ["node", str(script), f"--port={port}", "--headless"], port, folder, {})


def _serve(
    name: str, argv: Sequence[str], port: int, folder: Path, more: Mapping[str, str]
) -> Iterator[tuple[str, int]]:
    env = environment(folder) | more
    with ChildProcess(name, argv, log=folder / f"{name}.log", env=env, ready=lambda: accepts(port)) as child:
        yield f"http://127.0.0.1:{port}", child.pid


def alone(served_gateways: Sequence[Gateway], rounds: int) -> None:
    """Print what each adds to calls that are made one after the other."""
    taken: dict[str, list[Took]] = {gateway.name: [] for gateway in served_gateways}
    for gateway in served_gateways:
        one_by_one(gateway.url, gateway.request, count=100)  # warms up
    for _ in range(rounds):
        for gateway in served_gateways:
            taken[gateway.name] += one_by_one(gateway.url, gateway.request, count=25)
    bare = taken[served_gateways[0].name]
    print(f"One call after the other, {len(bare)} of each; ms that are added to the upstream's call")
    for name, calls in taken.items():
        p50, p99 = (percentile_ms(calls, percent) - percentile_ms(bare, percent) for percent in (50, 99))
        print(f"  {name:12} p50 {p50:6.1f}  p99 {p99:6.1f}  {statuses(calls)}", flush=True)


def together(served_gateways: Sequence[Gateway], rounds: int, seconds: float) -> None:
    """Print the calls a second over many connections, and the processor time of a call in all processes."""
    calls: dict[str, list[float]] = {gateway.name: [] for gateway in served_gateways}
    used: dict[str, float] = dict.fromkeys(calls, 0.0)
    for _ in range(rounds):
        for gateway in served_gateways:
            before = sum(map(cpu_s, gateway.groups))
            reached = asyncio.run(rate(gateway.url, gateway.request, connections=AT_ONCE, seconds=seconds))
            used[gateway.name] += sum(map(cpu_s, gateway.groups)) - before
            calls[gateway.name].append(reached)
    print(f"{AT_ONCE} connections, {rounds} rounds of {seconds:g} s")
    for gateway in served_gateways:
        reached = sum(calls[gateway.name])
        spent = f"{used[gateway.name] / (reached * seconds):8.5f} s of a processor a call" if gateway.groups else ""
        memory = sum(sum(memory_mb(group)) for group in gateway.groups)
        print(f"  {gateway.name:12} {reached / rounds:7.0f} calls/s {spent}  {memory} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=4)
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, served(0) as bench, gateways(bench, Path(name)) as all_of_them:
        alone(all_of_them, parsed.rounds)
        together(all_of_them, max(1, parsed.rounds // 2), parsed.seconds)


if __name__ == "__main__":
    main()
