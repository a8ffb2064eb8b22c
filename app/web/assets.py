"""Static files. Their addresses contain a fingerprint of their content, so that browsers may cache them forever."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

import falcon

from app.errors import require
from app.http.access import Public

FOLDER = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file; `url` is its address, with the fingerprint."""

    url: str
    media_type: str
    content: bytes


class Assets:
    """The resource of the files in `folder`. They are read into memory at the start of the process."""

    access = Public({"GET"})

    def __init__(self, folder: Path = FOLDER) -> None:
        self._by_name = {file.name: _asset(file) for file in sorted(folder.iterdir()) if file.is_file()}
        self._by_url = {asset.url: asset for asset in self._by_name.values()}

    def url(self, name: str) -> str:
        """Return the address of `app.css`: `/static/app.<12 hex digits>.css`."""
        return self._by_name[name].url

    def on_get(self, req: falcon.Request, resp: falcon.Response, name: str) -> None:
        asset = require(self._by_url.get(f"/static/{name}"), "There is no such file.")
        resp.content_type = asset.media_type
        resp.data = asset.content
        resp.set_header("Cache-Control", "public, max-age=31536000, immutable")


def _asset(file: Path) -> Asset:
    content = file.read_bytes()
    fingerprint = hashlib.sha256(content).hexdigest()[:12]
    media_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    charset = "; charset=utf-8" if media_type.startswith("text/") else ""
    return Asset(f"/static/{file.stem}.{fingerprint}{file.suffix}", media_type + charset, content)
