"""The certificates are read once for all clients of a process."""

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from reprise_client import AsyncReprise, Reprise, tls
from reprise_client.cli.remote import Remote
from reprise_client.instrumentation.endpoint import TraceEndpoint

from app.providers.http_client import HttpClient

URL = "http://127.0.0.1:9"


@pytest.fixture
def read() -> Iterator[list[ssl.SSLContext]]:
    """The contexts that were made with certificates."""
    made: list[ssl.SSLContext] = []
    make = ssl.create_default_context

    def noted(cafile: str | None = None, capath: str | None = None) -> ssl.SSLContext:
        made.append(make(cafile=cafile, capath=capath))
        return made[-1]

    tls.default.cache_clear()
    with patch("ssl.create_default_context", noted):
        yield made


def test_clients_share_one_context(read: list[ssl.SSLContext]) -> None:
    async def use() -> None:
        async with AsyncReprise(URL, "rp_key"):
            pass

    for _ in range(2):
        Reprise(URL, "rp_key").close()
        asyncio.run(use())
        Remote(URL, "rp_key").close()
        TraceEndpoint(URL, "rp_key").prepare()
    assert len(read) == 1
    assert read[0].verify_mode == ssl.CERT_REQUIRED
    assert read[0].check_hostname


def test_the_context_of_a_caller_is_taken(read: list[ssl.SSLContext]) -> None:
    Reprise(URL, "rp_key", verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)).close()
    Reprise(URL, "rp_key", verify=False).close()
    assert read == []


def test_certificates_of_the_environment_are_taken(
    read: list[ssl.SSLContext], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    with pytest.raises(FileNotFoundError):
        Reprise(URL, "rp_key")


def test_a_client_of_models_that_sent_nothing_reads_no_certificates(read: list[ssl.SSLContext]) -> None:
    HttpClient().close()
    assert read == []
