"""Resolves the references of a JSON Schema, never over the network, in steps that are counted."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote, urljoin

from app.values.budget import WorkBudget
from app.values.json_pointer import is_index, unescape_token

_ASCII = "".join(map(chr, range(128)))
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class Unresolvable(Exception):
    """A reference that leads to nothing in the document."""


class References:
    """The schemas of one document by their addresses.

    A dynamic reference is resolved like a plain one. Within one document that differs only if two schemas with an `$id`
    declare the same anchor.
    """

    def __init__(self, root: Any, budget: WorkBudget) -> None:
        self._budget = budget
        self._addresses: dict[str, Any] = {"": root}
        self._bases: dict[int, str] = {}
        self._resolved: dict[tuple[int, str], Any] = {}
        self._read(root)

    def resolve(self, holder: dict[str, Any], reference: str) -> Any:
        """Return the schema that the reference in `holder` leads to; raises `Unresolvable`."""
        key = id(holder), reference
        if key not in self._resolved:
            self._resolved[key] = self._look_up(self._join(self._bases[id(holder)], reference), reference)
        return self._resolved[key]

    def _read(self, root: Any) -> None:
        to_do: list[tuple[Any, str]] = [(root, "")]
        while to_do:
            node, base = to_do.pop()
            self._budget.spend(1)
            if isinstance(node, dict):
                base = self._named(node, base)
                to_do += [(inner, base) for inner in node.values() if isinstance(inner, dict | list)]
            else:
                to_do += [(inner, base) for inner in node if isinstance(inner, dict | list)]
            self._budget.spend(len(node))

    def _named(self, node: dict[str, Any], base: str) -> str:
        """Keep the addresses of a schema and return the base URI of the schemas in it."""
        if isinstance(schema_id := node.get("$id"), str):
            address = self._join(base, schema_id)
            self._addresses.setdefault(address.removesuffix("#"), node)
            base = base if schema_id.startswith("#") else address.partition("#")[0]
        for name in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := node.get(name), str):
                self._addresses.setdefault(self._join(base, f"#{anchor}"), node)
        if any(name in node for name in _REFERENCES):
            self._bases[id(node)] = base
        return base

    def _join(self, base: str, reference: str) -> str:
        self._budget.read(base)
        self._budget.read(reference)
        try:
            return urljoin(base, _in_ascii(reference))
        except ValueError as problem:
            raise Unresolvable(f"{reference[:200]!r}: {problem}") from problem

    def _look_up(self, address: str, reference: str) -> Any:
        if (bare := address.removesuffix("#")) in self._addresses:
            return self._addresses[bare]
        url, _, fragment = address.partition("#")
        if url not in self._addresses or not fragment.startswith("/"):
            raise Unresolvable(f"{reference[:200]!r} is not in it")
        node = self._addresses[url]
        for token in unquote(fragment[1:]).split("/"):
            self._budget.spend(1)
            node = _step(node, unescape_token(token), reference)
        return node


def _in_ascii(reference: str) -> str:
    """Return a reference with each character beyond ASCII percent-encoded (RFC 3987, 3.1).

    To join it with another one normalizes a host beyond ASCII, which is quadratic in its combining marks.
    """
    return reference if reference.isascii() else quote(reference, safe=_ASCII, errors="surrogatepass")


def _step(node: Any, token: str, reference: str) -> Any:
    """Return the member of a node."""
    if isinstance(node, list) and is_index(token) and int(token) < len(node):
        return node[int(token)]
    if isinstance(node, dict) and token in node:
        return node[token]
    raise Unresolvable(f"{reference[:200]!r} is not in it")
