"""The threads of a process share one heap, so that none keeps what another one could use."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROCESS = """
import ctypes, sys, threading
from app.process.bootstrap import prepare
from config.settings import Settings

prepare(Settings(log_level="error"))
everybody = threading.Barrier(8)
kept = []

def take():
    kept.append(bytearray(100_000))
    everybody.wait()

threads = [threading.Thread(target=take) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="only glibc has several heaps")
def test_threads_share_one_heap(tmp_path: Path) -> None:
    told = tmp_path / "heaps.xml"
    subprocess.run([sys.executable, "-c", PROCESS, str(told)], check=True)
    assert told.read_text().count("<heap nr=") == 1
