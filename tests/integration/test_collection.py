"""The suite is collected on a machine without the MySQL driver, which compiles only where its headers are."""

from __future__ import annotations

import subprocess
import sys

COLLECT = """
import sys
sys.modules["MySQLdb"] = None  # importing it raises ImportError
import pytest
sys.exit(pytest.main(["--collect-only", "--quiet", "tests"]))
"""


def test_all_tests_are_collected_without_the_mysql_driver() -> None:
    collection = subprocess.run([sys.executable, "-c", COLLECT], capture_output=True, text=True)
    assert collection.returncode == 0, collection.stdout[-2_000:]
    assert "error" not in collection.stdout.splitlines()[-1]
