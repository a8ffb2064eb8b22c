"""Believes trusted proxies, and nobody else, about the client's address and the scheme it used."""

from __future__ import annotations

import falcon
import structlog

from app.proxies import TrustedProxies, parse_address

log = structlog.get_logger(__name__)
HEADERS = (
    "HTTP_FORWARDED",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
)


class Forwarded:
    """After it `req.remote_addr` and `req.scheme` are the client's, and the headers that say so are gone.

    It comes first, so that nothing reads them.
    """

    def __init__(self, proxies: TrustedProxies) -> None:
        self._proxies = proxies
        self._warned = False

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        env, peer = req.env, req.remote_addr
        forwarded_for = env.get("HTTP_X_FORWARDED_FOR", "")
        if self._proxies.trusts(peer):
            env["REMOTE_ADDR"] = self._proxies.client(peer, forwarded_for)
            # Of several proxies the last one is the nearest.
            scheme = env.get("HTTP_X_FORWARDED_PROTO", "").rpartition(",")[2].strip().lower()
            if scheme in ("http", "https"):
                env["wsgi.url_scheme"] = scheme
        elif forwarded_for and not self._warned:
            self._warn(peer)
        for name in HEADERS:
            env.pop(name, None)

    def _warn(self, peer: str) -> None:
        """Say once that a proxy seems to be in front: to Reprise all of its clients have one address."""
        address = parse_address(peer)
        if address is not None and address.is_private:
            self._warned = True
            log.warning("proxy_not_trusted", address=peer, setting="REPRISE_TRUSTED_PROXIES")
