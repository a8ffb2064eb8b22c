"""Holds requests and answers to an OpenAPI 3.1 document; imports nothing of the app."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator

Json = dict[str, Any]


class Contract:
    def __init__(self, document: Json) -> None:
        self._document = json.loads(json.dumps(document))
        # Paths without parameters come first: /prompts/run is no prompt's id.
        paths = sorted(document["paths"], key=lambda path: path.count("{"))
        self._patterns = [(re.compile(re.sub(r"{\w+}", "[^/]+", path) + "/?"), path) for path in paths]
        self._validator = cache(self._make_validator)

    def operations(self) -> set[tuple[str, str]]:
        """(method, path) of all that is described."""
        methods = {"get", "post", "put", "patch", "delete"}
        return {
            (method.upper(), path)
            for path, described in self._document["paths"].items()
            for method in described.keys() & methods
        }

    def problems(
        self, method: str, path: str, status: int, headers: Mapping[str, str], body: bytes, sent: Any = None
    ) -> list[str]:
        """Return the ways in which an exchange breaks the document; [] for one that keeps it or that it does not have.

        `sent` is the request's JSON, looked at only where the answer accepts it.
        """
        described = self._find(method, path)
        if described is None:
            return []
        operation, where = described
        answer = operation["responses"].get(str(status))
        if answer is None:
            return [f"{where}: {status} is not described"]
        problems = [*self._of_headers(answer, headers, f"{where} {status}")]
        problems += self._of_body(answer, headers, body, f"{where} {status}")
        if status < 300 and sent is not None and "requestBody" in operation:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            problems += self._of_json(schema, sent, f"{where} request")
        return problems

    def _find(self, method: str, path: str) -> tuple[Json, str] | None:
        for pattern, template in self._patterns:
            if pattern.fullmatch(path):
                operation = self._document["paths"][template].get(method.lower())
                return (operation, f"{method} {template}") if operation else None
        return None

    def _of_headers(self, answer: Json, headers: Mapping[str, str], where: str) -> Iterator[str]:
        for name in answer.get("headers", {}):
            # The limiter may not have been reached.
            if not name.startswith("RateLimit-") and not _has(headers, name):
                yield f"{where}: no header {name}"

    def _of_body(self, answer: Json, headers: Mapping[str, str], body: bytes, where: str) -> Iterator[str]:
        content = answer.get("content", {})
        if not content:
            if body:
                yield f"{where}: a body that is not described"
            return
        media_type = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
        media_type = media_type.partition(";")[0].strip()
        schema = content.get(media_type)
        if schema is None:
            yield f"{where}: the content type {media_type!r} is not described"
        elif media_type == "application/json":
            yield from self._of_json(schema["schema"], json.loads(body), where)

    def _of_json(self, schema: Json, value: Any, where: str) -> Iterator[str]:
        for error in self._validator(json.dumps(schema)).iter_errors(value):
            yield f"{where}: at {'.'.join(map(str, error.instance_path)) or 'the top'}: {error.message[:300]}"

    def _make_validator(self, schema: str) -> Draft202012Validator:
        return Draft202012Validator({**json.loads(schema), "components": self._document["components"]})


def _has(headers: Mapping[str, str], name: str) -> bool:
    return any(header.lower() == name.lower() for header in headers)
