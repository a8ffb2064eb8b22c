"""Both audits of dependencies: of the pins, offline, and `make audit`, here against an advisories' database of ours."""

import json
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.deployment import ROOT
from tests.support.waiting import LOOPBACK

HASH = f"--hash=sha256:{'0' * 64}"
PIP_AUDIT = ROOT / "build/audit/bin/pip-audit"


def ended(*command: str | Path) -> tuple[int, str]:
    """Return the exit status and the output."""
    done = subprocess.run(
        [str(word) for word in command], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    return done.returncode, done.stdout + done.stderr


def audit_pins(folder: Path, **files: str) -> tuple[int, str]:
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    return ended(sys.executable, ROOT / ".ci/audit", folder)


def test_what_is_installed_as_pinned_passes(tmp_path: Path) -> None:
    status, said = audit_pins(tmp_path, base=f"pytest=={pytest.__version__} \\\n    {HASH}\n    # via nobody\n")
    assert status == 0, said


def test_another_version_than_pinned_fails(tmp_path: Path) -> None:
    status, said = audit_pins(tmp_path, base=f"pytest==0.1 {HASH}\n")
    assert status == 1
    assert f"pytest is pinned to 0.1, installed is {pytest.__version__}" in said


def test_what_is_pinned_but_missing_fails(tmp_path: Path) -> None:
    status, said = audit_pins(tmp_path, base=f"no-such-package==1.0 {HASH}\n")
    assert status == 1
    assert "no-such-package is pinned to 1.0, installed is none" in said


@pytest.mark.parametrize("line", ["pytest>=9", "pytest", "pytest @ https://example.com/pytest.whl"])
def test_a_loose_pin_fails(tmp_path: Path, line: str) -> None:
    status, said = audit_pins(tmp_path, base=f"{line}\n")
    assert status == 1
    assert "is not pinned to one version" in said


@pytest.mark.parametrize("hashes", ["", " --hash=md5:" + "0" * 32, " --hash=sha256:0"])
def test_a_pin_without_a_hash_fails(tmp_path: Path, hashes: str) -> None:
    status, said = audit_pins(tmp_path, base=f"pytest=={pytest.__version__}{hashes}\n")
    assert status == 1
    assert "is pinned without a hash" in said


def test_two_files_that_disagree_fail(tmp_path: Path) -> None:
    status, said = audit_pins(tmp_path, base=f"pytest==0.1 {HASH}\n", test=f"pytest=={pytest.__version__} {HASH}\n")
    assert status == 1
    assert f"test.txt: pytest is {pytest.__version__}, but 0.1 in base.txt" in said


@contextmanager
def advisories(known: dict[str, str]) -> Iterator[str]:
    """The address of an OSV database that knows one vulnerability of each package, in the version given."""

    class Osv(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = asked["package"]["name"]
            found = {"vulns": [vulnerability(name)]} if known.get(name) == asked["version"] else {}
            body = json.dumps(found).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((LOOPBACK, 0), Osv)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{LOOPBACK}:{server.server_port}/v1/query"
    finally:
        server.shutdown()
        server.server_close()


def vulnerability(name: str) -> dict[str, object]:
    """As https://ossf.github.io/osv-schema/ has it."""
    return {
        "id": f"PYSEC-0-{name}",
        "modified": "2026-01-01T00:00:00Z",
        "published": "2026-01-01T00:00:00Z",
        "summary": "Made up.",
        "affected": [
            {
                "package": {"name": name, "ecosystem": "PyPI"},
                "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "999"}]}],
            }
        ],
    }


@pytest.fixture
def make_audit() -> Callable[[str], tuple[int, str]]:
    """`make audit` against the database at an address."""
    if not PIP_AUDIT.exists():
        pytest.skip("pip-audit is not installed: make build/audit/bin/pip-audit")

    def audit(url: str) -> tuple[int, str]:
        options = shlex.join(["--vulnerability-service", "osv", "--osv-url", url, "--progress-spinner", "off"])
        return ended("make", "audit", f"ARGS={options}")

    return audit


def test_make_audit_passes_where_nothing_is_known(make_audit: Callable[[str], tuple[int, str]]) -> None:
    with advisories({}) as url:
        status, said = make_audit(url)
    assert status == 0, said
    assert "No known vulnerabilities found" in said


def test_make_audit_fails_on_a_pin_that_is_known_to_be_vulnerable(
    make_audit: Callable[[str], tuple[int, str]],
) -> None:
    with advisories({"falcon": version("falcon")}) as url:
        status, said = make_audit(url)
    assert status != 0
    assert "PYSEC-0-falcon" in said


def test_make_audit_fails_where_no_server_answers(make_audit: Callable[[str], tuple[int, str]]) -> None:
    with advisories({}) as url:
        pass
    assert make_audit(url)[0] != 0
