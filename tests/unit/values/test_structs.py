"""Typed decoding from many threads at once, for which msgspec needs help."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from app.values.structs import convert, decode, decoder

# Classes that no thread has used yet, until eight use them at once. The threads change places as often as they can.
RACE = """
import dataclasses, sys, threading
from app.values import structs
sys.setswitchinterval(1e-6)
field = {"a": [1]}
raw = {f"f{n}": field for n in range(20)} | {"inner": {f"x{n}": n for n in range(10)}}
for _ in range(200):
    inner = dataclasses.make_dataclass("Inner", [(name, "int | None") for name in raw["inner"]])
    fields = [(name, "dict[str, list[int]] | None") for name in raw if name != "inner"]
    kind = dataclasses.make_dataclass("Kind", [*fields, ("inner", inner)])
    together, found = threading.Barrier(8), []
    def use():
        together.wait()
        found.append(structs.convert(raw, kind))
    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert [one.inner.x9 for one in found] == [9] * 8
"""


class Weather(msgspec.Struct):
    city: str
    degrees: list[float]


@pytest.mark.slow
def test_eight_threads_that_use_a_class_for_the_first_time_all_get_it() -> None:
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_each_way_decodes_and_refuses_what_is_of_another_type() -> None:
    paris = Weather("Paris", [21.5])

    assert convert({"city": "Paris", "degrees": [21.5]}, Weather) == paris
    assert convert([{"city": "Paris", "degrees": [21.5]}], tuple[Weather, ...]) == (paris,)
    assert decode(b'{"city": "Paris", "degrees": [21.5]}', Weather) == paris
    assert decoder(Weather)('{"city": "Paris", "degrees": [21.5]}') == paris
    with pytest.raises(msgspec.ValidationError, match="city"):
        convert({"city": 7, "degrees": []}, Weather)
    with pytest.raises(msgspec.DecodeError):
        decode(b"{", Weather)
