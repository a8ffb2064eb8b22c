"""Brings a request of HTTP to one form: parameters in the address or next to it, names of headers in any case."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any
from urllib.parse import parse_qsl

from app.replay.http_requests import ADDRESS, BODY, HEADERS, METHOD_KEYS, PARAMETERS, split_address
from app.replay.tables import TABLES, words
from app.replay.text_kinds import LONGEST
from app.replay.texts.sources import json_of

_PORTS = {"http": ":80", "https": ":443"}
_BASES = words("requests", "base")
_DEFAULTS: dict[str, str] = TABLES["requests"]["defaults"]
_ENCODED = re.compile("%([0-9A-Fa-f]{2})")
_FORM = re.compile(r"[\w.\-%+\[\]]++=[^&\s]*+(?>(?:&[\w.\-%+\[\]]++=[^&\s]*+)*)")

Address = tuple[str, str, str, tuple[tuple[str, str], ...], str]


def address_form(text: str, parameters: tuple[tuple[str, str], ...] = ()) -> Address | None:
    """Return the parts of an address, with its parameters and further ones in order; None for what is no address."""
    try:
        parts = split_address(text.strip())
    except ValueError:
        return None
    named = (*parse_qsl(parts.query, keep_blank_values=True), *parameters)
    pairs = tuple(sorted(named, key=itemgetter(0)))  # of one name, the last one may count
    user, at, host = parts.netloc.rpartition("@")
    host = user + at + host.lower().removesuffix(_PORTS.get(parts.scheme, ""))
    return parts.scheme, host, _path_form(parts.path).rstrip("/"), pairs, parts.fragment


def _path_form(path: str) -> str:
    """Return a path in its normal form (RFC 3986, 6.2.2): no dots, and no signs encoded that need not be."""
    plain = _ENCODED.sub(_decoded, path)
    if plain[:1] != "/":
        return plain
    segments = list[str]()
    for segment in plain[1:].split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment != ".":
            segments.append(segment)
    return f"/{'/'.join(segments)}"


def _decoded(encoded: re.Match[str]) -> str:
    char = chr(int(encoded[1], 16))
    return char if char.isascii() and (char.isalnum() or char in "-._~") else encoded[0].upper()


def request_form(arguments: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return the method, the address, the headers, the body and what else a request has; None for other calls."""
    keys = {key: key.lower() for key in arguments}
    known = (METHOD_KEYS, ADDRESS - _BASES, _BASES, PARAMETERS, HEADERS, BODY)
    parts = [[arguments[key] for key, lower in keys.items() if lower in names] for names in known]
    if any(len(part) > 1 for part in parts) or not parts[0] or not parts[1]:
        return None
    method, address, base = (str(part[0]) if part else "" for part in parts[:3])
    parameters, headers, body = (part[0] if part else None for part in parts[3:])
    pairs, sent = _pairs(parameters), _pairs(headers)
    if pairs is None or sent is None or max(len(address), len(base)) > LONGEST:
        return None
    whole = f"{base.rstrip('/')}/{address.lstrip('/')}" if base else address
    others = {key: value for key, value in arguments.items() if not any(keys[key] in names for names in known)}
    read = json_of(body) if isinstance(body, str) else None
    content = (body or None) if read is None else read
    if (place := address_form(whole, pairs)) is None:
        return None
    named = sorted(_headers(sent, content, place[1]))
    if _is_form(content) and not any(name == "content-type" for name, _ in named):
        content = sorted(parse_qsl(content, keep_blank_values=True), key=itemgetter(0))
    return method.upper(), place, named, content, others


def _is_form(content: Any) -> bool:
    return isinstance(content, str) and _FORM.fullmatch(content) is not None


def _headers(sent: tuple[tuple[str, str], ...], content: Any, host: str) -> Iterator[tuple[str, str]]:
    """Yield the headers, with small names, but for ones that clients send or imply."""
    implied = "application/json" if isinstance(content, dict | list) else ""
    if _is_form(content):
        implied = "application/x-www-form-urlencoded"
    for written, text in sent:
        name, value = written.lower(), text.strip()
        kind, _, parameter = value.lower().partition(";")
        if name == "content-type" and parameter.replace('"', "").strip() in ("", "charset=utf-8", "charset=utf8"):
            value = kind.strip()
        is_default = name in _DEFAULTS and re.fullmatch(_DEFAULTS[name], value, re.IGNORECASE)
        if not is_default and (name, value.lower()) not in (("host", host), ("content-type", implied)):
            yield name, value


def _pairs(value: Any) -> tuple[tuple[str, str], ...] | None:
    """Return the names and values of parameters or headers; None for values that are no scalars."""
    if not value:
        return ()
    if not isinstance(value, dict) or any(isinstance(inner, dict | list) for inner in value.values()):
        return None
    return tuple((name, inner if isinstance(inner, str) else json.dumps(inner)) for name, inner in value.items())
