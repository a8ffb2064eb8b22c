"""Every list and map of a request has a limit in the OpenAPI document, or a reason why it needs none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.world import World

OTLP = "The limit of the body in bytes bounds it, and each part of it is read in linear time."
WITHOUT_LIMIT = {
    "TraceExport.resourceSpans": OTLP,
    "TraceExport.resourceSpans.items": OTLP,
    "LogExport.resourceLogs": OTLP,
    "LogExport.resourceLogs.items": OTLP,
}


class Walk:
    """Walks the schemas of requests, each named one once."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._schemas = document["components"]["schemas"]
        self._seen: set[str] = set()

    def unbounded(self, schema: Any, path: str) -> Iterator[str]:
        """Yield the paths of lists and maps in which a caller may send any number of entries."""
        if name := schema.get("$ref", "").rpartition("/")[2]:
            if name not in self._seen:
                self._seen.add(name)
                yield from self.unbounded(self._schemas[name], name)
            return
        kinds = schema.get("type", ())
        is_map = "object" in kinds and not schema.get("properties") and "maxProperties" not in schema
        if is_map or ("array" in kinds and "maxItems" not in schema):
            yield path
        for name, inner in schema.get("properties", {}).items():
            yield from self.unbounded(inner, f"{path}.{name}")
        for name in ("items", "additionalProperties"):
            if isinstance(inner := schema.get(name), dict):
                yield from self.unbounded(inner, f"{path}.{name}")
        for inner in [*schema.get("anyOf", ()), *schema.get("allOf", ()), *schema.get("oneOf", ())]:
            yield from self.unbounded(inner, path)


def requested(document: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the schemas of all bodies and parameters of queries."""
    for template, operations in document["paths"].items():
        for method, operation in operations.items():
            if method == "parameters":
                continue
            for parameter in operation.get("parameters", ()):
                if "schema" in parameter:
                    yield f"{method} {template}?{parameter['name']}", parameter["schema"]
            for content in operation.get("requestBody", {}).get("content", {}).values():
                yield f"{method} {template}", content.get("schema", {})


@EMBEDDED_CONTAINER
def test_every_list_and_map_that_a_caller_fills_has_a_limit(world: World) -> None:
    document = world.client.simulate_get("/api/openapi.json").json
    walk = Walk(document)

    found = {path for name, schema in requested(document) for path in walk.unbounded(schema, name)}

    assert found == WITHOUT_LIMIT.keys(), "give it a limit, or write here why it needs none"


def test_a_list_without_a_limit_is_found() -> None:
    walk = Walk({"components": {"schemas": {"Named": {"type": "object", "properties": {"all": {"type": "array"}}}}}})
    assert [*walk.unbounded({"$ref": "#/components/schemas/Named"}, "body")] == ["Named.all"]
