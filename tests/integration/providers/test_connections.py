"""Connections to vendors: which addresses are called, how long an answer may be waited for, and TLS."""

import socket
import ssl
import threading
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from app.chat import Message
from app.errors import ProviderTimeout
from app.providers import http_client
from app.providers.failures import ProviderFailure
from app.providers.types import Credential, ModelConfig, ModelRef, ModelRequest
from app.providers.vendor_models import VendorModels
from tests.fakes.models import request

ANSWER = b'{"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}'
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER)


def asked(base_url, timeout_s=60.0):
    said = (Message("user", "Say hello."),)
    return ModelRequest(ModelRef("OPENAI", "gpt-4o-mini"), ModelConfig(), said, Credential("sk", base_url), timeout_s)


@contextmanager
def server(reply, wrap=lambda connection: connection):
    """Call `reply` with each connection once its request was received; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            with suppress(OSError):
                while True:
                    connection = listening.accept()[0]
                    threading.Thread(target=answer, args=(connection,), daemon=True).start()

        def answer(connection):
            with suppress(OSError), connection, wrap(connection) as wrapped:
                while wrapped.recv(65_536):
                    reply(wrapped)

        accepting = threading.Thread(target=serve, daemon=True)
        accepting.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        accepting.join()


@pytest.fixture
def resolve(monkeypatch):
    """Let every host name resolve to the given addresses."""

    def resolved(*addresses):
        found = [(None, None, None, "", (address, 0)) for address in addresses]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    return resolved


@pytest.mark.parametrize(
    "addresses",
    [["169.254.169.254"], ["127.0.0.1", "169.254.169.254"], ["::ffff:169.254.169.254"], ["fe80::1%eth0"], ["0.0.0.0"]],
)
def test_a_name_that_resolves_to_a_forbidden_address_is_refused_before_a_connection(
    models, upstream, resolve, addresses
):
    before = upstream.connections
    resolve(*addresses)
    with pytest.raises(ProviderFailure, match="link-local, metadata"):
        models.complete(asked(upstream.base_url("OPENAI").replace("127.0.0.1", "vendor.invalid")))
    assert upstream.connections == before


@pytest.mark.parametrize("host", ["2852039166", "0xa9fea9fe", "[fe80::1]", "[::ffff:a9fe:a9fe]", "0.0.0.0"])
def test_a_spelling_of_a_forbidden_address_is_refused(models, host):
    with pytest.raises(ProviderFailure, match="link-local, metadata"):
        models.complete(asked(f"http://{host}:9/v1"))


def test_an_address_that_refuses_the_connection_is_followed_by_the_next(models, upstream, resolve):
    resolve("127.0.0.2", "::1", "127.0.0.1")
    base_url = upstream.base_url("OPENAI").replace("127.0.0.1", "vendor.invalid")

    assert models.complete(asked(base_url)).finish_reason == "stop"


def test_a_dns_server_that_does_not_answer_is_waited_for_until_the_deadline(models, monkeypatch):
    stopped = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: stopped.wait() and [])

    with pytest.raises(ProviderFailure, match=r"The address of vendor\.invalid was not found in time"):
        models.complete(asked("http://vendor.invalid/v1", timeout_s=0.2))
    stopped.set()


@pytest.mark.parametrize(
    "beginning", [b"HTTP/1.1 200 OK\r\nslow: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["header", "body"]
)
def test_an_answer_that_comes_byte_by_byte_ends_at_the_deadline(models, beginning):
    stopped = threading.Event()

    def drip(connection):
        connection.sendall(beginning)
        while not stopped.wait(0.02):
            connection.sendall(b" ")

    with server(drip) as port:
        with pytest.raises(ProviderTimeout):
            models.complete(asked(f"http://127.0.0.1:{port}/v1", timeout_s=0.5))
        stopped.set()


def test_a_connection_that_was_idle_for_long_is_not_used_again(upstream, monkeypatch):
    with closing(VendorModels()) as models:
        models.complete(request(upstream, "OPENAI"))
        before = upstream.connections
        models.complete(request(upstream, "OPENAI"))
        monkeypatch.setattr(http_client, "IDLE_S", 0.0)
        models.complete(request(upstream, "OPENAI"))

    assert upstream.connections - before == 1


def test_an_error_in_the_place_of_an_answer_is_reported_in_its_words(models):
    error = b'{"error": {"message": "Upstream is overloaded"}}'
    sent = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(error), error)
    with (
        server(lambda connection: connection.sendall(sent)) as port,
        pytest.raises(ProviderFailure, match="Upstream is overloaded") as failed,
    ):
        models.complete(asked(f"http://127.0.0.1:{port}/v1"))
    assert failed.value.retryable


def test_a_redirect_is_not_followed(models, upstream):
    before = len(upstream.requests)
    sent = b"HTTP/1.1 307 Moved\r\nlocation: %s/chat/completions\r\ncontent-length: 0\r\n\r\n"
    sent %= upstream.base_url("OPENAI").encode()
    with server(lambda connection: connection.sendall(sent)) as port, pytest.raises(ProviderFailure, match="no reason"):
        models.complete(asked(f"http://127.0.0.1:{port}/v1"))
    assert len(upstream.requests) == before


def certificate(folder, name):
    """Make a certificate of the name that signs itself; return the path of the file with its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private + made.public_bytes(Encoding.PEM))
    return path


def test_the_certificate_must_be_trusted_and_name_the_host(tmp_path, monkeypatch):
    path = certificate(tmp_path, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)

    def wrap(connection):
        return context.wrap_socket(connection, server_side=True)

    with server(lambda connection: connection.sendall(WHOLE), wrap) as port:
        with closing(VendorModels()) as models, pytest.raises(ProviderFailure, match="certificate verify failed"):
            models.complete(asked(f"https://localhost:{port}/v1"))
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        with closing(VendorModels()) as models:
            assert models.complete(asked(f"https://localhost:{port}/v1")).text == "hello"
            with pytest.raises(ProviderFailure, match="certificate verify failed"):
                models.complete(asked(f"https://127.0.0.1:{port}/v1"))
